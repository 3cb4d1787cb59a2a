from django.db import migrations

from console.access import lay_roles

GUARD = """
CREATE FUNCTION console_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit entries are added and never changed';
END
$$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON console_auditentry
    FOR EACH STATEMENT EXECUTE FUNCTION console_audit_is_append_only();
"""
NO_GUARD = """
DROP TRIGGER audit_is_append_only ON console_auditentry;
DROP FUNCTION console_audit_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.RunSQL(GUARD, NO_GUARD),
        migrations.RunPython(lambda apps, _schema: lay_roles(apps), migrations.RunPython.noop),
    ]

from typing import Any

from django.db import migrations

from console.access import GRANTS, Permission, lay_roles


def grant(apps: Any, _schema: Any) -> None:
    """Give the administrators of an installation the permission that is new."""
    lay_roles(apps)
    new = apps.get_model("auth", "Permission").objects.get(
        content_type__app_label="console", codename=Permission.MANAGE_WORKERS.value
    )
    groups = apps.get_model("auth", "Group").objects
    for role, granted in GRANTS.items():
        if Permission.MANAGE_WORKERS in granted:
            for group in groups.filter(name=role.value):
                group.permissions.add(new)


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0007_task_list"),
    ]

    operations = [
        migrations.RunPython(grant, migrations.RunPython.noop),
    ]

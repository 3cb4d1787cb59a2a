import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import console.models.clock


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0002_roles_and_audit_guard"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("digest", models.TextField(unique=True)),
                (
                    "scopes",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField()),
                ),
                (
                    "namespaces",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), default=list
                    ),
                ),
                ("created_at", models.DateTimeField(db_default=console.models.clock.DatabaseNow())),
                ("expires_at", models.DateTimeField(null=True)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("revoked_at__isnull", True)),
                        fields=("name",),
                        name="api_token_name_is_used_once",
                    )
                ],
            },
        ),
    ]

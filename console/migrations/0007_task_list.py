import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import console.models.clock


class Migration(migrations.Migration):
    dependencies = [
        ("console", "0006_where_people_are_signed_in"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="BulkRun",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("lever", models.TextField()),
                ("reason", models.TextField()),
                ("created_at", models.DateTimeField(db_default=console.models.clock.DatabaseNow())),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="bulk_runs",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="BulkItem",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("task_id", models.UUIDField()),
                ("version", models.BigIntegerField()),
                ("situation", models.IntegerField()),
                ("result", models.TextField(blank=True, default="")),
                ("said", models.TextField(blank=True, default="")),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="console.bulkrun",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("query", models.TextField(blank=True, default="")),
                ("columns", models.JSONField(blank=True, default=list)),
                ("is_shared", models.BooleanField(default=False)),
                ("is_default", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(db_default=console.models.clock.DatabaseNow())),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="bulkrun",
            index=models.Index(fields=["owner", "-created_at"], name="bulk_run_of"),
        ),
        migrations.AddConstraint(
            model_name="bulkitem",
            constraint=models.UniqueConstraint(
                fields=("run", "task_id"), name="bulk_item_once_in_its_run"
            ),
        ),
        migrations.AddConstraint(
            model_name="bulkitem",
            constraint=models.CheckConstraint(
                condition=models.Q(("result__in", ["", "done", "skipped", "refused"])),
                name="bulk_item_result_is_known",
            ),
        ),
        migrations.AddIndex(
            model_name="savedview",
            index=models.Index(
                condition=models.Q(("is_shared", True)), fields=["id"], name="saved_view_shared"
            ),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(
                models.F("owner"),
                django.db.models.functions.text.Lower("name"),
                name="saved_view_name_is_used_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_default", True)),
                fields=("owner",),
                name="saved_view_one_default_each",
            ),
        ),
    ]

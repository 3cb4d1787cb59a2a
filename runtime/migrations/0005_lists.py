import django.contrib.postgres.indexes
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtime", "0004_drain"),
    ]

    operations = [
        # A trusted extension: whoever owns the database may create it.
        TrigramExtension(),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("finished_at__isnull", False)),
                fields=["namespace", "parked_as", "-finished_at", "-id"],
                name="task_ended",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("held", True)), fields=["namespace", "id"], name="task_held"
            ),
        ),
        migrations.AddIndex(
            model_name="taskspec",
            index=django.contrib.postgres.indexes.GinIndex(
                fields=["search_text"], name="task_words", opclasses=["gin_trgm_ops"]
            ),
        ),
    ]

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtime", "0005_lists"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="artifactref",
            index=models.Index(fields=["task_id"], name="artifactref_of_task"),
        ),
    ]

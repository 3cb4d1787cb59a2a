import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("runtime", "0003_buckets_by_width"),
    ]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="agents",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.TextField(), db_default=[], size=None
            ),
        ),
        migrations.AddField(
            model_name="worker",
            name="drain_asked_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="worker",
            name="left_behind",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.UUIDField(), db_default=[], size=None
            ),
        ),
    ]

"""Buckets in several widths, so that a chart of a week reads as few rows as one of an hour."""

from typing import ClassVar

from django.db import migrations, models
from django.db.migrations.operations.base import Operation

# What was counted by the minute stays, in every width.
COPY = """
INSERT INTO runtime_bucket (namespace, width_s, kind, began_at, name, word, count, sum)
SELECT b.namespace, w.width_s, b.kind,
       date_bin(make_interval(secs => w.width_s), b.minute, timestamptz '2000-01-01 00:00:00+00'),
       coalesce(b.label::jsonb ->> 0, ''), coalesce(b.label::jsonb ->> 1, ''),
       sum(b.count), sum(b.sum)
FROM runtime_minute b CROSS JOIN unnest(ARRAY[60, 900, 3600]) AS w (width_s)
GROUP BY 1, 2, 3, 4, 5, 6
"""


class Migration(migrations.Migration):
    dependencies: ClassVar[list[tuple[str, str]]] = [("runtime", "0002_counting")]

    operations: ClassVar[list[Operation]] = [
        migrations.RenameModel(old_name="Bucket", new_name="Minute"),
        migrations.CreateModel(
            name="Bucket",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace",
                        "width_s",
                        "kind",
                        "began_at",
                        "name",
                        "word",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("namespace", models.TextField(default="default")),
                ("width_s", models.IntegerField()),
                ("kind", models.TextField()),
                ("began_at", models.DateTimeField()),
                ("name", models.TextField()),
                ("word", models.TextField()),
                ("count", models.BigIntegerField()),
                ("sum", models.FloatField(default=0)),
            ],
            options={
                "indexes": [models.Index(fields=["width_s", "began_at"], name="bucket_age")],
            },
        ),
        migrations.RunSQL(COPY, migrations.RunSQL.noop),
        migrations.DeleteModel(name="Minute"),
        migrations.CreateModel(
            name="Tally",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("namespace", models.TextField(default="default")),
                ("kind", models.TextField()),
                ("name", models.TextField()),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="review",
            name="opening_counted",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="review",
            name="closing_counted",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("opening_counted", False)),
                fields=["id"],
                name="review_opening_uncounted",
            ),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("closed_at__isnull", False), ("closing_counted", False)),
                fields=["id"],
                name="review_closing_uncounted",
            ),
        ),
    ]

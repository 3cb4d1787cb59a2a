"""What the sweep counts for charts."""

from typing import ClassVar

from django.db import models

from runtime.models.base import DEFAULT_NAMESPACE


class Tally(models.Model):
    """Something that happened and is in no bucket yet; taken out in the statement that enters it.

    For what has no row of its own that could be marked without disturbing those who work with it.
    """

    id = models.BigAutoField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    kind = models.TextField()
    name = models.TextField()
    at = models.DateTimeField()


class Bucket(models.Model):
    """What happened within a span of time, counted by kind, name and word.

    Everything is entered in several widths at once, so nothing is ever rolled up; narrow ones are
    kept for days, wide ones for a year.

    Args:
        width_s: Seconds it spans.
        began_at: A whole multiple of its width.
        name: Whose: an agent or a tool.
        word: An outcome, or the upper bound of a class of a histogram.
        sum: Seconds, where the kind has any.
    """

    pk = models.CompositePrimaryKey("namespace", "width_s", "kind", "began_at", "name", "word")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    width_s = models.IntegerField()
    kind = models.TextField()
    began_at = models.DateTimeField()
    name = models.TextField()
    word = models.TextField()
    count = models.BigIntegerField()
    sum = models.FloatField(default=0)

    class Meta:
        indexes: ClassVar = [
            # Forgetting what is old.
            models.Index(fields=["width_s", "began_at"], name="bucket_age"),
        ]


class Total(models.Model):
    """The same since the beginning; it only grows.

    ``label`` is a JSON list of name and word, as far as the kind has them.
    """

    pk = models.CompositePrimaryKey("namespace", "kind", "label")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    kind = models.TextField()
    label = models.TextField()
    count = models.BigIntegerField()
    sum = models.FloatField(default=0)
    last_at = models.DateTimeField()

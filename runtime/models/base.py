"""What all tables share: the namespace, the database's clock, a check of allowed words."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

DEFAULT_NAMESPACE = "default"


class DatabaseNow(Now):
    """The database's clock: the one function every statement of the runtime takes its time from."""

    template = "runtime_now()"

    def as_postgresql(self, compiler, connection, **extra):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN201
        """Write the call; Django would otherwise write STATEMENT_TIMESTAMP()."""
        return self.as_sql(compiler, connection, template=self.template, **extra)


def choices(field: str, values: list[str], name: str) -> models.CheckConstraint:
    """Let a column hold one of these words only."""
    return models.CheckConstraint(condition=Q(**{f"{field}__in": values}), name=name)


class Namespace(models.Model):
    """A space of its own: nothing crosses from one to another."""

    name = models.TextField(primary_key=True)
    digest_key = models.BinaryField()
    created_at = models.DateTimeField(db_default=DatabaseNow())

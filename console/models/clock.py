"""The database's clock, as the default of a column."""

from typing import Any

from django.db import models


class DatabaseNow(models.Func):
    """`runtime_now()`: the one function that every instant we store comes from."""

    function = "runtime_now"
    template = "%(function)s()"
    allowed_default = True
    output_field: Any = models.DateTimeField()

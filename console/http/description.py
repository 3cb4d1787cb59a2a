"""The OpenAPI description of the API, made once."""

from functools import cache
from typing import Any


@cache
def describe() -> dict[str, Any]:
    """Give the description; the same for everybody."""
    # Late, because the API includes the pages that show its description.
    from console.http import api

    return dict(api.get_openapi_schema())

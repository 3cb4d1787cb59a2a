"""`/metrics`: the facade's numbers as Prometheus reads them.

It writes the text format and decides nothing; what is measured, and how cheaply, is the runtime's.
"""

import math
import re
from collections.abc import Iterator
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.access import Permission, needs
from console.guard import takes_tokens
from runtime import api

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# A line feed would end the sample; the rest of these would not, but no reader expects them.
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]")


@takes_tokens
@needs(Permission.VIEW_METRICS)
@require_safe
def metrics(_request: HttpRequest) -> HttpResponse:
    """Give the numbers of this installation."""
    text = "".join(f"{line}\n" for line in lines(api.measure()))
    return HttpResponse(text, content_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})


def lines(measures: list[api.Measure]) -> Iterator[str]:
    """Write measures line by line; a family without samples is left out."""
    for one in measures:
        if not one.samples:
            continue
        yield f"# HELP {one.name} {escaped_help(one.help)}"
        yield f"# TYPE {one.name} {one.kind}"
        for ending, labels, value in one.samples:
            named = ",".join(f'{name}="{escaped(text)}"' for name, text in labels)
            yield (
                f"{one.name}{ending}{{{named}}} {number(value)}"
                if named
                else (f"{one.name}{ending} {number(value)}")
            )


def escaped(text: str) -> str:
    """Write a label's value so that it ends where it ends, whatever it holds."""
    plain = _CONTROL.sub("\ufffd", text).encode(errors="replace").decode()
    return plain.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def escaped_help(text: str) -> str:
    """Write a help text on one line."""
    return text.replace("\\", r"\\").replace("\n", r"\n")


def number(value: float) -> str:
    """Write a value: whole ones without a point, and all digits of the rest."""
    if math.isfinite(value):
        return str(int(value)) if value == int(value) else repr(float(value))
    return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")

"""How a page answers a command that was carried out: to a script of ours, and to a plain form."""

import json
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url

from console.guard import is_fragment


def done(request: HttpRequest, said: str, to: str, **where: Any) -> HttpResponse:
    """Tell the page's script to close its dialog, say so, and look again; or lead back.

    Args:
        request: What was asked.
        said: One sentence.
        to: Name of the route to go to without a script.
        where: Its arguments.
    """
    if not is_fragment(request):
        messages.success(request, said)
        return HttpResponseRedirect(resolve_url(to, **where))
    response = HttpResponse(status=204)
    response["HX-Trigger"] = json.dumps({"signalbox:done": {"said": said}})
    return response


def leave(request: HttpRequest, said: str, to: str, **where: Any) -> HttpResponse:
    """Lead to another page and say there what was done."""
    messages.success(request, said)
    if not is_fragment(request):
        return HttpResponseRedirect(resolve_url(to, **where))
    response = HttpResponse(status=204)
    response["HX-Redirect"] = resolve_url(to, **where)
    return response

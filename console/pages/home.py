"""The front door, and the question whether one is still signed in."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_safe

from console.access import Permission, needs


@needs(Permission.SIGNED_IN)
@require_safe
def home(_request: HttpRequest) -> HttpResponse:
    """Lead to the tasks."""
    return redirect("tasks")


@needs(Permission.SIGNED_IN)
@require_safe
def signed_in(_request: HttpRequest) -> HttpResponse:
    """Answer 204 to who is signed in; the guard answers 401 to who is not."""
    return HttpResponse(status=204)

"""The question whether one is still signed in."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from console.access import Permission, needs


@needs(Permission.SIGNED_IN)
@require_safe
def signed_in(_request: HttpRequest) -> HttpResponse:
    """Answer 204 to who is signed in; the guard answers 401 to who is not."""
    return HttpResponse(status=204)

"""Static files from the applications' folders, read whole: they are few and small.

WhiteNoise finds, names and dates them; under ASGI its own responses stream from a thread and warn.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc] # it carries no types
    """WhiteNoise, with answers that are not streamed."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> Any:
        """Answer with one file, or that the browser has it already."""
        found = static_file.get_response(request.method, request.META)
        content = b""
        if found.file is not None:
            with found.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(found.status))
        del response["Content-Type"]
        for name, value in found.headers:
            if name != "Content-Length":
                response[name] = value
        response["X-Content-Type-Options"] = "nosniff"
        return response

"""The HTTP API: one `NinjaAPI`, one router for each resource.

It checks callers and bodies and shapes answers; everything else is the facade's.
"""

from typing import Any, override

from django.http import HttpRequest
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from console.http import docs, reviews, tasks, workers
from console.http.auth import SECURITY, SESSION, TOKEN
from console.http.bodies import StrictParser
from console.http.problems import MEDIA_TYPE, Unauthenticated, add_handlers
from console.http.rendering import Renderer

VERSION = "1"
ABOUT = (
    "Send an API token as `Authorization: Bearer …`, or the session cookie with its CSRF token. "
    "Errors are `application/problem+json`. Lists page by cursor. Ids, and integers beyond "
    "2^53 - 1, are texts. Instants carry their zone; one without is refused. "
    "A `callback_url` is told of the end of its task at least once, by a POST whose header "
    "`X-Signature: t=<seconds>,v1=<hex>` is HMAC-SHA256 over `<seconds>.` and the raw body; "
    "`X-Signalbox-Delivery` is the same at every attempt. Any 2xx settles it; else it is told "
    "again, up to 12 times within about two hours. Only public addresses are called, by https; "
    "this machine's own only where the installation allows it (SIGNALBOX_CALLBACKS_LOCAL)."
)


def nobody(_request: HttpRequest) -> None:
    """Let nobody in: the door of an operation that declares no permission.

    Raises:
        Unauthenticated: Always.
    """
    raise Unauthenticated


class SignalboxAPI(NinjaAPI):
    """The API, with errors and security as they are in its description."""

    @override
    def get_openapi_schema(
        self, *, path_prefix: str | None = None, path_params: Any = None
    ) -> OpenAPISchema:
        schema = super().get_openapi_schema(path_prefix=path_prefix, path_params=path_params)
        schema["components"]["securitySchemes"] = {
            TOKEN: {"type": "http", "scheme": "bearer", "description": "an API token, `sbx_…`"},
            SESSION: {"type": "apiKey", "in": "cookie", "name": "sessionid"},
        }
        for operations in schema["paths"].values():
            for operation in operations.values():
                _describe(operation)
        return schema

    @override
    def get_openapi_operation_id(self, operation: Operation) -> str:
        return operation.view_func.__name__


def _describe(operation: dict[str, Any]) -> None:
    operation["security"] = SECURITY
    for status, answer in operation["responses"].items():
        if int(status) >= 400 and "content" in answer:  # noqa: PLR2004 (where errors begin)
            answer["content"] = {MEDIA_TYPE: answer["content"].pop("application/json")}
    if operation["operationId"] == "export_task":
        operation["responses"][200]["content"] = {"application/x-ndjson": {}}


api = SignalboxAPI(
    title="Signalbox",
    version=VERSION,
    description=ABOUT,
    urls_namespace="api",
    docs_url=None,
    openapi_url=None,
    parser=StrictParser(),
    renderer=Renderer(),
    auth=nobody,
)
add_handlers(api)
api.add_router("/tasks", tasks.router)
api.add_router("/reviews", reviews.router)
api.add_router("/workers", workers.router)
api.add_router("", docs.router)

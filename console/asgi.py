"""The console as an ASGI application: pages and API over HTTP, hints over one websocket."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

from channels.auth import AuthMiddlewareStack
from channels.routing import ProtocolTypeRouter, URLRouter
from django.core.asgi import get_asgi_application

from runtime.api.process import observe

observe("web")
http = get_asgi_application()

from django.urls import path  # noqa: E402 (Django is set up by the line above)

from console.live.consumer import LiveConsumer  # noqa: E402
from console.live.lane import Lane  # noqa: E402
from console.live.shared import SharedAnswers  # noqa: E402

websocket_urlpatterns = [path("live/", LiveConsumer.as_asgi())]
application = ProtocolTypeRouter(
    {
        "http": SharedAnswers(Lane(http)),
        "websocket": AuthMiddlewareStack(URLRouter(websocket_urlpatterns)),
    }
)

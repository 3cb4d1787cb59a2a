"""``manage.py shop``: the demo's shop with its customers, as `up` keeps it open."""

import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

import httpx
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from runtime import api
from runtime.actors.broker import BrokerHints
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.customers import Customers, order_weather, serve
from runtime.examples.aftersales.shop.launch import (
    ShopDidNotStartError,
    ShopProcess,
    start_shop,
)
from runtime.telemetry import configure_logs

SCHEMA = "shop"


class Command(BaseCommand):
    """Keep a shop open and have customers write to the after-sales agent."""

    help = "Keep the demo's shop open, with customers who write to the after-sales agent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument("--port", type=int, default=0, help="default: any free one")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run until told to stop, or until the shop has died."""
        configure_logs()
        api.set_hints(BrokerHints())
        try:
            shop = start_shop(settings.DATABASE_URL, schema=SCHEMA, port=options["port"])
        except ShopDidNotStartError as error:
            raise CommandError(str(error)) from error
        with shop, ShopDesk(shop.url) as desk:
            self.stdout.write(f"the shop is open at {shop.url}")
            order_weather(desk)
            try:
                serve(Customers(desk, time.monotonic()), _until_over(shop))
            except httpx.HTTPError as error:
                message = f"the shop does not answer any more ({type(error).__name__})"
                raise CommandError(message) from error


def _until_over(shop: ShopProcess) -> Callable[[float], bool]:
    stop = threading.Event()

    def is_over(seconds: float) -> bool:
        if shop.process.poll() is not None:
            message = f"the shop has ended with status {shop.process.returncode}"
            raise CommandError(message)
        return stop.wait(seconds)

    return is_over

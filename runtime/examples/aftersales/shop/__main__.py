"""Starts the shop: `python -m runtime.examples.aftersales.shop --database-url …`.

Prints one JSON line with its address once it listens, and ends on SIGTERM, on Ctrl-C, or (asked
to) when its standard input closes, so that it does not outlive who started it.
"""

import argparse
import asyncio
import json
import os
import signal
import sys

import psycopg

from runtime.examples.aftersales.shop.house import Shop
from runtime.examples.aftersales.shop.ledger import (
    BooksInterruptedError,
    BooksUnreachableError,
    Ledger,
    ensure_schema,
)
from runtime.examples.aftersales.shop.seeds import make
from runtime.examples.aftersales.shop.server import HOST, listen


def main() -> int:
    """Run the shop until it is told to end; returns the exit status."""
    options = _parse_options()
    try:
        ensure_schema(options.database_url, options.schema)
        return asyncio.run(_run(options))
    except ValueError as error:
        return _complain(str(error))
    except (psycopg.Error, BooksUnreachableError, BooksInterruptedError) as error:
        why = " ".join(str(error.__cause__ or error).split())
        return _complain(f"the shop cannot open its books: {why}")
    except OSError as error:
        return _complain(f"the shop cannot listen on port {options.port}: {error.strerror}")
    except KeyboardInterrupt:
        return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="shop", description="A little shop behind HTTP.")
    parser.add_argument("--database-url", required=True)
    parser.add_argument("--schema", default="shop", help="where its tables are")
    parser.add_argument("--port", type=_port, default=0, help="0 takes any free one")
    parser.add_argument("--seed-orders", type=int, default=0, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--until-stdin-closes", action="store_true")
    return parser.parse_args()


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) < 65_536):  # noqa: PLR2004
        message = f"{text!r} is no port: use a number from 0 to 65535"
        raise argparse.ArgumentTypeError(message)
    return int(text)


async def _run(options: argparse.Namespace) -> int:
    ledger = Ledger(options.database_url, options.schema)
    if options.seed_orders:
        await ledger.add_orders(make(options.seed_orders, options.seed).orders)
    server = await listen(Shop(ledger), options.port)
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    if options.until_stdin_closes:
        loop.add_reader(sys.stdin.fileno(), _watch_stdin, loop, ended)
    port = server.sockets[0].getsockname()[1]
    print(json.dumps({"url": f"http://{HOST}:{port}"}), flush=True)  # noqa: T201 - its one answer
    await ended.wait()
    server.close()
    server.close_clients()
    await ledger.close()
    return 0


def _watch_stdin(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    if not os.read(sys.stdin.fileno(), 1024):
        loop.remove_reader(sys.stdin.fileno())
        ended.set()


def _complain(sentence: str) -> int:
    print(sentence, file=sys.stderr)  # noqa: T201 - a process of its own speaks here
    return 2


if __name__ == "__main__":
    sys.exit(main())

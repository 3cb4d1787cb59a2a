"""The shop's sockets: connections, keep-alive, and the ways in which an answer leaves.

Each request goes to the desk first, else to the counter. `__main__.py` starts it.
"""

import asyncio

from runtime.examples.aftersales.shop.desk import Desk
from runtime.examples.aftersales.shop.house import Delivery, Shop
from runtime.examples.aftersales.shop.http import (
    MAX_HEAD_BYTES,
    Request,
    RequestRefusedError,
    problem,
    read_request,
    render,
)
from runtime.examples.aftersales.shop.ledger import BooksInterruptedError, BooksUnreachableError

HOST = "127.0.0.1"
#: Connections that may wait to be accepted; past it the kernel makes clients wait.
BACKLOG = 1024


async def listen(shop: Shop, port: int) -> asyncio.Server:
    """Listen on 127.0.0.1 (port 0: any free one)."""
    desk = Desk(shop)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve_connection(shop, desk, reader, writer)

    return await asyncio.start_server(serve, HOST, port, limit=MAX_HEAD_BYTES, backlog=BACKLOG)


async def respond(shop: Shop, desk: Desk, request: Request) -> Delivery:
    """Answer one request, whatever happens to the books meanwhile."""
    try:
        answer = await desk.answer(request)
        return Delivery(answer) if answer is not None else await shop.serve(request)
    except RequestRefusedError as refusal:
        return Delivery(refusal.answer)
    except BooksUnreachableError:
        detail = "the shop cannot reach its books; nothing was done"
        return Delivery(problem(503, detail, (("retry-after", "1"),)))
    except BooksInterruptedError:
        return Delivery(problem(500, "the shop lost its books in the middle of this call"))


async def serve_connection(
    shop: Shop,
    desk: Desk,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    """Serve one connection, request by request, until either side ends it."""
    try:
        open_still = True
        while open_still and (request := await read_request(reader)) is not None:
            delivery = await respond(shop, desk, request)
            open_still = request.keep_alive and delivery.answer is not None
            await _deliver(delivery, reader, writer, keep_alive=open_still)
    except RequestRefusedError as refusal:
        await _deliver(Delivery(refusal.answer), reader, writer, keep_alive=False)
    except ConnectionError:
        pass  # The client has gone; what it asked for stands in the books.
    finally:
        writer.close()


async def _deliver(
    delivery: Delivery,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    *,
    keep_alive: bool,
) -> None:
    if delivery.hang:
        await reader.read()
    if delivery.answer is None:
        return
    text = render(delivery.answer, keep_alive=keep_alive)
    if not delivery.drip_s:
        writer.write(text)
        await writer.drain()
        return
    for position in range(len(text)):
        writer.write(text[position : position + 1])
        await writer.drain()
        await asyncio.sleep(delivery.drip_s)

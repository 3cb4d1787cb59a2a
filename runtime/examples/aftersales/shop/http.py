"""As much of HTTP/1.1 as the shop needs: requests with a Content-Length, JSON answers, keep-alive.

It is no general server: no chunked bodies, no TLS, no pipelining beyond one request at a time.
`server.py` reads requests and writes answers through it.
"""

import asyncio
import json
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, unquote

MAX_HEAD_BYTES = 32 * 1024
MAX_BODY_BYTES = 1024 * 1024

type Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Request:
    """One request; `segments` are the decoded parts of the path, `path` is their text."""

    method: str
    path: str
    segments: tuple[str, ...]
    query: dict[str, str]
    body: bytes
    keep_alive: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: a status, a JSON object and extra headers."""

    status: int
    payload: Json
    headers: tuple[tuple[str, str], ...] = ()


class RequestRefusedError(Exception):
    """The bytes are no request that this server takes; carries the answer to give."""

    def __init__(self, status: int, detail: str) -> None:
        """Keep the status to answer with and the sentence that explains it."""
        super().__init__(status, detail)
        self.answer = problem(status, detail)


def problem(status: int, detail: str, headers: tuple[tuple[str, str], ...] = ()) -> Answer:
    """Build an error answer in the shape of RFC 9457."""
    title = HTTPStatus(status).phrase
    return Answer(status, {"title": title, "status": status, "detail": detail}, headers)


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """Read one request; None where the client has gone.

    Raises:
        RequestRefusedError: what came is not a request for this server.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except asyncio.LimitOverrunError:
        raise RequestRefusedError(431, "the head of the request is too long") from None
    method, target, version, headers = _parse_head(head)
    try:
        body = await reader.readexactly(_body_length(method, headers))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    raw_path, _, raw_query = target.partition("?")
    try:
        segments = tuple(unquote(part, errors="strict") for part in raw_path.split("/")[1:])
    except UnicodeDecodeError:
        raise RequestRefusedError(400, "the path is not UTF-8") from None
    return Request(
        method=method,
        path="/" + "/".join(segments),
        segments=segments,
        query=dict(parse_qsl(raw_query)),
        body=body,
        keep_alive=version == "HTTP/1.1" and headers.get("connection", "").lower() != "close",
    )


def _parse_head(head: bytes) -> tuple[str, str, str, dict[str, str]]:
    request_line, *lines = head[:-4].decode("latin-1").split("\r\n")
    parts = request_line.split(" ")
    if len(parts) != 3 or not parts[1].startswith("/"):  # noqa: PLR2004 - the three words of a request line
        raise RequestRefusedError(400, "the request line is not HTTP")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return parts[0], parts[1], parts[2], headers


def _body_length(method: str, headers: dict[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise RequestRefusedError(411, "send the body with a Content-Length")
    text = headers.get("content-length")
    if text is None:
        if method in {"POST", "PUT", "PATCH"}:
            raise RequestRefusedError(411, "send the body with a Content-Length")
        return 0
    if not (text.isascii() and text.isdigit()):
        raise RequestRefusedError(400, "the Content-Length is not a number")
    # Compared as text first: Python refuses to read integers of thousands of digits.
    if len(text) > len(str(MAX_BODY_BYTES)) or int(text) > MAX_BODY_BYTES:
        raise RequestRefusedError(413, f"a body may have {MAX_BODY_BYTES} bytes")
    return int(text)


def read_json(body: bytes) -> Json:
    """Read a JSON object strictly: no NaN, no endless nesting.

    Raises:
        RequestRefusedError: the body is not a JSON object.
    """
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise RequestRefusedError(400, "the body is not JSON") from None
    if not isinstance(value, dict):
        raise RequestRefusedError(400, "the body must be a JSON object")
    return value


def _refuse_constant(word: str) -> object:
    raise ValueError(word)


def render(answer: Answer, *, keep_alive: bool) -> bytes:
    """Write an answer as bytes."""
    body = json.dumps(answer.payload, separators=(",", ":")).encode("ascii")
    kind = "application/json" if answer.status < 400 else "application/problem+json"  # noqa: PLR2004
    head = [
        f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
        f"content-type: {kind}",
        f"content-length: {len(body)}",
        *(f"{name}: {value}" for name, value in answer.headers),
    ]
    if not keep_alive:
        head.append("connection: close")
    return "\r\n".join(head).encode("latin-1") + b"\r\n\r\n" + body

"""Digests and identities: what makes two calls the same call, and what nobody can forge.

All digests are HMAC-SHA256 under a key of the namespace, in hexadecimal. HMAC because digests of
personal content stand in envelopes for years, and without the key a short content cannot be found
by trying; SHA-256 because approvals will be bound to it and any other system can recompute it, at
about a microsecond more than a keyed BLAKE2.

What counts as the same (RFC 8785 over the payload gate's stored form):

- key order is irrelevant; `null` is not absent; `{"a": "b|c"}` is not `{"a|b": "c"}` - `1`, `"1"`
and `true` all differ; `1` and `1.0` are the same number, as everywhere in JSON; `"1.10"` is not
`"1.1"` - text is compared by code point: composed and decomposed Unicode differ, nothing is
normalised - tagged values (Decimal, datetime, large integers) differ from the plain text or number
they look like
"""

from __future__ import annotations

import hmac
import json
import re
from typing import Any, Final

import rfc8785

type Field = str | bytes | int | bool | None

_HASH: Final = "sha256"
_OPERATION_HEX: Final = 32
"""128 bits: no two operations ever meet, and payment services take keys of this length."""
_NEEDS_CARE: Final = re.compile("[0-9]{16}|[\U00010000-\U0010ffff]")
"""Long digits may be an unsafe integer; beyond the BMP UTF-16 sorts unlike code points."""


def canonical(stored_text: str) -> bytes:
    """Give the RFC 8785 form of a stored text of the payload gate.

    Args:
        stored_text: `Encoded.text`.

    Raises:
        ValueError: the text is no JSON, or holds what RFC 8785 refuses: NaN, or
            integers beyond ±(2^53 - 1).

    """
    try:
        sorted_text = _WITHOUT_FLOATS.encode(_REFUSING_FLOATS.decode(stored_text))
    except _FloatSeenError:
        return rfc8785.dumps(json.loads(stored_text))
    if _NEEDS_CARE.search(sorted_text):
        return rfc8785.dumps(json.loads(stored_text))
    # Without floats, long integers and rare planes the C encoder sorts and writes as RFC 8785.
    return sorted_text.encode()


def digest(key: bytes, domain: str, *fields: Field) -> str:
    """Give the keyed digest of a list of fields, 64 hexadecimal characters.

    The domain names the kind of thing, so that digests of different kinds never meet. Each field is
    framed by its type and length: no choice of contents makes two different lists the same bytes.

    Args:
        key: The namespace's secret.
        domain: What is digested, e.g. `arguments`.
        *fields: The parts, in order.

    """
    return hmac.digest(key, _framed((f"signalbox/1/{domain}", *fields)), _HASH).hex()


def arguments_digest(key: bytes, encoded_text: str) -> str:
    """Give the digest of a call's arguments (or of any other stored payload).

    Args:
        key: The namespace's secret.
        encoded_text: `Encoded.text` of the arguments.

    """
    return digest(key, "payload", canonical(encoded_text))


def operation_id(  # noqa: PLR0913 - each part of the identity has its name
    key: bytes,
    *,
    task_id: object,
    branch: int,
    step: int,
    ordinal: int,
    tool: str,
    arguments_digest: str,
) -> str:
    """Give the id under which one call reaches the outside world; stable over retries and restarts.

    Args:
        key: The namespace's secret.
        task_id: The task.
        branch: Opened by a reset; "do it again" is a new operation.
        step: Number of the plan in the branch.
        ordinal: Place of the call in a plan that named several.
        tool: Name of the tool.
        arguments_digest: From `arguments_digest`; edited arguments are a new operation.

    """
    parts = (str(task_id), branch, step, ordinal, tool, arguments_digest)
    return f"op_{digest(key, 'operation', *parts)[:_OPERATION_HEX]}"


def call_id(branch: int, step: int, ordinal: int) -> str:
    """Give the name of a call inside its task, like `1.4.0`."""
    return f"{branch}.{step}.{ordinal}"


def _framed(fields: tuple[Field, ...]) -> bytes:
    return b"".join(_frame(field) for field in fields)


def _frame(field: Field) -> bytes:
    if field is None:
        return b"n0:"
    if isinstance(field, bytes):
        return b"b%d:%b" % (len(field), field)
    if isinstance(field, str):
        body = field.encode(errors="surrogatepass")
        return b"s%d:%b" % (len(body), body)
    body = f"{field:d}".encode()
    return b"%b%d:%b" % (b"t" if isinstance(field, bool) else b"i", len(body), body)


class _FloatSeenError(Exception):
    """The text holds a float, whose RFC 8785 form is not Python's."""


def _float_seen(_digits: str) -> Any:
    raise _FloatSeenError


_REFUSING_FLOATS: Final = json.JSONDecoder(parse_float=_float_seen, parse_constant=_float_seen)
_WITHOUT_FLOATS: Final = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), sort_keys=True, check_circular=False
)

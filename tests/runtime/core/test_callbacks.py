"""Callback addresses that are never called, and signatures that hold over raw bytes only."""

import json
from datetime import UTC, datetime
from uuid import UUID

import pytest

from runtime.core.callbacks import (
    MOST_ATTEMPTS,
    CallbackRefused,
    Target,
    address,
    callable_address,
    holds,
    news,
    pause_s,
    sign,
    target,
)

BODY = b'{"a" : 1.0, "b":"\\u00e9"}'
NOW_S = 1_800_000_000


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.com/hook",
        "ftp://example.com/",
        "https:///path",
        "http://example.com/plain",
        "https://user:pass@example.com/",
        "https://example.com:0/",
        "https://example.com:99999/",
        "https://10.0.0.1/",
        "https://192.168.1.5/",
        "https://169.254.169.254/latest/meta-data",
        "https://0.0.0.0/",
        "https://[fe80::1]/",
        "https://[fec0::1]/",
        "https://[64:ff9b::a00:1]/",
        "https://[2002:a00:1::]/",
        "https://224.0.0.1/",
        "https://exa mple.com/",
        "https://example.com/\u202e",
        "https://example.com/\x00",
        "https://-bad-/",
        "https://[::1/",
        "https://example.com/" + "a" * 2000,
    ],
)
def test_an_address_that_must_not_be_called_is_refused(url: str) -> None:
    with pytest.raises(CallbackRefused, match="is refused"):
        target(url, local=True)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/done",
        "http://localhost/done",
        "http://LOCALHOST./done",
        "https://[::1]:1/",
        "http://[::ffff:127.0.0.1]/",
        "http://127.8.9.1/",
    ],
)
def test_this_machine_is_called_only_where_that_is_allowed(url: str) -> None:
    target(url, local=True)

    with pytest.raises(CallbackRefused, match="this machine"):
        target(url, local=False)


def test_an_address_is_taken_apart_as_it_stands() -> None:
    found = target("https://hooks.example.com:8443/a%20b/?x=1&y", local=False)

    assert found == Target("https", "hooks.example.com", 8443, "/a%20b/?x=1&y")
    assert target("https://example.com", local=False).path == "/"
    assert target("https://example.com?x", local=False) == Target(
        "https", "example.com", 443, "/?x"
    )


@pytest.mark.parametrize(
    ("ip", "can"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("10.1.2.3", False),
        ("fd00::1", False),
    ],
)
def test_only_public_addresses_are_called(ip: str, *, can: bool) -> None:
    found = address(ip)

    assert found is not None
    assert callable_address(found, local=True) is can


def test_a_signature_holds_over_the_raw_bytes() -> None:
    header = sign(["one"], NOW_S, BODY)

    assert header.startswith(f"t={NOW_S},v1=")
    assert holds(header, ["one"], BODY, NOW_S + 10)
    assert not holds(header, ["one"], json.dumps(json.loads(BODY)).encode(), NOW_S + 10)
    assert not holds(header, ["other"], BODY, NOW_S + 10)


def test_a_captured_signature_is_too_old_after_a_while() -> None:
    header = sign(["one"], NOW_S, BODY)

    assert holds(header, ["one"], BODY, NOW_S + 300)
    assert not holds(header, ["one"], BODY, NOW_S + 301)
    assert not holds(header.replace(f"t={NOW_S}", f"t={NOW_S + 600}"), ["one"], BODY, NOW_S + 600)


def test_two_secrets_are_valid_while_one_is_exchanged() -> None:
    header = sign(["old", "new"], NOW_S, BODY)

    assert header.count("v1=") == 2
    assert holds(header, ["old"], BODY, NOW_S)
    assert holds(header, ["new"], BODY, NOW_S)


@pytest.mark.parametrize(
    "header",
    ["", "t=1", "v1=ab", "t=x,v1=ab", "t=1,t=1,v1=ab", "t=-5,v1=", "t=1,v1=\u00e9", ",,,="],
)
def test_a_damaged_signature_holds_for_nothing(header: str) -> None:
    assert not holds(header, ["one"], BODY, 1)


def test_pauses_grow_to_an_hour_and_then_end() -> None:
    pauses = [pause_s(attempt, 1.0) for attempt in range(1, MOST_ATTEMPTS + 1)]

    assert pauses[:3] == [5.0, 10.0, 20.0]
    assert pauses[-2:] == [3600.0, None]
    assert pause_s(1, 0.0) == 2.5


def test_the_body_is_the_same_at_every_attempt() -> None:
    made = [
        news(
            task_id=UUID(int=7),
            namespace="default",
            agent="a",
            key=None,
            state="terminated_success",
            reason="\u202e\x1b",
            finished_at=datetime(2026, 1, 2, tzinfo=UTC),
        )
        for _ in range(2)
    ]

    assert made[0] == made[1]
    assert json.loads(made[0])["task"]["finished_at"] == "2026-01-02T00:00:00+00:00"

"""The checkpoint: small, the same bytes for the same value, and never guessed."""

import json
from copy import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core import checkpoint as cp
from runtime.core import commands as c
from runtime.core.checkpoint import Checkpoint, Pending, Queue, Wait
from runtime.core.effects import Effect
from runtime.core.errors import CheckpointUnreadable
from runtime.core.machine import decide
from runtime.core.retry import ErrorKind, RetryPolicy
from runtime.core.states import State
from tests.runtime.core.bookkeeping import NOON, Loaded, decided, failure
from tests.runtime.core.specimens import standing

texts = st.text(max_size=40)
checkpoints = st.builds(
    Checkpoint,
    state=st.sampled_from(State),
    seq=st.integers(1, 10**9),
    chain=texts,
    deadline=st.none() | texts,
    pending=st.none()
    | st.builds(
        Pending,
        texts,
        texts,
        st.sampled_from(Effect),
        texts,
        st.integers(1, 10**9),
        st.none() | st.integers(0, 200),
        st.none() | texts,
        st.integers(0, 100),
    ),
    queue=st.none() | st.builds(Queue, st.integers(1, 9), st.integers(1, 9), st.integers(1, 200)),
    wait=st.none()
    | st.builds(Wait, texts, st.none() | texts, st.none() | texts, texts, st.sampled_from(State)),
    drift=st.none() | texts,
    outcome=st.none(),
    result_digest=st.none(),
)


@given(checkpoints)
def test_what_was_written_is_read_back_and_gives_the_same_bytes(checkpoint: Checkpoint) -> None:
    text = cp.encode(checkpoint)

    read = cp.decode("t", text, cp.checksum(text))

    assert read == checkpoint
    assert cp.encode(read) == text


@given(st.integers(0), st.integers(1, 0x7F))
def test_a_flipped_byte_is_noticed(place: int, flip: int) -> None:
    text = cp.encode(standing(State.WAITING_TOOL_CALL, more_calls=True))
    place %= len(text)
    damaged = text[:place] + chr(ord(text[place]) ^ flip) + text[place + 1 :]

    with pytest.raises(CheckpointUnreadable):
        cp.decode("t", damaged, cp.checksum(text))


@given(st.integers(0, 10_000))
def test_a_text_that_was_cut_off_is_unreadable(length: int) -> None:
    text = cp.encode(standing(State.WAITING_HUMAN, more_calls=True))

    with pytest.raises(CheckpointUnreadable):
        cp.decode("t", text[: length % len(text)])


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"state": "resting"},
        {"seq": "7"},
        {"seq": None},
        {"seq": True},
        {"seq": 7.5},
        {"deadline": 7},
        {"chain": None},
        {"pending": []},
        {"pending": {"call_id": "0.1.0"}},
        {"queue": {"seq": 1, "next": "2", "count": 3}},
        {"wait": "long"},
        {"from_the_future": 1},
    ],
)
def test_a_checkpoint_that_is_not_exactly_one_is_unreadable(change: dict[str, Any]) -> None:
    body = json.loads(cp.encode(standing(State.WAITING_HUMAN, more_calls=True))) | change

    with pytest.raises(CheckpointUnreadable, match="rebuild it from its events"):
        cp.decode("t", json.dumps(body))


@pytest.mark.parametrize("text", ["", "null", "[]", "7", '"v"', "{}", "[" * 100_000, "\x00"])
def test_what_is_no_checkpoint_at_all_is_unreadable(text: str) -> None:
    with pytest.raises(CheckpointUnreadable):
        cp.decode("t", text)


def test_a_checkpoint_from_before_a_field_was_added_is_still_read() -> None:
    """What has a default may be missing: a rolling deployment reads what the old version wrote."""
    body = json.loads(cp.encode(standing(State.WAITING_TOOL_CALL)))
    for name in ("unclear", "doubted", "again", "fallback_for"):
        del body["pending"][name]

    assert cp.decode("t", json.dumps(body)) == standing(State.WAITING_TOOL_CALL)


def test_the_longest_names_and_plans_stay_under_two_kilobytes() -> None:
    """64-character tools, a plan of 200 calls, ten million steps, a chain of eight fallbacks."""
    once = RetryPolicy(attempts=1)
    plan = tuple(decided(Effect.KEYED, number) for number in range(200))
    at = replace(standing(State.PLANNING), step=10_000_000, branch=1_000, drift="d" * 200)

    at = _after(at, c.PlanCalls(plan))
    for number in range(8):
        instead = decided(Effect.KEYED, 500 + number)
        given_up = c.Failed(None, failure(ErrorKind.PERMANENT), once, fallback=instead)
        at = _after(_after(at, c.Begin()), given_up)
    at = _after(_after(at, c.Begin()), c.Doubted("nobody knows"))

    assert at.pending is not None
    assert at.pending.call_id == "1000.10000001.0ffffffff"
    assert len(cp.encode(at).encode()) < cp.LIMIT_BYTES


def _after(at: Checkpoint, command: c.Command) -> Checkpoint:
    return decide(at, command, NOON, Loaded(), actor="worker:w").after

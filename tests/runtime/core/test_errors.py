"""Errors are data with one clear sentence, and any exception becomes safe text."""

from __future__ import annotations

import inspect
import pickle
import socket

import pytest

from runtime.core import errors
from runtime.core.errors import (
    Ambiguous,
    ErrorInfo,
    KeyReused,
    LeaseLost,
    ManifestRefused,
    ManifestWidens,
    Permanent,
    Retryable,
    ReviewClosed,
    SignalboxError,
    ToolError,
    UnknownAgent,
    UnknownTask,
    WrongUsage,
    describe,
    safe_text,
)

_SAMPLES = {
    "problems": ["one thing is wrong.", "another too"],
    "known": ["b", "a"],
    "expected": 3,
    "actual": 4,
    "epoch": 7,
    "signal": 9,
    "status": 1,
}


def _every_error() -> list[type[SignalboxError]]:
    named = [getattr(errors, name) for name in errors.__all__]
    return [kind for kind in named if isinstance(kind, type) and issubclass(kind, SignalboxError)]


def _example(kind: type[SignalboxError]) -> SignalboxError:
    if kind.__init__ is SignalboxError.__init__:  # a family, never raised itself
        return kind("something")
    names = list(inspect.signature(kind).parameters)
    return kind(*(_SAMPLES.get(name, f"some {name}") for name in names))


@pytest.mark.parametrize("kind", _every_error())
def test_every_error_survives_pickling_with_its_data_and_sentence(
    kind: type[SignalboxError],
) -> None:
    error = _example(kind)

    back = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert type(back) is kind
    assert vars(back) == vars(error)
    assert str(back) == str(error)


@pytest.mark.parametrize("kind", _every_error())
def test_every_sentence_names_its_data_and_holds_no_placeholder(kind: type[SignalboxError]) -> None:
    sentence = str(_example(kind))

    assert sentence
    assert "\n" not in sentence
    assert not set("{}") & set(sentence)


def test_every_error_has_a_code_of_its_own() -> None:
    codes = [kind.code for kind in _every_error()]

    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("kind", [kind for kind in _every_error() if issubclass(kind, WrongUsage)])
def test_wrong_usage_is_the_callers_fault_on_every_door(kind: type[SignalboxError]) -> None:
    assert kind.exit_code == 2
    assert 400 <= kind.http_status < 500


def test_keyword_arguments_survive_pickling() -> None:
    back = pickle.loads(pickle.dumps(Retryable(after_s=2.5)))  # noqa: S301 - our own bytes

    assert (back.message, back.after_s) == ("", 2.5)


def test_a_name_from_outside_cannot_break_the_sentence() -> None:
    error = UnknownAgent("a{name}\x00\ud835" + "x" * 10_000, known=[])

    assert "\x00" not in str(error)
    assert len(str(error)) < 500
    assert "known agents: none" in str(error)


def test_long_lists_of_problems_say_how_many_there_are() -> None:
    error = ManifestRefused(f"problem number {n}." for n in range(30))

    assert str(error).endswith("problem number 19; and 10 more.")


def test_a_value_whose_repr_raises_can_stand_in_an_error() -> None:
    class Hostile:
        def __repr__(self) -> str:
            raise RuntimeError

    assert "Hostile" in str(ManifestWidens("limits.steps", Hostile(), 3))


def test_tools_say_what_happened_in_three_ways() -> None:
    assert str(Retryable()) == "retryable"
    assert str(Permanent("no such order")) == "no such order"
    assert [kind.retryable for kind in (Retryable, Permanent, Ambiguous)] == [True, False, False]
    assert all(issubclass(kind, ToolError) for kind in (Retryable, Permanent, Ambiguous))


def test_a_late_decision_is_a_refused_decision_that_names_the_winner() -> None:
    error = ReviewClosed("r1", "approve", "bob", "rejected", "12:00")

    assert isinstance(error, errors.DecisionRefused)
    assert str(error) == (
        "Review r1 does not take decision 'approve': bob closed it as rejected at 12:00."
    )
    assert (error.http_status, KeyReused.http_status, UnknownTask.http_status) == (409, 409, 404)


def test_ids_in_errors_are_text() -> None:
    assert LeaseLost(12, 3).task_id == "12"


# --- any exception as safe text -----------------------------------------------------------------


class TwoArguments(Exception):
    """A required two-argument constructor and a socket: neither pickles nor reprs well."""

    def __init__(self, code: int, connection: socket.socket) -> None:
        super().__init__(code, connection)
        self.connection = connection


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError


class Quitter(Exception):
    def __str__(self) -> str:
        raise SystemExit


class NotText(Exception):
    def __str__(self) -> str:
        return 3  # type: ignore[return-value]  # noqa: PLE0307 - the case


def test_an_exception_with_a_socket_has_a_safe_text() -> None:
    with socket.socket() as connection:
        info = describe(TwoArguments(3, connection))

    assert info.type.endswith("TwoArguments")
    assert info.message.startswith("(3, <socket")


@pytest.mark.parametrize("kind", [Mute, Quitter, NotText])
def test_an_exception_that_cannot_show_itself_is_still_described(kind: type[Exception]) -> None:
    assert "cannot be shown" in safe_text(kind())


def test_the_safe_text_is_bounded_and_storable() -> None:
    text = safe_text(ValueError("a\x00b\ud835" + "é" * 10_000), limit=100)

    assert len(text) == 100
    assert text.startswith("a\ufffdb\ufffdé")
    assert text.endswith("…")
    text.encode()


def test_an_exception_without_a_message_gives_its_type() -> None:
    assert safe_text(KeyError()) == "KeyError"


def test_the_causes_of_an_exception_are_named_nearest_first() -> None:
    error = ValueError("outer")
    error.__cause__ = OSError("middle")
    error.__cause__.__context__ = TypeError("inner")

    assert describe(error) == ErrorInfo(
        "ValueError", "outer", ("OSError: middle", "TypeError: inner")
    )


def test_a_cycle_of_causes_ends() -> None:
    error = ValueError("a")
    error.__cause__ = error

    assert len(describe(error).chain) == 5


def test_a_hidden_context_stays_hidden() -> None:
    error = ValueError("shown")
    error.__context__ = OSError("hidden")
    error.__suppress_context__ = True

    assert describe(error).chain == ()

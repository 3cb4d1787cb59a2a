"""What a planner may decide: call tools, finish, ask a person, or fail.

Values only: nothing here knows a tool's schema, an agent or a task. Planners build them through
`Plan`, and the planner runner passes whatever came back through `check_plan`, so that rubbish
becomes a review and never a crash.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from inspect import iscoroutine
from typing import NoReturn, Protocol

from runtime.core.error_text import bounded
from runtime.core.errors import PlanInvalid, clean_text

LONGEST_REASON = 2000
_NOT_NAMED = "the arguments of a call must be named values, not {}"


class Named(Protocol):
    """Anything that stands for a tool, such as a `Tool` object: only its name is read."""

    @property
    def name(self) -> str:
        """The name under which the agent knows the tool."""


type Pair = tuple[Named | str, dict[str, object]]


class Plan:
    """One decision of a planner; build it with one of the class methods.

    A plan names tools and values without checking them against the agent: that happens when it is
    accepted, where a refusal can go back to whoever planned.
    """

    __slots__ = ()

    @classmethod
    def call(cls, tool: Named | str, /, **arguments: object) -> "CallPlan":
        """Call one tool.

        Args:
            tool: The tool or its name; positional only, so that an argument may be called `tool`.
            arguments: The tool's own arguments.

        Raises:
            PlanInvalid: `tool` has no name.
        """
        return CallPlan((Call(_tool_name(tool), arguments),))

    @classmethod
    def calls(cls, items: Sequence["CallPlan | Pair"], /) -> "CallPlan":
        """Call several tools, in the order given.

        Args:
            items: What `Plan.call` returned, or pairs of a tool (or its name) and its arguments.

        Raises:
            PlanInvalid: There are no items, or one of them is neither of the two forms.
        """
        if not isinstance(items, list | tuple):
            _refuse(f"Plan.calls takes a list, not {_kind(items)}")
        plan = CallPlan(tuple(call for item in items for call in _calls_of(item)))
        _check_calls(plan.calls)
        return plan

    @classmethod
    def finish(cls, result: object = None, /) -> "FinishPlan":
        """End the task with this result."""
        return FinishPlan(result)

    @classmethod
    def ask(cls, question: str, /) -> "AskPlan":
        """Ask a person; the answer arrives in the context of the next decision.

        Raises:
            PlanInvalid: The question is not a text or is empty.
        """
        _check_text("question", question)
        return AskPlan(question)

    @classmethod
    def fail(cls, reason: str, /) -> "FailPlan":
        """End the task as failed, for this reason.

        Raises:
            PlanInvalid: The reason is not a text or is empty.
        """
        _check_text("reason", reason)
        return FailPlan(reason)


@dataclass(frozen=True, slots=True)
class Call:
    """One tool and the arguments the planner named for it, not validated yet."""

    tool: str
    arguments: dict[str, object]


@dataclass(frozen=True, slots=True)
class CallPlan(Plan):
    """Call these tools one after the other."""

    # `field()` keeps dataclass from taking the inherited class method for a default.
    calls: tuple[Call, ...] = field()  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class FinishPlan(Plan):
    """End the task with this result."""

    result: object


@dataclass(frozen=True, slots=True)
class AskPlan(Plan):
    """Ask a person this question and go on with the answer."""

    question: str


@dataclass(frozen=True, slots=True)
class FailPlan(Plan):
    """End the task as failed, for this reason."""

    reason: str


type AnyPlan = CallPlan | FinishPlan | AskPlan | FailPlan


def check_plan(value: object) -> AnyPlan:
    """Return `value` if it is a well-formed plan, its texts such that they can be stored.

    Raises:
        PlanInvalid: It is anything else; the sentence names the type that came, never the value.
    """
    match value:
        case CallPlan(calls=calls):
            _check_calls(calls)
            return value
        case FinishPlan():
            return value
        case AskPlan(question=question):
            _check_text("question", question)
            return AskPlan(clean_text(question))
        case FailPlan(reason=reason):
            _check_text("reason", reason)
            return FailPlan(bounded(reason, LONGEST_REASON))
        case _:
            raise _other(value)


def _other(value: object) -> PlanInvalid:
    if iscoroutine(value):
        value.close()  # never awaited: without this Python warns about it later, far from the cause
        return PlanInvalid("the planner returned a coroutine; write it as a plain `def`")
    return PlanInvalid(
        f"the planner returned {_kind(value)}; "
        "it must return one of Plan.call, .calls, .finish, .ask or .fail"
    )


def _calls_of(item: object) -> tuple[Call, ...]:
    match item:
        case CallPlan(calls=calls):
            return calls
        case (tool, arguments):
            if not isinstance(arguments, dict):
                _refuse(_NOT_NAMED.format(_kind(arguments)))
            return (Call(_tool_name(tool), dict(arguments)),)
        case _:
            why = f"Plan.calls takes Plan.call(...) or (tool, arguments), not {_kind(item)}"
            raise PlanInvalid(why)


def _check_calls(calls: object) -> None:
    if not isinstance(calls, tuple) or not calls:
        _refuse("a plan to call tools names none")
    for call in calls:
        if not isinstance(call, Call):
            _refuse(f"a call must be a Call, not {_kind(call)}")
        _check_text("tool name", call.tool)
        if not _are_named(call.arguments):
            _refuse(_NOT_NAMED.format(_kind(call.arguments)))


def _are_named(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _tool_name(tool: object) -> str:
    name = tool if isinstance(tool, str) else getattr(tool, "name", None)
    if not isinstance(name, str) or not name:
        _refuse(f"a call names a tool or the tool's name, not {_kind(tool)}")
    return name


def _check_text(what: str, value: object) -> None:
    if not isinstance(value, str):
        _refuse(f"the {what} must be a text, not {_kind(value)}")
    if not value.strip():
        _refuse(f"the {what} is empty")


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _refuse(why: str) -> NoReturn:
    raise PlanInvalid(why)

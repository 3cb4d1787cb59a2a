"""The rules a declaration of a tool must keep, one clear sentence each.

They run while a module is imported, so that a wrong declaration stops the start and never a
task. `runtime.tools.registry` calls them; whether the tools of one agent fit together is the
agent's rule.
"""

import inspect
import math
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from runtime.core.effects import Effect, Touch
from runtime.core.errors import ToolRefused

if TYPE_CHECKING:
    from runtime.tools.registry import AnyTool

NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What model providers accept as a name (hazard TA-05)."""

QUEUE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What a message broker accepts as a queue's name."""
QUEUE_NAME: Final = "1 to 64 letters, digits, '_' or '-', the first a letter or '_'"

_N_OF: Final = re.compile(r"[1-9][0-9]?-of")


def check_function(function: object, name: str | None) -> str:
    """Return the name of the tool this function becomes.

    Raises:
        ToolRefused: It is no plain function, or the name is not usable.
    """
    own_name = getattr(function, "__name__", type(function).__name__) if name is None else name
    if not is_name(own_name):
        why = "its name must be 1 to 64 letters, digits, '_' or '-'"
        raise ToolRefused(str(own_name), why)
    if not inspect.isfunction(function):
        raise ToolRefused(own_name, "only a plain `def` or `async def` can be a tool")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ToolRefused(own_name, "it yields, and a tool returns its whole result at once")
    return own_name


def known_effect(tool: str, effect: object) -> Effect:
    """Return the effect class of this name.

    Raises:
        ToolRefused: There is no such class.
    """
    try:
        return Effect(effect)  # type: ignore[arg-type]
    except ValueError:
        why = f"effect {effect!r} is not one of {', '.join(Effect)}"
        raise ToolRefused(tool, why) from None


def check_tool(tool: "AnyTool") -> None:
    """Hold a declaration against every rule.

    Raises:
        ToolRefused: With the first rule that is broken.
    """
    for rule in (_numbers, _names, _person, _by_effect, _outcome, _isolation):
        for problem in rule(tool):
            raise ToolRefused(tool.name, problem)


def _numbers(tool: "AnyTool") -> Iterator[str]:
    if not _is_number(tool.timeout_s) or tool.timeout_s <= 0:
        yield f"timeout_s must be a number of seconds above 0, not {tool.timeout_s!r}"
    if tool.attempts is not None and not is_count(tool.attempts):
        yield f"attempts counts the first try, so it must be 1 or more, not {tool.attempts!r}"
    if not is_count(tool.version):
        yield f"version must be a whole number from 1 on, not {tool.version!r}"
    if tool.key_ttl_s is not None and (not _is_number(tool.key_ttl_s) or tool.key_ttl_s <= 0):
        yield f"key_ttl_s must be a number of seconds above 0, not {tool.key_ttl_s!r}"


def _names(tool: "AnyTool") -> Iterator[str]:
    for option in ("requires", "fallback", "compensate"):
        value = getattr(tool, option)
        for name in value if isinstance(value, tuple) else (value,):
            if name is not None and not isinstance(name, str):
                yield f"{option} takes the names of tools as text, not {type(name).__name__}"
            elif name == tool.name:
                yield f"{option} names the tool itself"
    for name in tool.same:
        if name not in tool.arguments.names:
            yield f"same names {name!r}, which is no argument of it"
    if isinstance(tool.loop_key, str) and tool.loop_key not in tool.arguments.names:
        yield f"loop_key names {tool.loop_key!r}, which is no argument of it"


def _person(tool: "AnyTool") -> Iterator[str]:
    for touch in tool.touches:
        if touch not in tuple(Touch):
            yield f"touches {touch!r} is not one of {', '.join(Touch)}"
    if tool.touches and tool.effect is Effect.READ:
        yield "a read touches nothing; declare the effect it has or drop touches"
    if isinstance(tool.approval, str):
        if tool.approval not in {"never", "always"} and not _N_OF.fullmatch(tool.approval):
            yield f"approval {tool.approval!r} is not never, always, a function or like '2-of'"
    elif tool.approval is not None and not decides(tool.approval):
        yield "approval must be a text or a plain `def`"
    if tool.when is not None and not (decides(tool.when) and _takes_one(tool.when)):
        yield "when must be a plain `def` of one value, the planner's context"


def _by_effect(tool: "AnyTool") -> Iterator[str]:
    effect = tool.effect
    if effect is Effect.KEYED and not tool.wants_operation_id:
        yield "effect keyed needs `*, operation_id: str` to hand to the downstream"
    if effect is Effect.LOCAL and (tool.is_async or not tool.wants_ctx):
        yield "effect local needs a plain `def` that takes `*, ctx` for its transaction"
    if effect is not Effect.READ and tool.parallel:
        yield "parallel is for reads, since writes run in order"
    if effect is not Effect.READ and tool.poll:
        yield "poll is for reads, since repeating a write is never just looking"


def _outcome(tool: "AnyTool") -> Iterator[str]:
    effect, forgets = tool.effect, tool.key_ttl_s is not None
    if forgets and effect is not Effect.KEYED:
        yield "key_ttl_s is for effect keyed"
    if effect is Effect.CHECKED and tool.check is None:
        yield "effect checked needs check=, a function that tells by operation id if it happened"
    if tool.check is None:
        return
    if effect is not Effect.CHECKED and not (effect is Effect.KEYED and forgets):
        yield "check is for effect checked, or for keyed with key_ttl_s once the key is forgotten"
    if not _takes_one(tool.check):
        yield "check must be a function of one value, the operation id"


def _isolation(tool: "AnyTool") -> Iterator[str]:
    if not tool.isolate:
        return
    if tool.is_async:
        yield "isolate is for a plain `def`; an `async def` is cancelled instead"
    if tool.effect is Effect.LOCAL:
        yield "isolate cannot be local: a child process has no part in our transaction"
    if tool.wants_ctx:
        yield "isolate cannot take ctx: a child process has no way back to the worker"
    if "<locals>" in tool.function.__qualname__:
        yield "isolate needs a function of a module, which a child process can import"


def decides(value: object) -> bool:
    """Whether this can be called for an answer at once, and not for a coroutine."""
    # The coroutine of an `async def` is true whatever it would say.
    return callable(value) and not inspect.iscoroutinefunction(value)


def _takes_one(check: Callable[..., Any]) -> bool:
    try:
        inspect.signature(getattr(check, "function", check)).bind("op")
    except (TypeError, ValueError):
        return False
    return True


def is_name(value: object) -> bool:
    """Whether this can name a tool or an agent."""
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def is_queue(value: object) -> bool:
    """Whether this can name a queue."""
    return isinstance(value, str) and QUEUE.fullmatch(value) is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_count(value: object) -> bool:
    """Whether this is a whole number from 1 on; True is none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1

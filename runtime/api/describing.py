"""What this process knows about its agents and their tools, as frozen rows; see ``runtime.api``."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runtime.core.effects import MEANINGS, Effect
from runtime.core.manifest import Manifest
from runtime.tools.agents import Agent, get_agent, registry
from runtime.tools.registry import AnyTool, needs_person


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDescription:
    """A tool as an agent uses it under its own manifest.

    Args:
        used: The manifest names it.
        asks: A call may have to wait for a person.
        approval: What the author declared: a rule, a function's name, or nothing.
        waiver: Why nobody is asked although the tool would ask.
        attempts: Calls in all, the first one included.
        timeout_s: Seconds after which the outcome of a call is unknown.
        has_check: It can tell by operation id whether a write happened.
        schema: JSON schema of the arguments; not to be changed.
    """

    name: str
    description: str
    effect: Effect
    is_write: bool
    touches: tuple[str, ...]
    used: bool
    asks: bool
    approval: str | None
    waiver: str | None
    requires: tuple[str, ...]
    when: str | None
    attempts: int
    timeout_s: float
    fallback: str | None
    compensate: str | None
    has_check: bool
    key_ttl_s: float | None
    repeatable: bool
    parallel: bool
    isolate: bool
    version: int
    definition_hash: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDescription:
    """An agent of this process.

    Args:
        manifest: Its defaults; a submitted manifest may only narrow them.
        input_schema: JSON schema of a task's input; None takes any object.
        defined_at: Module and line.
    """

    name: str
    role: str
    description: str
    queue: str
    version: int
    planner: str
    manifest: Manifest
    input_schema: Mapping[str, Any] | None
    defined_at: str
    tools: tuple[ToolDescription, ...]


def agents() -> list[str]:
    """Name the agents of this process, sorted."""
    return sorted(registry.agents)


def agent(name: str) -> AgentDescription:
    """Describe an agent.

    Raises:
        UnknownAgent: This process has none of this name.
    """
    found = get_agent(name)
    module, line = found.defined_at
    return AgentDescription(
        name=found.name,
        role=found.role,
        description=found.description,
        queue=found.queue,
        version=found.version,
        planner="script",
        manifest=found.manifest,
        input_schema=found.input.model_json_schema() if found.input else None,
        defined_at=f"{module}, line {line}",
        tools=tuple(_described(found, tool) for tool in found.tools.values()),
    )


def _described(agent: Agent, tool: AnyTool) -> ToolDescription:
    waiver = agent.manifest.waiver(tool.name)
    return ToolDescription(
        name=tool.name,
        description=tool.description,
        effect=tool.effect,
        is_write=MEANINGS[tool.effect].is_write,
        touches=tool.touches,
        used=tool.name in (agent.manifest.tools or ()),
        asks=needs_person(tool, waiver),
        approval=_named(tool.approval),
        waiver=waiver,
        requires=tool.requires,
        when=_named(tool.when),
        attempts=tool.attempts or agent.manifest.retry.attempts,
        timeout_s=tool.timeout_s,
        fallback=tool.fallback,
        compensate=tool.compensate,
        has_check=tool.check is not None,
        key_ttl_s=tool.key_ttl_s,
        repeatable=tool.repeatable,
        parallel=tool.parallel,
        isolate=tool.isolate,
        version=tool.version,
        definition_hash=tool.definition_hash,
        schema=tool.schema,
    )


def _named(value: str | Callable[..., object] | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return getattr(value, "__qualname__", type(value).__qualname__)

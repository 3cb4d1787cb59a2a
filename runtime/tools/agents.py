"""Agents: name, role, tools, planner and the defaults of a manifest, registered for the process.

Constructing an `Agent` checks that its parts fit together and registers it, so a wrong definition
stops the start and never a task. What a submitted manifest may change is `runtime.core.manifest`'s.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any, Final, NoReturn

from django.utils.module_loading import autodiscover_modules
from pydantic import BaseModel, ValidationError

from runtime.core import manifest as manifests
from runtime.core.errors import (
    AgentRefused,
    ApprovalNotPossible,
    InputRefused,
    ManifestRefused,
    UnknownAgent,
    UnknownTool,
)
from runtime.core.plans import Plan
from runtime.tools.checks import QUEUE_NAME, decides, is_count, is_name, is_queue
from runtime.tools.registry import AnyTool, Tool, needs_person
from runtime.tools.schema import problems_of

type Planner = Callable[[Any], Plan]


class Agent:
    """Who works on a task: a role with tools, and a planner that decides among them.

    Attributes:
        name: Unique in the process.
        role: What the agent is, in words; part of its manifest.
        tools: Its tools by name, in the order declared; read only.
        planner: A pure function from the planner's context to a `Plan`.
        manifest: The defaults, parsed; a submitted manifest may only narrow it.
        input: Model of a task's input; None takes any JSON object.
        version: Raised by the author when the planner decides differently.
        queue: Where its tasks wait for a worker.
        description: For people who choose an agent.
        defined_at: Module and line of its definition.
    """

    def __init__(  # noqa: PLR0913 - a declaration has as many parts as it has
        self,
        name: str,
        *,
        role: str,
        tools: Sequence[AnyTool],
        planner: Planner,
        manifest: Mapping[str, Any] | None = None,
        input: type[BaseModel] | None = None,  # noqa: A002 - the contract's name
        version: int = 1,
        queue: str = "default",
        description: str = "",
    ) -> None:
        """Check the definition and register it.

        Raises:
            AgentRefused: With the first thing that is wrong.
            ApprovalNotPossible: A tool would have to ask a person and the manifest has no waiver.
        """
        self.name: Final = name
        self.role: Final = role
        self.planner: Final = planner
        self.input: Final = input
        self.version: Final = version
        self.queue: Final = queue
        self.description: Final = description
        _check_parts(self)
        self.tools: Final = _by_name(name, tools)
        _check_references(self)
        self.manifest: Final = _parsed(self, manifest or {})
        check_approvals(self, self.manifest)
        self.defined_at: Final = _caller()
        registry.add(self)

    def __repr__(self) -> str:
        return f"Agent({self.name!r}, version={self.version})"

    @property
    def tool_hashes(self) -> dict[str, str]:
        """Definition hash of each tool the manifest names, to be pinned with a task."""
        return {name: self.tools[name].definition_hash for name in self.manifest.tools or ()}

    def tool(self, name: str) -> AnyTool:
        """Give the tool of this name.

        Raises:
            UnknownTool: The agent has none.
        """
        try:
            return self.tools[name]
        except KeyError:
            raise UnknownTool(name, self.name, self.tools) from None

    def check_input(self, data: object) -> dict[str, Any]:
        """Return a task's input as it is stored: validated, plain JSON values, defaults applied.

        Raises:
            InputRefused: With one line per problem, none of which repeats a value.
        """
        if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
            raise InputRefused(self.name, ["the input must be a JSON object"])
        if self.input is None:
            return dict(data)
        try:
            stored: dict[str, Any] = self.input.model_validate(data).model_dump(
                mode="json", by_alias=True
            )
        except ValidationError as error:
            raise InputRefused(self.name, problems_of(error)) from None
        except Exception as error:
            # A validator of the author's, or a value without a JSON form: the input's fault here.
            problem = f"a value cannot be read ({type(error).__name__})"
            raise InputRefused(self.name, [problem]) from error
        return stored


class AgentRegistry:
    """The agents of this process by name."""

    def __init__(self) -> None:
        self.agents: dict[str, Agent] = {}

    def add(self, agent: Agent) -> None:
        """Register an agent; the same definition imported again takes the place of its first self.

        Raises:
            AgentRefused: Another definition has the name.
        """
        known = self.agents.get(agent.name)
        if known is not None and known.defined_at != agent.defined_at:
            module, line = known.defined_at
            _refuse(agent.name, f"the name is taken by the agent at {module}, line {line}")
        self.agents[agent.name] = agent

    def get(self, name: str) -> Agent:
        """Give the agent of this name.

        Raises:
            UnknownAgent: There is none.
        """
        try:
            return self.agents[name]
        except KeyError:
            raise UnknownAgent(name, self.agents) from None

    @contextmanager
    def separate(self, *agents: Agent) -> Iterator[None]:
        """Let only these agents, and those defined inside the block, exist; for tests."""
        kept = self.agents
        self.agents = {agent.name: agent for agent in agents}
        try:
            yield
        finally:
            self.agents = kept


registry: Final = AgentRegistry()


def get_agent(name: str) -> Agent:
    """Give the registered agent of this name.

    Raises:
        UnknownAgent: There is none.
    """
    return registry.get(name)


def discover() -> None:
    """Import `agents.py` of every installed Django application.

    Raises:
        AgentRefused: One of them defines an agent that cannot be used.
        ToolRefused: Or a tool.
    """
    autodiscover_modules("agents")


def _check_parts(agent: Agent) -> None:
    name, planner = agent.name, agent.planner
    if not is_name(name):
        _refuse(str(name), "its name must be 1 to 64 letters, digits, '_' or '-'")
    if not isinstance(agent.role, str):
        _refuse(name, f"role must be a text, not {type(agent.role).__name__}")
    if isinstance(planner, str):
        _refuse(name, f"planner {planner!r} is not available in this version")
    if not decides(planner):
        _refuse(name, "planner must be a plain `def plan(context)`")
    if not is_queue(agent.queue):
        _refuse(name, f"the name of its queue must be {QUEUE_NAME}")
    if not is_count(agent.version):
        _refuse(name, f"version must be a whole number from 1 on, not {agent.version!r}")
    if agent.input is not None and not _is_model(agent.input):
        _refuse(name, "input must be a pydantic model class")


def _is_model(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseModel)


def _by_name(agent: str, tools: Sequence[AnyTool]) -> Mapping[str, AnyTool]:
    found: dict[str, AnyTool] = {}
    for tool in tools:
        if not isinstance(tool, Tool):
            shown = getattr(tool, "__name__", type(tool).__name__)
            _refuse(agent, f"{shown} is not a tool; decorate it with @tool(effect=…)")
        if tool.name in found:
            _refuse(agent, f"two of its tools are named '{tool.name}'")
        found[tool.name] = tool
    return MappingProxyType(found)


def _check_references(agent: Agent) -> None:
    for tool in agent.tools.values():
        named = {
            "requires": tool.requires,
            "fallback": (tool.fallback,),
            "compensate": (tool.compensate,),
        }
        for option, others in named.items():
            for other in others:
                if other is not None and other not in agent.tools:
                    _refuse(agent.name, f"{option} of '{tool.name}' names '{other}', no tool of it")
        _check_fallbacks_end(agent, tool)


def _check_fallbacks_end(agent: Agent, tool: AnyTool) -> None:
    seen = [tool.name]
    following = tool.fallback
    while following is not None and following in agent.tools:
        if following in seen:
            _refuse(agent.name, f"the fallbacks of '{tool.name}' lead in a circle")
        seen.append(following)
        following = agent.tools[following].fallback


def _parsed(agent: Agent, manifest: Mapping[str, Any]) -> manifests.Manifest:
    # Named outright, so that a submitted manifest can never name a tool the agent does not have.
    defaults = {"role": agent.role, "tools": list(agent.tools)}
    try:
        parsed = manifests.parse(defaults | dict(manifest))
    except ManifestRefused as refused:
        raise AgentRefused(agent.name, "; ".join(refused.problems)) from refused
    for name in parsed.tools or ():
        if name not in agent.tools:
            _refuse(agent.name, f"its manifest names '{name}', no tool of it")
    return parsed


def check_approvals(agent: Agent, manifest: manifests.Manifest) -> None:
    """Refuse a manifest under which a tool would have to ask a person.

    Raises:
        ApprovalNotPossible: With the first such tool.
    """
    for name in manifest.tools or ():
        tool = agent.tools[name]
        if needs_person(tool, manifest.waiver(name)):
            touched = ", ".join(tool.touches)
            why = "its approval= says so" if tool.approval else f"it touches {touched}"
            raise ApprovalNotPossible(agent.name, name, why)


def _caller() -> tuple[str, int]:
    frame = sys._getframe(2)  # noqa: SLF001 - where `Agent(...)` is written
    return frame.f_globals.get("__name__", "?"), frame.f_lineno


def _refuse(agent: str, why: str) -> NoReturn:
    raise AgentRefused(agent, why)

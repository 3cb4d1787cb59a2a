"""The manifest: what a task may do and how far, as its agent declares and a submission narrows it.

It is parsed once, refused with every problem at once, and pinned with the task; a name whose
feature does not exist yet is refused by name, so that nobody relies on a limit that nothing keeps.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from runtime.core.error_text import bounded
from runtime.core.errors import ManifestRefused, ManifestWidens
from runtime.core.keys import arguments_digest
from runtime.core.payloads import encode
from runtime.core.retry import RetryPolicy

_YEAR_S: Final = 366 * 86_400
_NOT_AVAILABLE: Final = ("loop", "acceptance", "memory", "min_confidence")
_PEOPLE: Final = "with a rule that asks a person "
_NEVER_BRANCH: Final = "literal['never']"


def _text_only(value: object) -> object:
    """Refuse floats and booleans where money stands: 0.1 is not a tenth."""
    if isinstance(value, str | Decimal) or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    message = 'write money as a text, like "1.00"'
    raise ValueError(message)


type Name = Annotated[
    str, Field(strict=True, min_length=1, max_length=64, pattern=r"^[A-Za-z0-9_-]+$")
]
type Prose = Annotated[str, Field(strict=True, max_length=4000)]
type Label = Annotated[str, Field(strict=True, min_length=1, max_length=200)]
type Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000_000)]
type Money = Annotated[
    Decimal, BeforeValidator(_text_only), Field(ge=0, max_digits=18, decimal_places=6)
]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Limits(_Strict):
    """How far a task may go; None is no limit."""

    steps: Count = 10_000
    tokens: Count | None = None
    money_usd: Money | None = None
    writes: Annotated[int, Field(strict=True, ge=0, le=1_000_000_000)] = 100
    deadline_s: Annotated[float, Field(strict=True, gt=0, le=_YEAR_S, allow_inf_nan=False)] = (
        7 * 86_400
    )


class Waiver(_Strict):
    """Why a tool that would ask a person need not ask; shown wherever the call is shown."""

    waived: Annotated[str, Field(strict=True, min_length=1, max_length=1000)]


class PlannerChoice(_Strict):
    """Who decides the next step."""

    kind: Literal["script"] = "script"


class Manifest(_Strict):
    """A parsed manifest. `tools` None is every tool of the agent."""

    goal: Prose = ""
    role: Prose = ""
    tools: Annotated[tuple[Name, ...], Field(max_length=200)] | None = None
    limits: Limits = Limits()
    approval: dict[Name, Waiver | Literal["never"]] = {}
    retry: RetryPolicy = RetryPolicy()
    on_failure: Literal["fail"] = "fail"
    planner: PlannerChoice = PlannerChoice()
    labels: Annotated[dict[Label, Label], Field(max_length=50)] = {}

    def waiver(self, tool: str) -> str | None:
        """Give the reason for which a tool need not ask a person, or None."""
        entry = self.approval.get(tool)
        return entry.waived if isinstance(entry, Waiver) else None


def parse(data: object) -> Manifest:
    """Give the manifest a JSON object describes.

    Raises:
        ManifestRefused: with every problem found.

    """
    if not isinstance(data, Mapping):
        raise ManifestRefused(["a manifest is a JSON object"])
    problems, rest = _without_unavailable(data)
    try:
        manifest = Manifest.model_validate(rest)
    except ValidationError as refused:
        raise ManifestRefused([*problems, *_sentences(refused)]) from None
    problems += _contradictions(manifest)
    if problems:
        raise ManifestRefused(problems)
    return manifest


def narrow(base: Manifest, submitted: Mapping[str, Any]) -> Manifest:
    """Give the agent's manifest narrowed by the one submitted with a task.

    Goal and labels may be replaced; tools may be left out, limits and attempts lowered; the pauses
    between attempts may be chosen within their bounds. Waivers may be repeated, never added.

    Raises:
        ManifestRefused: the submitted one is wrong in itself.
        ManifestWidens: it asks for more than the agent allows.

    """
    asked = parse(submitted)
    given = asked.model_fields_set
    _only_if_equal("role", asked.role, base.role, given)
    _only_if_equal("planner", asked.planner.kind, base.planner.kind, given)
    _no_new_waivers(base, asked)
    tools = _narrowed_tools(base, asked)
    kept = {name: entry for name, entry in base.approval.items() if tools is None or name in tools}
    replaced: dict[str, Any] = {
        name: getattr(asked, name) for name in ("goal", "labels") if name in given
    }
    return base.model_copy(
        update={
            **replaced,
            "tools": tools,
            "limits": _narrowed_limits(base.limits, asked.limits),
            "approval": kept,
            "retry": _narrowed_retry(base.retry, asked.retry),
        }
    )


def pinned(
    manifest: Manifest, tool_hashes: Mapping[str, str], planner: str, agent_version: int | str
) -> dict[str, Any]:
    """Give the document stored with a task: plain JSON, the same for the same definitions.

    Args:
        manifest: As narrowed.
        tool_hashes: Definition hash of each tool the task may use.
        planner: Name and version of what decides.
        agent_version: The agent's declared version.

    """
    document = manifest.model_dump(mode="json")
    document["tools"] = sorted(tool_hashes) if manifest.tools is None else list(manifest.tools)
    return {
        "format": 1,
        "manifest": document,
        "tool_hashes": dict(sorted(tool_hashes.items())),
        "planner": planner,
        "agent_version": str(agent_version),
    }


def from_pinned(document: Mapping[str, Any]) -> Manifest:
    """Read the manifest back from a stored document; raises ManifestRefused when it is none."""
    return parse(document.get("manifest"))


def pinned_digest(key: bytes, document: Mapping[str, Any]) -> str:
    """Give the digest of a pinned document, keyed because goals hold personal content."""
    return arguments_digest(key, encode(dict(document)).text)


# --- reading ------------------------------------------------------------------------------------


def _without_unavailable(data: Mapping[Any, Any]) -> tuple[list[str], dict[Any, Any]]:
    """Part the fields whose feature does not exist yet, as one sentence each, from the rest."""
    rest = dict(data)
    problems = [_unavailable(name) for name in _NOT_AVAILABLE if rest.pop(name, None) is not None]
    planner, approval = rest.get("planner"), rest.get("approval")
    if isinstance(planner, Mapping) and planner.get("kind") not in (None, "script"):
        problems.append(_unavailable("planner", f"with kind {_short(planner['kind'])} "))
        del rest["planner"]
    if rest.get("on_failure") == "compensate":
        problems.append(_unavailable("on_failure", "with 'compensate' "))
        del rest["on_failure"]
    if isinstance(approval, Mapping):
        asking = [name for name, entry in approval.items() if _asks_a_person(entry)]
        problems += [_unavailable(f"approval.{_name(name)}", _PEOPLE) for name in asking]
        rest["approval"] = {name: entry for name, entry in approval.items() if name not in asking}
    return problems, rest


def _asks_a_person(entry: object) -> bool:
    """Tell whether an approval entry is a rule that needs people, and not a mere mistake."""
    if isinstance(entry, str):
        return entry != "never"
    return isinstance(entry, Mapping) and bool(entry) and "waived" not in entry


def _unavailable(field: str, detail: str = "") -> str:
    return f"manifest field '{field}' {detail}is not available in this version"


def _contradictions(manifest: Manifest) -> list[str]:
    if manifest.tools is None:
        return []
    problems = [
        f"approval names {name}, which is not among the tools"
        for name in manifest.approval
        if name not in manifest.tools
    ]
    twice = sorted({name for name in manifest.tools if manifest.tools.count(name) > 1})
    return problems + [f"tools names {name} more than once" for name in twice]


def _sentences(refused: ValidationError) -> list[str]:
    """Give one sentence per problem; an approval entry is tried as two things and reported once."""
    errors = [error for error in refused.errors() if error["loc"][-1:] != (_NEVER_BRANCH,)]
    return [f"{_where(error['loc'])}: {bounded(error['msg'], 200)}" for error in errors]


def _where(place: tuple[int | str, ...]) -> str:
    return ".".join(_name(part) for part in place if part != "Waiver")


def _name(part: object) -> str:
    return bounded(str(part), 80)


def _short(value: object) -> str:
    return f"'{bounded(value, 40)}'" if isinstance(value, str) else "of another type"


# --- narrowing ----------------------------------------------------------------------------------


def _only_if_equal(field: str, asked: str, allowed: str, given: set[str]) -> None:
    if field in given and asked != allowed:
        raise ManifestWidens(field, f"'{asked}'", f"'{allowed}'")


def _no_new_waivers(base: Manifest, asked: Manifest) -> None:
    for tool in asked.approval:
        if tool not in base.approval:
            raise ManifestWidens(f"approval.{tool}", "a waiver", "none")


def _narrowed_tools(base: Manifest, asked: Manifest) -> tuple[str, ...] | None:
    if asked.tools is None:
        return base.tools
    extra = [name for name in asked.tools if base.tools is not None and name not in base.tools]
    if extra:
        raise ManifestWidens("tools", ", ".join(extra), ", ".join(base.tools or ()))
    return asked.tools


def _narrowed_limits(base: Limits, asked: Limits) -> Limits:
    chosen = {name: getattr(asked, name) for name in asked.model_fields_set}
    for name, value in chosen.items():
        allowed = getattr(base, name)
        if allowed is not None and (value is None or value > allowed):
            raise ManifestWidens(
                f"limits.{name}", "no limit" if value is None else str(value), str(allowed)
            )
    return base.model_copy(update=chosen)


def _narrowed_retry(base: RetryPolicy, asked: RetryPolicy) -> RetryPolicy:
    chosen = {name: getattr(asked, name) for name in asked.model_fields_set}
    if chosen.get("attempts", 0) > base.attempts:
        raise ManifestWidens("retry.attempts", str(asked.attempts), str(base.attempts))
    return base.model_copy(update=chosen)

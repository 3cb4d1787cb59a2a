"""A new task: a form made from what the agent takes, or JSON for those who know it.

Everything is checked by the server and said at its field, with what was typed kept. The form has a
key of its own: sent twice, it makes one task.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from console import steering
from console.access import Permission, needs
from console.pages import schema_forms
from console.pages.notes import leave
from console.pages.problem_words import problem
from console.pages.schema_forms import Field
from console.pages.spoken import refusal
from console.pages.workers import unserved
from console.steering import Wanted
from runtime import api
from runtime.api import AgentDescription, SignalboxError
from runtime.core.errors import (
    ApprovalNotPossible,
    InputRefused,
    KeyReused,
    ManifestRefused,
    ManifestWidens,
    UnknownTool,
)
from runtime.core.manifest import parse as parse_manifest

LONGEST_TITLE: Final = 200
LONGEST_KEY: Final = 200
PRIORITIES: Final = range(-1000, 1001)
PREFIX: Final = "f."
_MANIFEST: Final = (ManifestRefused, ManifestWidens, UnknownTool, ApprovalNotPossible)
_OTHER: Final = ("title", "labels", "priority", "not_before", "manifest")


@dataclass(slots=True)
class Draft:
    """What a page holds while somebody fills it in.

    Args:
        mode: ``form`` or ``json``.
        typed: Text by name of field of the input.
        text: The input as JSON.
        other: Text of the fields every task has.
        errors: What is wrong, by name of field; ``input`` and those of `other` among them.
        problems: What is wrong with none of them alone.
    """

    mode: str = "form"
    typed: dict[str, str] = field(default_factory=dict)
    text: str = ""
    other: dict[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    earlier: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether anything is."""
        return bool(self.errors or self.problems)


@needs(Permission.SUBMIT_TASKS)
@require_http_methods(["GET", "HEAD", "POST"])
def new_task(request: HttpRequest) -> HttpResponse:
    """Show the form of an agent, or the choice of one; submit what comes."""
    sent = request.POST if request.method == "POST" else request.GET
    names = api.agents()
    name = sent.get("agent", names[0] if len(names) == 1 else "")
    if name not in names:
        status = 404 if name else 200
        context = {"agents": [api.agent(one) for one in names], "unknown": name}
        return render(request, "new/choose.html", context, status=status)
    agent = api.agent(name)
    form = schema_forms.fields(agent.input_schema)
    if request.method != "POST":
        return _page(request, agent, form, _fresh(form))
    draft = _draft(request.POST, form)
    if (into := request.POST.get("into")) in {"json", "form"}:
        return _page(request, agent, form, _turned(form, draft, into))
    return _submit(request, agent, form, draft)


def _fresh(form: tuple[Field, ...]) -> Draft:
    mode = "form" if form else "json"
    return Draft(mode=mode, typed=schema_forms.initial(form), text="{}")


def _draft(sent: QueryDict, form: tuple[Field, ...]) -> Draft:
    typed = {name.removeprefix(PREFIX): str(sent[name]) for name in sent if name.startswith(PREFIX)}
    return Draft(
        mode="form" if sent.get("mode") == "form" and form else "json",
        typed=typed,
        text=sent.get("input", ""),
        other={name: sent.get(name, "") for name in _OTHER},
    )


def _turned(form: tuple[Field, ...], draft: Draft, into: str) -> Draft:
    """Turn a form into JSON, or JSON into a form; nothing is submitted."""
    if into == draft.mode:
        return draft
    if into == "json":
        read = schema_forms.read(form, draft.typed)
        # Fields that are still empty are no mistake yet; those that cannot be read would be lost.
        draft.errors = {name: said for name, said in read.errors.items() if draft.typed.get(name)}
        if not draft.errors:
            draft.mode, draft.text = "json", json.dumps(read.value, ensure_ascii=False, indent=2)
        return draft
    try:
        value = _object(draft.text)
        draft.typed = schema_forms.fill(form, value)
        draft.mode = "form"
    except ValueError as wrong:
        draft.errors["input"] = str(wrong)
    return draft


def _object(text: str) -> dict[str, Any]:
    value = schema_forms.parse(text)
    if not isinstance(value, dict):
        said = _('The input is a JSON object, like {"order_id": "A1"}.')
        raise ValueError(said)  # noqa: TRY004 (what a person typed, not what we passed)
    return value


def _submit(
    request: HttpRequest, agent: AgentDescription, form: tuple[Field, ...], draft: Draft
) -> HttpResponse:
    wanted = _wanted(request.POST, agent, form, draft)
    if wanted is None:
        return _page(request, agent, form, draft)
    outcome, task_id = steering.submit(request, wanted)
    if task_id is not None:
        return leave(request, outcome.said, "task", task_id=task_id)
    _blame(form, draft, outcome.error, outcome.said)
    if isinstance(outcome.error, KeyReused):
        earlier = api.tasks(q=wanted.key, limit=1).rows
        draft.earlier = str(earlier[0].id) if earlier else ""
    # What is wrong with the request is 422 here, whatever it is called elsewhere.
    status = outcome.status if outcome.status in {403, 409} else 422
    return _page(request, agent, form, draft, status)


def _wanted(
    sent: QueryDict, agent: AgentDescription, form: tuple[Field, ...], draft: Draft
) -> Wanted | None:
    """Read a request for a task; None when something of it cannot be read."""
    wanted = Wanted(
        agent=agent.name,
        input=_input(form, draft),
        key=sent.get("key", "")[:LONGEST_KEY] or _key(),
        manifest=_manifest(draft),
        title=draft.other["title"].strip()[:LONGEST_TITLE],
        labels=_labels(draft),
        priority=_priority(draft),
        not_before=_not_before(draft),
    )
    if not draft.is_wrong:
        return wanted
    _check_input(form, draft, wanted)
    _check_manifest(form, draft, wanted)
    return None


def _check_input(form: tuple[Field, ...], draft: Draft, wanted: Wanted) -> None:
    """Say what is wrong with the input as well: nobody likes to hear of one mistake at a time."""
    if "input" in draft.errors:
        return
    try:
        api.get_agent(wanted.agent).check_input(wanted.input)
    except InputRefused as refused:
        _blame(form, draft, refused, "")


def _check_manifest(form: tuple[Field, ...], draft: Draft, wanted: Wanted) -> None:
    """Say what is wrong with the manifest as well, as far as that can be seen without its agent."""
    if wanted.manifest is None or "manifest" in draft.errors:
        return
    try:
        parse_manifest(wanted.manifest)
    except ManifestRefused as refused:
        _blame(form, draft, refused, refusal(refused))


def _input(form: tuple[Field, ...], draft: Draft) -> dict[str, Any]:
    if draft.mode == "form":
        read = schema_forms.read(form, draft.typed)
        draft.errors |= read.errors
        return read.value
    try:
        return _object(draft.text)
    except ValueError as wrong:
        draft.errors["input"] = str(wrong)
        return {}


def _manifest(draft: Draft) -> Mapping[str, Any] | None:
    text = draft.other["manifest"]
    if not text.strip():
        return None
    try:
        value = schema_forms.parse(text)
        if isinstance(value, dict):
            return value
        draft.errors["manifest"] = _("A manifest is a JSON object.")
    except ValueError as wrong:
        draft.errors["manifest"] = str(wrong)
    return None


def _labels(draft: Draft) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, line in enumerate(draft.other["labels"].splitlines(), 1):
        name, equals, value = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        if not (name and equals and value):
            said = _("Line %(line)s: write a label as name=value.")
            draft.errors.setdefault("labels", said % {"line": number})
        found[name] = value
    return found


def _priority(draft: Draft) -> int:
    text = draft.other["priority"].strip() or "0"
    sign, digits = text[:1] == "-", text.lstrip("+-")
    is_short = digits.isascii() and digits.isdigit() and len(digits) <= 4  # noqa: PLR2004
    value = int(digits) * (-1 if sign else 1) if is_short else PRIORITIES.stop
    if value not in PRIORITIES:
        draft.errors["priority"] = _("Give a whole number from -1000 to 1000; lower goes first.")
        return 0
    return value


def _not_before(draft: Draft) -> datetime | None:
    text = draft.other["not_before"].strip()
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text)
        return found if timezone.is_aware(found) else timezone.make_aware(found)
    except (ValueError, OverflowError):
        draft.errors["not_before"] = _("Give a date and a time, like 2026-12-01 09:30.")
        return None


def _blame(form: tuple[Field, ...], draft: Draft, error: SignalboxError | None, said: str) -> None:
    """Say what the runtime refused where it was typed."""
    if isinstance(error, InputRefused):
        at_fields, rest = schema_forms.place(form, error.problems)
        if draft.mode == "form":
            # What could not be read is missing as well; the first that was said is the reason.
            draft.errors = at_fields | draft.errors
            draft.problems += rest
        else:
            draft.errors["input"] = "\n".join(map(problem, error.problems))
    elif isinstance(error, _MANIFEST):
        draft.errors["manifest"] = said
    else:
        draft.problems.append(said)


@dataclass(frozen=True, slots=True)
class Shown:
    """A field with what stands in it, for the template."""

    field: Field
    text: str
    error: str
    inner: tuple["Shown", ...] = ()


def _shown(form: tuple[Field, ...], draft: Draft) -> tuple[Shown, ...]:
    return tuple(
        Shown(
            one,
            draft.typed.get(one.name, ""),
            draft.errors.get(one.name, ""),
            _shown(one.inner, draft),
        )
        for one in form
    )


def _page(
    request: HttpRequest,
    agent: AgentDescription,
    form: tuple[Field, ...],
    draft: Draft,
    status: int = 0,
) -> HttpResponse:
    used = [tool for tool in agent.tools if tool.used]
    context = {
        "agent": agent,
        "agents": api.agents(),
        "draft": draft,
        "fields": _shown(form, draft),
        "has_form": bool(form),
        "wrong": _wrong(form, draft),
        # A form that was refused for its key gets a new one: sending it again makes a task.
        "key": _key() if draft.earlier else request.POST.get("key") or _key(),
        "tools": used,
        "asking": [tool for tool in used if tool.asks],
        "waived": [tool for tool in used if tool.waiver],
        "unserved": unserved(agent.queue, agent.name),
    }
    wrong = 422 if draft.is_wrong else 200
    return render(request, "new/new.html", context, status=status or wrong)


def _wrong(form: tuple[Field, ...], draft: Draft) -> list[tuple[str, str, str]]:
    """List what is wrong with the id of its field, for the summary at the top."""
    ids = {one.name: (one.id, one.label) for one in _flat(form)}
    named = {
        "input": ("input", _("Input")),
        "title": ("title", _("Title")),
        "labels": ("labels", _("Labels")),
        "priority": ("priority", _("Priority")),
        "not_before": ("not_before", _("Not before")),
        "manifest": ("manifest", _("Manifest")),
    }
    if draft.mode == "form":
        named |= ids
    return [(*named.get(name, ("", name)), said) for name, said in draft.errors.items()]


def _flat(form: tuple[Field, ...]) -> list[Field]:
    return [inner for one in form for inner in (one, *_flat(one.inner))]


def _key() -> str:
    return f"console:{uuid4()}"

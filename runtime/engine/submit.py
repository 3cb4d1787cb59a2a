"""From a request to a task: everything is checked before the first row is written.

``runtime.api`` is its only caller; it knows nothing of transactions and doorbells.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from runtime.core.errors import BadIdentifier, ManifestRefused, clean_text
from runtime.core.keys import canonical, digest
from runtime.core.machine import create
from runtime.core.manifest import Manifest, narrow, parse, pinned, pinned_digest
from runtime.core.payloads import encode, summarise
from runtime.engine.ports import Ports
from runtime.store.tasks import NewTask, digest_key
from runtime.tools.agents import Agent, check_approvals, get_agent

NAME: Final = re.compile(r"[A-Za-z0-9_.:-]{1,100}")
LONGEST_KEY: Final = 200
LONGEST_TITLE: Final = 200
LONGEST_LABEL: Final = 200
MOST_LABELS: Final = 50
PRIORITIES: Final = range(-1000, 1001)
_SEARCHED: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request for a task as it came in.

    Args:
        agent: Name of the agent.
        input: What it is asked.
        manifest: Narrows the agent's; None takes that one as it is.
        key: The sender's idempotency key.
        namespace: The space the task lives in.
        title: For people.
        labels: For people and searches.
        priority: Lower numbers go first; 0 is usual.
        not_before: The earliest start.
        created_by: Who asks.
        callback_url: Whom to tell of its end.
    """

    agent: str
    input: object
    manifest: Mapping[str, Any] | Manifest | None
    key: str | None
    namespace: str
    title: str
    labels: Mapping[str, str]
    priority: int
    not_before: datetime | None
    created_by: str
    callback_url: str | None = None


def check_form(request: Request) -> None:
    """Refuse what no table could hold, before anything is looked up.

    Raises:
        BadIdentifier: Namespace, key, priority, labels or instant are not usable.
    """
    check_namespace(request.namespace)
    if request.key is not None and not _is_text(request.key, LONGEST_KEY):
        raise BadIdentifier(request.key, f"key (1 to {LONGEST_KEY} characters)")
    if type(request.priority) is not int or request.priority not in PRIORITIES:
        raise BadIdentifier(request.priority, "priority (a whole number from -1000 to 1000)")
    if len(request.labels) > MOST_LABELS:
        raise BadIdentifier(len(request.labels), f"number of labels (at most {MOST_LABELS})")
    for part in (*request.labels, *request.labels.values()):
        if not _is_text(part, LONGEST_LABEL):
            raise BadIdentifier(part, f"label (1 to {LONGEST_LABEL} characters)")
    if request.not_before is not None and request.not_before.tzinfo is None:
        raise BadIdentifier(request.not_before, "instant (it needs a time zone)")


def check_namespace(namespace: str) -> None:
    """Refuse a name that is no namespace's.

    Raises:
        BadIdentifier: It is not one.
    """
    if NAME.fullmatch(namespace) is None:
        raise BadIdentifier(namespace, "namespace (letters, digits, '_', '.', ':' and '-')")


def _is_text(value: object, longest: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= longest and clean_text(value) == value


def request_digest(request: Request) -> str:
    """Digest what makes two requests the same: all of it as it came, nothing that we add.

    A deploy between two sendings of one request must not make them two.
    """
    manifest = request.manifest
    if isinstance(manifest, Manifest):
        manifest = manifest.model_dump(mode="json", exclude_unset=True)
    not_before = request.not_before
    whole: dict[str, object] = {
        "agent": request.agent,
        "input": request.input,
        "manifest": manifest,
        "title": request.title,
        "labels": dict(request.labels),
        "priority": request.priority,
        "not_before": not_before.astimezone(UTC).isoformat() if not_before else None,
    }
    if request.callback_url is not None:
        whole["callback_url"] = request.callback_url
    return digest(digest_key(request.namespace), "request", canonical(encode(whole).text))


def narrowed(agent: Agent, submitted: Mapping[str, Any] | Manifest | None) -> Manifest:
    """Give the manifest under which an agent's task runs.

    Raises:
        ManifestRefused: The submitted one is wrong, or leaves out a tool that another one needs.
        ManifestWidens: It asks for more than the agent allows.
        UnknownTool: It names a tool the agent does not have.
        ApprovalNotPossible: A tool would have to ask a person.
    """
    manifest = agent.manifest
    if submitted is not None:
        if isinstance(submitted, Manifest):
            submitted = submitted.model_dump(mode="json", exclude_unset=True)
        asked = parse(submitted)
        for name in (*(asked.tools or ()), *asked.approval):
            agent.tool(name)
        manifest = narrow(agent.manifest, submitted)
        _check_complete(agent, manifest)
    check_approvals(agent, manifest)
    return manifest


def _check_complete(agent: Agent, manifest: Manifest) -> None:
    """A tool whose precondition or fallback is left out could only ever get stuck."""
    names = manifest.tools or ()
    problems = [
        f"tools leaves out '{needed}', which '{name}' {why}"
        for name in names
        for needed, why in _needs(agent, name)
        if needed not in names
    ]
    if problems:
        raise ManifestRefused(problems)


def _needs(agent: Agent, name: str) -> list[tuple[str, str]]:
    tool = agent.tools[name]
    needs = [(needed, "requires") for needed in tool.requires]
    return needs + ([(tool.fallback, "falls back to")] if tool.fallback else [])


def pin(agent: Agent, manifest: Manifest) -> dict[str, Any]:
    """Give the document that is stored with a task: the manifest and what it was made for."""
    hashes = {name: agent.tools[name].definition_hash for name in manifest.tools or ()}
    return pinned(manifest, hashes, "script", agent.version)


def prepare(request: Request, ports: Ports, mark: str) -> NewTask:
    """Make everything that is written for a request.

    Must hold: the ports' clock has just heard the database.

    Args:
        request: Of good form.
        ports: Clock and chance.
        mark: The request's digest.

    Raises:
        UnknownAgent: Nobody has this name.
        InputRefused: The input does not fit the agent.
        ManifestRefused: And the other refusals of ``narrowed``.
    """
    agent = get_agent(request.agent)
    given = encode(agent.check_input(request.input)).text
    manifest = narrowed(agent, request.manifest)
    document = pin(agent, manifest)
    key = ports.books.digest_key(request.namespace)
    manifest_mark = pinned_digest(key, document)
    now = ports.clock.now()
    # A task that starts later has its whole time from then on.
    wait_s = max((request.not_before - now).total_seconds(), 0.0) if request.not_before else 0.0
    actor = clean_text(request.created_by)
    facts = {
        "agent": agent.name,
        "agent_version": str(agent.version),
        "input_digest": digest(key, "input", given),
        "manifest_digest": manifest_mark,
    }
    title = clean_text(request.title)[:LONGEST_TITLE]
    labels = {**manifest.labels, **request.labels}
    return NewTask(
        id=ports.chance.uuid7(now),
        namespace=request.namespace,
        agent=agent.name,
        queue=agent.queue,
        priority=request.priority,
        title=title,
        labels=labels,
        input_text=given,
        manifest_digest=manifest_mark,
        manifest_text=encode(document).text,
        key=request.key,
        request_digest=mark,
        created_by=actor,
        search_text=_search_text(request, title, labels),
        decision=create(now, actor, manifest.limits.deadline_s + wait_s, facts),
        not_before=request.not_before,
    )


def _search_text(request: Request, title: str, labels: Mapping[str, str]) -> str:
    words = [request.key or "", title, *labels.values(), summarise(request.input, 300)]
    return clean_text(" ".join(word for word in words if word))[:_SEARCHED]


def as_uuid(text: object, kind: str = "id") -> UUID:
    """Read an id.

    Raises:
        BadIdentifier: It is none.
    """
    if isinstance(text, UUID):
        return text
    try:
        return UUID(str(text)) if isinstance(text, str) else _no_id(text, kind)
    except ValueError:
        raise BadIdentifier(text, kind) from None


def _no_id(text: object, kind: str) -> UUID:
    raise BadIdentifier(text, kind)

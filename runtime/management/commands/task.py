"""``manage.py task …``: submit tasks, look at them, and move their levers."""

import threading
import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from runtime import api
from runtime.management import base
from runtime.management.base import CHANNEL, SignalboxCommand

_LONGEST_LOOK_S = 0.5
_PAGE = 1000
_LONGEST_FACTS = 160
_FOR_MACHINES = {"call_id", "to", "incarnation", "since", "back_to", "allowed"}


class Command(SignalboxCommand):
    """Everything about single tasks."""

    help = "Submit tasks, look at them, and move their levers."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the commands of the group."""
        group = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        self._add_submit(group)
        listing = self.leaf(group, "list", self.list, "List tasks, newest first.")
        listing.add_argument("--state", help="only those in this state")
        listing.add_argument("--agent", help="only those of this agent")
        listing.add_argument("--search", metavar="WORDS", help="id, key or words")
        listing.add_argument("--limit", default="50", metavar="N", help="at most so many")
        listing.add_argument("--cursor", help="where the page before ended")
        self._look(group, "show", self.show_one, "Show one task.")
        events = self._look(group, "events", self.events, "Show what happened to a task.")
        events.add_argument("--after", default="0", metavar="SEQ", help="only later events")
        self._look(group, "why", self.why, "Say why a task is not moving.")
        self._look(
            group,
            "effects",
            self.effects,
            "Show what happened outside: confirmed, retried, given up, in doubt.",
        )
        levers: tuple[tuple[str, Callable[..., api.TaskView], str], ...] = (
            ("pause", api.pause, "Hold a task where it stands."),
            ("resume", api.resume, "Let a paused task go on."),
            ("cancel", api.cancel, "End a task without reaching its goal."),
            ("retry", api.retry, "End a back-off, or retry what waits for a person."),
        )
        for name, lever, text in levers:
            self._lever(group, name, lever, text)

    def _add_submit(self, group: Any) -> None:
        parser = self.leaf(group, "submit", self.submit, "Submit a task.")
        parser.add_argument("agent", metavar="AGENT", help="the agent's name")
        parser.add_argument(
            "--input", required=True, metavar="JSON", help="a JSON object, @FILE, or - for stdin"
        )
        parser.add_argument("--manifest", metavar="FILE", help="narrows the agent's manifest")
        parser.add_argument("--key", help="sending it twice with one key makes one task")
        parser.add_argument("--title", default="", help="for people")
        parser.add_argument("--priority", default="0", help="lower numbers go first")
        parser.add_argument(
            "--wait", metavar="S", help="wait so many seconds for its end; exit 1 if it fails"
        )

    def _look(self, group: Any, name: str, work: base.Work, help_text: str) -> CommandParser:
        parser = self.leaf(group, name, work, help_text)
        parser.add_argument("id", metavar="ID", help="the task's id")
        return parser

    def _lever(
        self, group: Any, name: str, lever: Callable[..., api.TaskView], help_text: str
    ) -> None:
        parser = self._look(group, name, lambda options: self.pull(lever, options), help_text)
        parser.add_argument("--reason", required=True, help="why, for people")
        if name in {"resume", "retry"}:
            parser.add_argument(
                "--situation", metavar="N", help="what you saw; refused if it has moved"
            )

    # --- submit ----------------------------------------------------------------------------------

    def submit(self, options: dict[str, Any]) -> None:
        """Submit one task, and perhaps wait for its end."""
        manifest = options["manifest"]
        wait_s = base.seconds("--wait", options["wait"]) if options["wait"] is not None else None
        view = api.submit(
            options["agent"],
            base.read_json("--input", options["input"]),
            manifest=base.read_file("--manifest", manifest) if manifest is not None else None,
            key=options["key"],
            title=options["title"],
            priority=_signed("--priority", options["priority"]),
            namespace=options["namespace"],
            created_by=api.account("submit_tasks"),
        )
        if wait_s is None:
            self._show_task(api.task(view.id, namespace=view.namespace))
            return
        detail = _ended(view, wait_s)
        self._show_task(detail)
        if detail.state != "terminated_success":
            self.end(1)

    # --- looking ---------------------------------------------------------------------------------

    def list(self, options: dict[str, Any]) -> None:
        """List tasks."""
        page = api.tasks(
            namespace=options["namespace"],
            state=options["state"],
            agent=options["agent"],
            q=options["search"],
            cursor=options["cursor"],
            limit=base.whole("--limit", options["limit"], least=1),
        )

        def people(console: Console) -> None:
            rows = base.table("id", "state", "agent", "steps", "title", wide=("title",))
            for view in page.rows:
                state = f"{view.state} (paused)" if view.held else view.state
                rows.add_row(
                    str(view.id), state, view.agent, str(view.steps), base.plain(view.title)
                )
            console.print(rows if page.rows else "No tasks.")
            if page.cursor:
                console.print(f"More with --cursor {page.cursor}")

        self.show({"tasks": page.rows, "cursor": page.cursor}, people)

    def show_one(self, options: dict[str, Any]) -> None:
        """Show one task."""
        self._show_task(api.task(options["id"], namespace=options["namespace"]))

    def _show_task(self, detail: api.TaskDetail) -> None:
        why = api.why(detail.id, namespace=detail.namespace).sentence

        def people(console: Console) -> None:
            base.facts(
                console,
                [
                    ("task", detail.id),
                    ("agent", detail.agent),
                    ("state", f"{detail.state} (paused)" if detail.held else detail.state),
                    ("why", why),
                    ("title", detail.title),
                    ("key", detail.key),
                    ("created", f"{base.instant(detail.created_at)} by {detail.created_by}"),
                    ("deadline", None if detail.ended else base.instant(detail.deadline)),
                    ("ended", base.instant(detail.finished_at)),
                    ("steps", f"{detail.steps}, {detail.done} calls done, {detail.writes} writes"),
                    ("calling", detail.tool),
                    ("review", detail.review_id),
                    ("situation", detail.situation),
                    ("worker", detail.owner),
                    ("input", base.short(detail.input, 1000)),
                    ("result", base.short(detail.result, 2000) if detail.ended else None),
                ],
            )

        self.show({"task": detail, "why": why}, people)

    def events(self, options: dict[str, Any]) -> None:
        """Show the events of a task."""
        after = base.whole("--after", options["after"])
        found: list[api.EventView] = []
        while True:
            page = api.events(
                options["id"], after=after, limit=_PAGE, namespace=options["namespace"]
            )
            found.extend(page)
            if len(page) < _PAGE:
                break
            after = page[-1].seq

        def people(console: Console) -> None:
            rows = base.table("seq", "at", "event", "call", "facts", wide=("facts",))
            for event in found:
                told = base.plain(_told(event.payload))
                at = f"{event.at:%H:%M:%S.%f}"[:-3]
                rows.add_row(str(event.seq), at, event.type, event.call_id or "", told)
            console.print(rows)

        self.show({"task": options["id"], "events": found}, people)

    def why(self, options: dict[str, Any]) -> None:
        """Say why a task is not moving."""
        found = api.why(options["id"], namespace=options["namespace"])
        value = {"task": options["id"], "state": found.state, "why": found.sentence}
        self.show(
            {**value, "facts": found.facts},
            lambda console: console.print(base.plain(found.sentence)),
        )

    def effects(self, options: dict[str, Any]) -> None:
        """Show the effects of a task."""
        found = api.effects(options["id"], namespace=options["namespace"])

        def people(console: Console) -> None:
            rows = base.table(
                "effect", "tool", "operation", "sent", "settled", "note", wide=("note",)
            )
            for effect in found:
                rows.add_row(
                    effect.word.value,
                    effect.tool,
                    effect.operation_id,
                    f"{effect.dispatches}x",
                    f"{effect.settled_at:%H:%M:%S}" if effect.settled_at else "",
                    base.plain(effect.note),
                )
            console.print(rows if found else "No effects.")

        self.show({"task": options["id"], "effects": found}, people)

    # --- levers ----------------------------------------------------------------------------------

    def pull(self, lever: Callable[..., api.TaskView], options: dict[str, Any]) -> None:
        """Move one lever."""
        if not options["reason"].strip():
            raise base.Unusable("--reason", "it is empty; the reason is kept with the task")
        more: dict[str, Any] = {}
        if options.get("situation") is not None:
            more["situation"] = base.whole("--situation", options["situation"], least=1)
        if lever is api.retry:
            more["channel"] = CHANNEL
        view = lever(
            options["id"],
            reason=options["reason"],
            by=api.account("act_on_tasks"),
            namespace=options["namespace"],
            **more,
        )
        self._show_task(api.task(view.id, namespace=view.namespace))


def _told(payload: Any) -> str:
    """Say what an event tells people: digests and internal names are for machines."""
    if not isinstance(payload, dict):
        return base.short(payload, _LONGEST_FACTS)
    parts = [
        f"{name}: {base.short(value, 60)}"
        for name, value in payload.items()
        if name not in _FOR_MACHINES and not name.endswith("digest")
    ]
    return base.short(", ".join(parts), _LONGEST_FACTS)


def _signed(what: str, text: str) -> int:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    return sign * base.whole(what, digits)


def _ended(view: api.TaskView, wait_s: float) -> api.TaskDetail:
    """Look until the task has ended or the time is up."""
    until_s, pause_s, never = time.monotonic() + wait_s, 0.02, threading.Event()
    while True:
        detail = api.task(view.id, namespace=view.namespace)
        left_s = until_s - time.monotonic()
        if detail.ended or left_s <= 0:
            return detail
        never.wait(min(pause_s, left_s))
        pause_s = min(pause_s * 1.5, _LONGEST_LOOK_S)

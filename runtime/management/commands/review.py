"""``manage.py review …``: what waits for a person, and deciding it."""

from typing import Any

from django.core.management.base import CommandParser
from rich.console import Console

from runtime import api
from runtime.core.reviews import Decision, Kind, meaning
from runtime.management import base
from runtime.management.base import CHANNEL, SignalboxCommand


class Command(SignalboxCommand):
    """Everything about review items."""

    help = "List what waits for a person, show it, decide it."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the commands of the group."""
        group = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        listing = self.leaf(group, "list", self.list, "List open items, the longest waiting first.")
        listing.add_argument("--all", action="store_true", help="also those that are decided")
        showing = self.leaf(group, "show", self.show_one, "Show one item with all it rests on.")
        showing.add_argument("id", metavar="ID", help="the item's id")
        deciding = self.leaf(group, "decide", self.decide, "Decide one item.")
        deciding.add_argument("id", metavar="ID", help="the item's id")
        deciding.add_argument("--decision", required=True, metavar="D", help="one that it offers")
        deciding.add_argument("--reason", required=True, help="why, for people")
        deciding.add_argument(
            "--args",
            dest="arguments",  # Django takes `args` for its own
            metavar="JSON",
            help='{"answer": …} or {"result": …}; @FILE, or - for stdin',
        )
        deciding.add_argument(
            "--situation", metavar="N", help="what you saw; refused if it has moved"
        )

    def list(self, options: dict[str, Any]) -> None:
        """List items."""
        status = None if options["all"] else "open"
        found = api.reviews(namespace=options["namespace"], status=status, limit=1000)

        def people(console: Console) -> None:
            rows = base.table("id", "kind", "waits", "status", "about", wide=("about",))
            for item in found:
                rows.add_row(
                    str(item.id),
                    item.kind,
                    base.span(item.waits_s),
                    item.decision or item.status,
                    base.plain(base.short(item.question or item.why)),
                )
            console.print(rows if found else "Nothing waits for a person.")

        self.show({"reviews": found}, people)

    def show_one(self, options: dict[str, Any]) -> None:
        """Show one item."""
        self._show(api.review(options["id"], namespace=options["namespace"]))

    def _show(self, item: api.ReviewView) -> None:
        offers = {name: meaning(Kind(item.kind), Decision(name)) for name in item.allowed}

        def people(console: Console) -> None:
            base.facts(
                console,
                [
                    ("review", item.id),
                    ("task", f"{item.task_id} ({item.agent})"),
                    ("kind", item.kind),
                    ("status", item.status),
                    ("why", item.why),
                    ("question", item.question if item.question != item.why else ""),
                    ("tool", item.tool),
                    ("operation", item.operation_id),
                    ("situation", item.situation),
                    ("waits", base.span(item.waits_s)),
                    *((f"seen: {name}", base.short(value, 2000)) for name, value in _seen(item)),
                    ("decided", item.decision and f"{item.decision} by {item.decided_by}"),
                    ("reason", item.reason),
                ],
            )
            if item.status == "open":
                console.print("It can be decided as:")
                for name, means in offers.items():
                    console.print(f"  {name}: {means}")

        self.show({"review": item, "offers": offers}, people)

    def decide(self, options: dict[str, Any]) -> None:
        """Decide one item as the owner of the API token, else as the account ``local``."""
        text, situation = options["arguments"], options["situation"]
        arguments = base.read_json("--args", text) if text is not None else None
        if arguments is not None and not isinstance(arguments, dict):
            raise base.Unusable("--args", "it is not a JSON object")
        item = api.decide(
            options["id"],
            options["decision"],
            reason=options["reason"],
            by=api.account("decide_reviews"),
            channel=CHANNEL,
            arguments=arguments,
            situation=base.whole("--situation", situation, least=1) if situation else None,
            namespace=options["namespace"],
        )
        self._show(item)


def _seen(item: api.ReviewView) -> list[tuple[str, Any]]:
    snapshot = item.snapshot if isinstance(item.snapshot, dict) else {}
    return [(name, value) for name, value in snapshot.items() if name != "why"]

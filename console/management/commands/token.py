"""``manage.py token …``: API tokens, made and revoked on the machine itself."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from console import tokens
from console.tokens import Scope


class Command(BaseCommand):
    """Everything about API tokens."""

    help = "Make and revoke API tokens; show the secret that signs callbacks."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the commands of the group."""
        group = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        making = group.add_parser("create", help="make a token; it is shown once")
        making.add_argument("name", metavar="NAME", help="for people; unique")
        making.add_argument("--user", required=True, metavar="U", help="the account it stands for")
        making.add_argument(
            "--scopes", required=True, nargs="+", metavar="S", help=", ".join(Scope)
        )
        making.add_argument(
            "--namespaces",
            nargs="+",
            default=[],
            metavar="N",
            help="spaces it reaches; default all",
        )
        making.add_argument("--days", type=int, metavar="D", help="days it is valid; default: ever")
        revoking = group.add_parser("revoke", help="make a token invalid at once")
        revoking.add_argument("name", metavar="NAME", help="the token's name")
        secret = group.add_parser("callback-secret", help="show what signs callbacks")
        for leaf in (making, revoking, secret):
            leaf.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *_args: Any, **options: Any) -> None:
        """Run the command of the group."""
        match options["action"]:
            case "create":
                self._create(options)
            case "revoke":
                tokens.revoke(options["name"])
                self._show(options, {"revoked": options["name"]}, f"Revoked {options['name']}.")
            case _:
                known = list(settings.SIGNALBOX_CALLBACK_SECRETS)
                self._show(options, {"secrets": known}, "\n".join(known))

    def _create(self, options: dict[str, Any]) -> None:
        # Scopes may also be written with commas, as in other systems.
        scopes = [scope for word in options["scopes"] for scope in word.split(",") if scope]
        token = tokens.create(
            options["name"],
            options["user"],
            scopes,
            namespaces=options["namespaces"],
            days=options["days"],
        )
        facts = {"name": options["name"], "user": options["user"], "scopes": sorted(set(scopes))}
        if not options["json"]:
            self.stderr.write("The token is shown only now; keep it where secrets are kept.")
        self._show(options, {**facts, "token": token}, token)

    def _show(self, options: dict[str, Any], facts: dict[str, Any], text: str) -> None:
        self.stdout.write(json.dumps(facts) if options["json"] else text)

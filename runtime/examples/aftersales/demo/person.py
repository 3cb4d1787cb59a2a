"""The robot person of a run: takes open review items up and decides them by the shop's books."""

import logging
from collections import Counter
from collections.abc import Iterable
from typing import Any
from uuid import UUID

from runtime import api
from runtime.core.errors import SignalboxError
from runtime.examples.aftersales import robot
from runtime.examples.aftersales.control import ShopDesk
from runtime.examples.aftersales.demo.runs import ACCOUNT

type Json = dict[str, Any]

_LOG = logging.getLogger("demo")
CHANNEL = "robot"


class Person:
    """Decides as the account `demo`."""

    def __init__(self, desk: ShopDesk) -> None:
        self._desk = desk
        #: Decisions by kind of item.
        self.answered: Counter[str] = Counter()
        #: Tasks it ended.
        self.aborted: set[UUID] = set()

    def take_up(self, items: Iterable[tuple[UUID, UUID]]) -> list[str]:
        """Decide what can be decided truthfully now; gives one sentence for each decision.

        Args:
            items: Ids of open review items, each with its task's.
        """
        said = (self._decide(review_id) for review_id, _ in items)
        return [sentence for sentence in said if sentence]

    def _decide(self, review_id: UUID) -> str | None:
        try:
            item = api.review(review_id)
            decided = robot.answer(_shown(item), self._desk)
            api.decide(
                item.id,
                decided["decision"],
                reason=decided["reason"],
                by=ACCOUNT,
                channel=CHANNEL,
                arguments=decided["arguments"],
                situation=item.situation,
            )
        except (robot.CannotAnswerError, SignalboxError) as error:
            # Not yet, or somebody else was first: the next look tells.
            _LOG.info("review %s: %s", review_id, error)
            return None
        self.answered[item.kind] += 1
        if decided["decision"] == "abort":
            self.aborted.add(item.task_id)
        about = f" about {item.tool}" if item.tool else ""
        return f"{item.kind}{about}: {decided['decision']}, {decided['reason']}"


def _shown(item: api.ReviewView) -> Json:
    """Put an item as the robot reads it: what a person is shown, and nothing else."""
    snapshot = item.snapshot if isinstance(item.snapshot, dict) else {}
    return {
        "kind": item.kind,
        "tool": item.tool,
        "operation_id": item.operation_id,
        "arguments": snapshot.get("arguments") or {},
        "question": item.question,
        "allowed": item.allowed,
    }

"""Pages in Chinese are Chinese: no sentence of the catalogue is left in English on any of them."""

import html
import re
from collections.abc import Callable, Iterator
from uuid import UUID

from django.test import Client

from console.access import Role
from runtime import api
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand
from tests.translations.catalogue import stored

type Asked = Callable[..., tuple[UUID, UUID]]

#: Shorter ones may be parts of names and of what an agent wrote.
SHORTEST = 12
PLAIN = [
    message.id
    for message in stored()
    if isinstance(message.id, str)
    and len(message.id) >= SHORTEST
    and " " in message.id
    and not re.search(r"%\(|\{|<", message.id)
]


def _addresses(asking: UUID, review: UUID, doubtful: UUID, item: UUID) -> Iterator[str]:
    yield from ("/", "/insights/", "/tasks/", "/tasks/?state=all", "/tasks/?since=nonsense")
    yield from ("/reviews/", f"/reviews/{review}/", f"/reviews/{item}/")
    yield from (f"/tasks/{asking}/", f"/tasks/{doubtful}/", f"/tasks/{doubtful}/?lens=events")
    for tab in ("calls", "effects", "checkpoint", "manifest", "lease", "reviews"):
        yield f"/tasks/{doubtful}/?tab={tab}"
    for lever in ("pause", "retry", "cancel"):
        yield f"/tasks/{doubtful}/{lever}/"
    yield from (f"/tasks/{doubtful}/paper/", *(f"/tasks/{doubtful}/events/{n}/" for n in (1, 4)))
    yield from ("/tasks/columns/", "/tasks/views/new/", "/keys/", "/agents/", f"/agents/{NAME}/")
    yield from (f"/new/?agent={NAME}", "/workers/", "/settings/", "/no-such-page/")


def test_no_sentence_is_left_in_english(
    as_role: Callable[[Role | None], Client], asked: Asked, submitted: Callable[..., UUID]
) -> None:
    asking, review = asked("Which one?")
    doubtful = submitted(title="Pay A1")
    Hand(doubtful).start().read().begin().doubt()
    item = api.task(doubtful).review_id
    assert item is not None
    person = as_role(Role.ADMINISTRATOR)
    # What is worded as early as modules are loaded is English for good, as in a real process.
    person.get("/tasks/", headers={"Accept-Language": "en"})

    left = [
        (address, sentence)
        for address in _addresses(asking, review, doubtful, item)
        for sentence in _english(person.get(address, headers={"Accept-Language": "zh-CN"}))
    ]

    assert left == []


def _english(page: object) -> list[str]:
    text = html.unescape(page.content.decode())  # type: ignore[attr-defined]
    return [sentence for sentence in PLAIN if sentence in text]

"""Hostile text in every field, on every page there is: shown as text, and nothing breaks."""

from collections.abc import Callable

import pytest
from django.test import Client

from console.access import Role
from console.bench.addresses import addresses
from console.pages.text import visible
from tests.support import hostile


@pytest.mark.parametrize("text", hostile.ALL, ids=["markup", "signs", "long"])
def test_no_page_lets_hostile_text_be_more_than_text(
    text: str, as_role: Callable[[Role], Client], db: None
) -> None:
    client, shown = as_role(Role.ADMINISTRATOR), 0

    for one in addresses(hostile.fill(text)):
        answer = client.get(one.path)
        page = answer.content.decode()
        assert answer.status_code == 200, (one.name, answer.status_code)
        shown += visible(text[:30]) in page
        assert [part for part in hostile.NEVER if part in page] == [], one.name
    assert shown > 10

"""What stands around every page: the number of open reviews, also where nobody can count them."""

from collections.abc import Callable
from contextlib import closing
from uuid import UUID

import pytest
from django.db import connections
from django.test import Client

from console.pages import frame

type Asked = Callable[..., tuple[UUID, UUID]]


def _badge(client: Client) -> str:
    page = client.get("/agents/").content.decode()
    return page.split('<span class="badge')[1].split("</a>")[0]


def test_open_reviews_are_counted_beside_their_page_and_nothing_stands_there_for_none(
    operator: Client, asked: Asked
) -> None:
    none = _badge(operator)
    asked()
    one = _badge(operator)

    assert 'data-count="0" hidden' in none
    assert 'data-count="1">' in one
    assert "is-unknown" not in one


def test_a_count_that_cannot_be_had_in_time_is_a_question_mark_and_the_page_comes(
    operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame, "BADGE_PATIENCE_MS", 20)
    other = connections.create_connection("default")

    with closing(other), other.cursor() as cursor:
        cursor.execute("BEGIN; LOCK TABLE runtime_review IN ACCESS EXCLUSIVE MODE")
        badge = _badge(operator)

    assert 'title="How many wait could not be counted just now."' in badge
    assert '<span aria-hidden="true">?</span>' in badge
    assert " hidden" not in badge.split(">")[0]
    assert _badge(operator).startswith('" data-behavior')

"""What is said when a page cannot be shown, in both languages."""

import re
from collections.abc import Callable

import pytest
from django.test import Client, RequestFactory
from django.utils import translation
from django.views.defaults import server_error

from console.access import Role

pytestmark = pytest.mark.django_db

CHINESE = re.compile(r"<h1>[^<]*[\u4e00-\u9fff]")


@pytest.mark.parametrize(("language", "spoken"), [("zh-CN", "zh-hans"), ("en", "en")])
def test_nothing_there_and_not_allowed_are_said_in_the_readers_language(
    language: str, spoken: str, as_role: Callable[[Role | None], Client]
) -> None:
    said = {"Accept-Language": language}
    nobody = as_role(None)

    pages = {
        404: nobody.get("/no-such-page/", headers=said),
        403: nobody.get("/tasks/", headers=said),
    }

    for status, page in pages.items():
        text = page.content.decode()
        assert page.status_code == status
        assert f'<html lang="{spoken}"' in text
        assert bool(CHINESE.search(text)) is (spoken == "zh-hans")


@pytest.mark.parametrize("spoken", ["zh-hans", "en"])
def test_a_failure_of_the_console_is_said_without_asking_for_anything(spoken: str) -> None:
    with translation.override(spoken):
        page = server_error(RequestFactory().get("/tasks/"))

    text = page.content.decode()
    assert page.status_code == 500
    assert f'<html lang="{spoken}"' in text
    assert bool(CHINESE.search(text)) is (spoken == "zh-hans")


def test_a_form_from_elsewhere_is_refused_in_the_readers_language(
    as_role: Callable[[Role | None], Client],
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = as_role(Role.OPERATOR).cookies

    page = strict.post("/settings/", {}, headers={"Accept-Language": "zh-CN"})

    assert page.status_code == 403
    assert CHINESE.search(page.content.decode())

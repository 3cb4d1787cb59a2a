"""What the shared fixtures promise to every other test."""

import subprocess
import sys
from pathlib import Path

import pytest
import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection

from console import embedded

PROJECT = Path(__file__).resolve().parents[2]
COUNT = "from django.contrib.auth.models import User; print(User.objects.count())"


@pytest.mark.django_db
def test_tests_use_a_database_of_their_own() -> None:
    assert connection.settings_dict["NAME"].startswith("test_")


@pytest.mark.django_db(transaction=True)
def test_a_child_process_sees_the_tests_database(child_environ: dict[str, str]) -> None:
    User.objects.create_user("jo")

    done = subprocess.run(
        [sys.executable, PROJECT / "manage.py", "shell", "-v0", "-c", COUNT],
        env=child_environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.stdout, done.stderr) == ("1\n", "")


def test_valkey_answers_at_the_settings_address(services: embedded.Services) -> None:
    with redis.Redis.from_url(settings.VALKEY_URL) as client:
        assert client.ping()

"""Large payloads: stored once per namespace, and kept while anybody refers to them."""

from uuid import uuid4

import pytest

from runtime.core.payloads import encode
from runtime.store import artifacts
from runtime.store.session import execute
from tests.support import work
from tests.support.shift import Shift

pytestmark = pytest.mark.django_db

DAY_S = 86_400.0
LARGE = encode("x" * 100_000)


def test_what_no_task_refers_to_is_collected_after_a_day(shift: Shift) -> None:
    kept, lost = uuid4(), uuid4()
    artifacts.keep("default", work.submit(), kept, LARGE)
    artifacts._place("default", lost, "other digest", b"1")

    early = artifacts.collect(DAY_S)
    shift.forward(DAY_S + 1)

    assert (early, artifacts.collect(DAY_S)) == (0, 1)
    assert execute("SELECT id FROM runtime_artifact") == [(kept,)]


def test_an_old_artifact_that_is_about_to_be_referred_to_again_is_not_collected(
    shift: Shift,
) -> None:
    """The collection may come between finding it and referring to it."""
    old = artifacts._place("default", uuid4(), "digest", b"1")
    shift.forward(DAY_S + 1)

    found = artifacts._place("default", uuid4(), "digest", b"1")

    assert found == old
    assert artifacts.collect(DAY_S) == 0


def test_one_payload_of_two_namespaces_is_stored_twice() -> None:
    """Else its presence in one would tell something about the other."""
    task_id = work.submit()

    handles = {artifacts.keep(name, task_id, uuid4(), LARGE)[1] for name in ("default", "other")}

    assert len(handles) == 2

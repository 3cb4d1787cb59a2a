"""Whatever a tool returns or raises: the step commits, and the value is stored or marked."""

from pathlib import Path
from uuid import UUID

import pytest

from runtime.core.payloads import ArtifactRef
from runtime.store import artifacts
from runtime.store.session import execute
from tests.support.engine import Site
from tests.support.engine_diary import Diary
from tests.support.engine_zoo import ZOO

RETURNED = [name for name, animal in ZOO.items() if not animal.raises]
RAISED = [name for name, animal in ZOO.items() if animal.raises]


def test_every_odd_result_commits_and_comes_back(site: Site, diary: Diary) -> None:
    """Hazards TO-01, TO-03, TO-05, TO-17, NJ-01, NJ-05, LM-11."""
    reads = {name: site.script({"call": "zoo", "animal": name}, {"finish": 1}) for name in RETURNED}
    writes = {name: _write(site, diary, name) for name in RETURNED}

    worker = site.worker()
    site.settle(*reads.values(), *writes.values(), timeout_s=40)

    assert not worker.ended()
    for name in RETURNED:
        for task in (reads[name], writes[name]):
            assert site.row(task).state == "terminated_success", (name, site.review(task))
            ((_, outcome, value),) = site.results(task)
            assert outcome == "succeeded"
            if isinstance(value, ArtifactRef):
                value = artifacts.fetch("default", value.handle)
            assert ZOO[name].back(value), name
        site.check(reads[name], writes[name])
    assert diary.count("paid") == len(RETURNED)


def test_every_odd_exception_is_a_failure_with_a_bounded_text(site: Site, diary: Diary) -> None:
    """Hazard CR-07."""
    reads, writes = {}, {}
    for name in RAISED:
        reads[name] = site.script({"call": "zoo", "animal": name})
        writes[name] = _write(site, diary, name)
        # A success between them, or the breakers would take the tools for a downstream gone.
        site.script({"call": "zoo", "animal": "uuid"})
        _write(site, diary, "uuid")

    worker = site.worker(threads=1)
    site.settle(*reads.values(), *writes.values(), timeout_s=40)

    assert not worker.ended()
    for name in RAISED:
        for task in (reads[name], writes[name]):
            item = site.review(task)
            assert item is not None, name
            assert item[1] in {"retries_exhausted", "in_doubt"}
            assert len(item[2]) < 5000
            site.check(task)
    assert diary.count("paid") >= len(RAISED)


def test_a_planner_may_finish_with_any_odd_value(site: Site) -> None:
    tasks = {name: site.script({"call": "zoo", "animal": name}) for name in RETURNED}

    site.worker()
    site.settle(*tasks.values(), timeout_s=40)

    for name, task in tasks.items():
        assert site.row(task).state == "terminated_success", (name, site.review(task))
        site.check(task)


def test_a_state_change_does_not_fail_because_the_artifact_storage_does(
    site: Site, tmp_path: Path, settings: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The place is a file: nobody, not even root, can make a folder in it."""
    from django.core.files.storage import FileSystemStorage, storages

    (tmp_path / "file").write_text("no folder")
    broken = FileSystemStorage(location=tmp_path / "file" / "artifacts")
    monkeypatch.setitem(storages._storages, "artifacts", broken)  # type: ignore[attr-defined]
    task = site.script({"call": "zoo", "animal": "12 MB"}, {"call": "echo", "value": 1})

    site.worker()
    row = site.settle(task)[0]

    assert row.state == "terminated_success", site.review(task)
    (_, outcome, value), _ = site.results(task)
    assert outcome == "succeeded"
    assert isinstance(value, ArtifactRef)
    assert value.preview.startswith("é") or "é" in value.preview
    with pytest.raises(artifacts.ArtifactGone):
        artifacts.fetch("default", value.handle)
    site.check(task)


def test_large_values_stay_out_of_the_rows_that_every_step_touches(site: Site) -> None:
    task = site.script({"call": "zoo", "animal": "12 MB"}, {"finish": 1})

    site.worker()
    site.settle(task)

    text = "SELECT max(length(result)) FROM runtime_stepresult WHERE task_id = %s"
    assert execute(text, (task,))[0][0] < 10_000
    checkpoint = "SELECT length(checkpoint) FROM runtime_task WHERE id = %s"
    assert execute(checkpoint, (task,))[0][0] < 2000


def _write(site: Site, diary: Diary, animal: str) -> UUID:
    return site.script({"call": "zoo_write", "animal": animal, "diary": str(diary)}, {"finish": 1})

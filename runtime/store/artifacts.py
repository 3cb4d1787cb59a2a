"""Payloads too large for a row: in PostgreSQL up to 1 MB, above that in the artifact storage.

Written before the commit that refers to them.  A storage that fails never stops a state change:
the marker then says that only the preview was kept.
"""

import logging
from uuid import UUID

from django.core.files.base import ContentFile
from django.core.files.storage import storages

from runtime.core.errors import SignalboxError
from runtime.core.keys import digest
from runtime.core.payloads import CODEC, ArtifactRef, Encoded, decode, encode, preview
from runtime.store.session import execute
from runtime.store.tasks import digest_key

DATABASE_LIMIT_BYTES = 1024 * 1024
_LOG = logging.getLogger("runtime.artifacts")


class ArtifactGone(SignalboxError):
    """The artifact is not where it was put."""

    http_status = 410
    code = "artifact_gone"

    def __init__(self, handle: str) -> None:
        """Take the handle."""
        super().__init__(handle)
        self.handle = handle

    def __str__(self) -> str:
        return f"Artifact {self.handle} is not available; only its preview was kept."


def keep(namespace: str, task_id: UUID, artifact_id: UUID, payload: Encoded) -> tuple[str, str]:
    """Store a large payload and give its marker.

    Args:
        namespace: Where it belongs.
        task_id: The task that refers to it.
        artifact_id: A fresh id, used if the payload is not stored yet.
        payload: What the gate made of the value.

    Returns:
        The stored text of the marker, and the artifact's handle.
    """
    mark = digest(digest_key(namespace), "artifact", payload.text)
    data = payload.text.encode()
    try:
        handle = _place(namespace, artifact_id, mark, data)
    except (OSError, SignalboxError) as error:
        _LOG.warning("artifact of task %s was not stored: %s", task_id, error)
        handle = "not-stored"
    else:
        execute(
            "INSERT INTO runtime_artifactref (artifact_id, task_id, namespace) VALUES (%s, %s, %s)"
            " ON CONFLICT DO NOTHING",
            (UUID(handle), task_id, namespace),
        )
    ref = ArtifactRef(handle, payload.size, preview(payload), "payload")
    return encode(ref).text, handle


def _place(namespace: str, artifact_id: UUID, mark: str, data: bytes) -> str:
    # Found again counts as new: its reference is written next, and no collection may come between.
    found = execute(
        "UPDATE runtime_artifact SET created_at = runtime_now() "
        "WHERE namespace = %s AND digest = %s RETURNING id",
        (namespace, mark),
    )
    if found:
        return str(found[0][0])
    location = None
    if len(data) > DATABASE_LIMIT_BYTES:
        location = storages["artifacts"].save(f"{namespace}/{artifact_id}.json", ContentFile(data))
    rows = execute(
        "INSERT INTO runtime_artifact (id, namespace, digest, size, codec, data, location, "
        "created_at) VALUES (%s, %s, %s, %s, %s, %s, %s, runtime_now()) "
        "ON CONFLICT (namespace, digest) DO UPDATE SET created_at = runtime_now() RETURNING id",
        (artifact_id, namespace, mark, len(data), CODEC, None if location else data, location),
    )
    return str(rows[0][0])


def fetch(namespace: str, handle: str) -> object:
    """Read a large payload back.

    Raises:
        ArtifactGone: It was never stored, or its storage has lost it.
    """
    if handle == "not-stored":
        raise ArtifactGone(handle)
    rows = execute(
        "SELECT data, location, codec FROM runtime_artifact WHERE namespace = %s AND id = %s",
        (namespace, UUID(handle)),
    )
    if not rows:
        raise ArtifactGone(handle)
    data, location, codec = rows[0]
    if location is None:
        return decode(bytes(data).decode(), codec)
    try:
        with storages["artifacts"].open(location) as file:
            return decode(file.read().decode(), codec)
    except OSError as error:
        raise ArtifactGone(handle) from error


def collect(older_than_s: float, limit: int = 200) -> int:
    """Remove artifacts that no task refers to any more; gives how many."""
    rows = execute(
        "DELETE FROM runtime_artifact a WHERE a.id IN (SELECT a2.id FROM runtime_artifact a2 "
        "WHERE a2.created_at < runtime_now() - make_interval(secs => %s) AND NOT EXISTS "
        "(SELECT 1 FROM runtime_artifactref r WHERE r.artifact_id = a2.id) LIMIT %s) "
        "RETURNING location",
        (older_than_s, limit),
    )
    for (location,) in rows:
        if location:
            storages["artifacts"].delete(location)
    return len(rows)

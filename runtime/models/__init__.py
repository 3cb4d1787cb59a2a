"""The runtime's tables and their constraints, nothing else.

Impossible states are unrepresentable here; only ``runtime.store`` writes these rows.  Payloads are
text made by ``runtime.core.payloads`` and carry the name of their codec.
"""

from runtime.models.base import DEFAULT_NAMESPACE, DatabaseNow, Namespace
from runtime.models.counts import Bucket, Tally, Total
from runtime.models.people import REVIEW_STATUSES, Callback, Inbox, Review
from runtime.models.steps import (
    CALL_OUTCOMES,
    OPEN_OPERATION,
    OPERATION_STATUSES,
    Artifact,
    ArtifactRef,
    Event,
    Operation,
    StepResult,
)
from runtime.models.tasks import Manifest, Task, TaskSpec
from runtime.models.workers import WORKER_STATES, Breaker, Progress, Pulse, Refusal, Worker

__all__ = [
    "CALL_OUTCOMES",
    "DEFAULT_NAMESPACE",
    "OPEN_OPERATION",
    "OPERATION_STATUSES",
    "REVIEW_STATUSES",
    "WORKER_STATES",
    "Artifact",
    "ArtifactRef",
    "Breaker",
    "Bucket",
    "Callback",
    "DatabaseNow",
    "Event",
    "Inbox",
    "Manifest",
    "Namespace",
    "Operation",
    "Progress",
    "Pulse",
    "Refusal",
    "Review",
    "StepResult",
    "Tally",
    "Task",
    "TaskSpec",
    "Total",
    "Worker",
]

"""The runtime's tables and their constraints, nothing else.

Impossible states are unrepresentable here; only ``runtime.store`` writes these rows.  Payloads are
text made by ``runtime.core.payloads`` and carry the name of their codec.
"""

import uuid
from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runtime.core.effects import Effect
from runtime.core.payloads import CODEC
from runtime.core.reviews import Kind
from runtime.core.states import TERMINAL, State

DEFAULT_NAMESPACE = "default"
_TERMINAL = sorted(TERMINAL)

CALL_OUTCOMES = ["succeeded", "failed", "skipped"]
OPERATION_STATUSES = [
    "reserved",
    "dispatched",
    "confirmed",
    "failed",
    "in_doubt",
    "reconciled",
    "compensated",
]
OPEN_OPERATION = ["reserved", "dispatched", "in_doubt"]
REVIEW_STATUSES = ["open", "decided", "closed", "cancelled", "superseded", "expired"]
_GONE = ["stopped", "dead"]
WORKER_STATES = ["running", "draining", *_GONE]


class DatabaseNow(Now):
    """The database's clock: the one function every statement of the runtime takes its time from."""

    template = "runtime_now()"

    def as_postgresql(self, compiler, connection, **extra):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN201
        """Write the call; Django would otherwise write STATEMENT_TIMESTAMP()."""
        return self.as_sql(compiler, connection, template=self.template, **extra)


def _choices(field: str, values: list[str], name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=Q(**{f"{field}__in": values}), name=name)


class Namespace(models.Model):
    """A space of its own: nothing crosses from one to another."""

    name = models.TextField(primary_key=True)
    digest_key = models.BinaryField()
    created_at = models.DateTimeField(db_default=DatabaseNow())


class Manifest(models.Model):
    """A pinned manifest, stored once however many tasks share it."""

    pk = models.CompositePrimaryKey("namespace", "digest")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    digest = models.TextField()
    body = models.TextField()
    codec = models.TextField(default=CODEC)
    created_at = models.DateTimeField(db_default=DatabaseNow())


class Task(models.Model):
    """Where a task stands.  Narrow, because every step rewrites it.

    ``owner`` and ``epoch`` are the lease: the epoch is the fence and only grows.  ``parked_as``
    repeats the state while nobody holds the task, so that live states can be counted from an index
    that steps never touch.  ``counted`` says that the ended task is in the buckets and totals.
    """

    id = models.UUIDField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    agent = models.TextField()
    queue = models.TextField(default="default")
    priority = models.SmallIntegerField(default=0)
    state = models.TextField(default=State.INITIALIZED)
    version = models.BigIntegerField()
    situation = models.IntegerField(default=1)
    checkpoint = models.TextField()
    checkpoint_sum = models.TextField()
    codec = models.SmallIntegerField(default=1)
    owner = models.UUIDField(null=True)
    epoch = models.BigIntegerField(default=0)
    attention = models.IntegerField(default=0)
    attended = models.IntegerField(default=0)
    held = models.BooleanField(default=False)
    deaths = models.SmallIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    hinted_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=DatabaseNow())
    finished_at = models.DateTimeField(null=True)
    counted = models.BooleanField(db_default=False)
    parked_as = models.GeneratedField(
        expression=models.Case(models.When(owner__isnull=True, then="state")),
        output_field=models.TextField(null=True),
        db_persist=True,
    )

    class Meta:
        constraints: ClassVar = [
            _choices("state", sorted(State), "task_state_is_known"),
            models.CheckConstraint(
                name="task_finished_iff_terminal",
                condition=Q(state__in=_TERMINAL, finished_at__isnull=False)
                | (~Q(state__in=_TERMINAL) & Q(finished_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="task_terminal_has_no_owner",
                condition=~Q(state__in=_TERMINAL) | Q(owner__isnull=True, due_at__isnull=True),
            ),
            models.CheckConstraint(
                name="task_owner_has_epoch",
                condition=Q(owner__isnull=True) | Q(epoch__gt=0),
            ),
            models.CheckConstraint(
                name="task_attended_follows_attention",
                condition=Q(attended__lte=models.F("attention")),
            ),
            models.CheckConstraint(
                name="task_numbers_are_positive",
                condition=Q(version__gte=1, situation__gte=1, epoch__gte=0, deaths__gte=0),
            ),
        ]
        indexes: ClassVar = [
            # Claims and the sweep: what is due and free, best first.
            models.Index(
                fields=["queue", "priority", "due_at"],
                name="task_due",
                condition=Q(owner__isnull=True, held=False, due_at__isnull=False),
            ),
            # Suspects, for the isolated lane.
            models.Index(
                fields=["queue"],
                name="task_accused",
                condition=Q(owner__isnull=True, held=False, due_at__isnull=False, deaths__gt=0),
            ),
            # The dead: what a worker holds.
            models.Index(fields=["owner"], name="task_owned", condition=Q(owner__isnull=False)),
            # Commands that nobody has heard yet; attention moves with commands, not with steps.
            models.Index(
                fields=["id"],
                name="task_unheard",
                condition=Q(owner__isnull=True, attention__gt=models.F("attended")),
            ),
            # Counts and lists of live states; steps do not touch it (see parked_as).
            models.Index(
                fields=["namespace", "parked_as", "id"],
                name="task_parked",
                condition=Q(parked_as__isnull=False),
            ),
            models.Index(fields=["namespace", "agent", "id"], name="task_agent"),
            # Lists of what ended within some time, the last first; written once a task.
            models.Index(
                fields=["namespace", "parked_as", "-finished_at", "-id"],
                name="task_ended",
                condition=Q(finished_at__isnull=False),
            ),
            # Lists of what people paused; touched by a pause and its end.
            models.Index(fields=["namespace", "id"], name="task_held", condition=Q(held=True)),
            # What has ended and is not in the totals yet; empty but for a moment.
            models.Index(
                fields=["finished_at"],
                name="task_uncounted",
                condition=Q(finished_at__isnull=False, counted=False),
            ),
        ]


class TaskSpec(models.Model):
    """What a task was asked, and what came of it: written at submit and at the end."""

    task = models.OneToOneField(Task, models.DO_NOTHING, primary_key=True, related_name="spec")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    title = models.TextField(default="")
    labels = models.JSONField(default=dict)
    input = models.TextField()
    codec = models.TextField(default=CODEC)
    manifest_digest = models.TextField()
    key = models.TextField(null=True)
    request_digest = models.TextField()
    created_by = models.TextField(default="system")
    search_text = models.TextField(default="")
    result = models.TextField(null=True)
    outcome_reason = models.TextField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["namespace", "key"],
                name="task_key_is_used_once",
                condition=Q(key__isnull=False),
            ),
        ]
        indexes: ClassVar = [
            # Searches for parts of words; written at submit and at the end, never by a step.
            GinIndex(fields=["search_text"], name="task_words", opclasses=["gin_trgm_ops"]),
        ]


class Event(models.Model):
    """The journal: append-only, without gaps, partitionable by ranges of the task's UUIDv7."""

    pk = models.CompositePrimaryKey("task_id", "seq")
    task_id = models.UUIDField()
    seq = models.BigIntegerField()
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    type = models.TextField()
    v = models.SmallIntegerField(default=1)
    payload = models.TextField()
    codec = models.TextField(default=CODEC)
    call_id = models.TextField(null=True)
    cause = models.BigIntegerField(null=True)
    event_id = models.TextField(null=True)
    actor = models.TextField()
    at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(name="event_seq_is_positive", condition=Q(seq__gte=1)),
            models.UniqueConstraint(
                fields=["task_id", "event_id"],
                name="event_id_is_unique_in_its_task",
                condition=Q(event_id__isnull=False),
            ),
        ]


class StepResult(models.Model):
    """One completed call of a task."""

    pk = models.CompositePrimaryKey("task_id", "call_id")
    task_id = models.UUIDField()
    call_id = models.TextField()
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    position = models.IntegerField()
    tool = models.TextField()
    effect = models.TextField()
    outcome = models.TextField()
    operation_id = models.TextField(null=True)
    digest = models.TextField()
    arguments = models.TextField(null=True)
    args_seq = models.BigIntegerField(null=True)
    args_index = models.IntegerField(null=True)
    result_digest = models.TextField(null=True)
    result = models.TextField(null=True)
    codec = models.TextField(default=CODEC)
    artifact = models.TextField(null=True)
    summary = models.TextField(default="")
    attempts = models.SmallIntegerField(default=1)
    chain = models.TextField()
    seq = models.BigIntegerField()
    took_ms = models.IntegerField(default=0)
    finished_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            _choices("outcome", CALL_OUTCOMES, "step_result_outcome_is_known"),
            _choices("effect", sorted(Effect), "step_result_effect_is_known"),
            models.CheckConstraint(
                name="step_result_knows_its_arguments",
                condition=Q(arguments__isnull=False) | Q(args_seq__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["task_id", "position"],
                name="step_result_position_is_used_once",
            ),
        ]


class Operation(models.Model):
    """The ledger: one effect on the outside, from its intent to its outcome."""

    id = models.TextField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    task_id = models.UUIDField()
    call_id = models.TextField()
    tool = models.TextField()
    effect = models.TextField()
    status = models.TextField()
    digest = models.TextField()
    same_digest = models.TextField()
    external_id = models.TextField(null=True)
    dispatches = models.IntegerField(default=0)
    epoch = models.BigIntegerField()
    reserved_at = models.DateTimeField(db_default=DatabaseNow())
    first_dispatched_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    note = models.TextField(default="")

    class Meta:
        constraints: ClassVar = [
            _choices("status", OPERATION_STATUSES, "operation_status_is_known"),
            _choices(
                "effect",
                [e for e in sorted(Effect) if e != Effect.READ],
                "operation_is_never_a_read",
            ),
            models.UniqueConstraint(
                fields=["task_id", "call_id"],
                name="operation_one_live_call_per_ordinal",
                condition=Q(status__in=OPEN_OPERATION),
            ),
            models.CheckConstraint(
                name="operation_dispatched_has_its_time",
                condition=Q(dispatches=0, first_dispatched_at__isnull=True)
                | Q(dispatches__gt=0, first_dispatched_at__isnull=False),
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["task_id", "same_digest"], name="operation_of_task"),
            models.Index(
                fields=["external_id"],
                name="operation_external",
                condition=Q(external_id__isnull=False),
            ),
        ]


class Review(models.Model):
    """A request for a person's decision."""

    id = models.UUIDField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    task = models.ForeignKey(Task, models.DO_NOTHING, related_name="reviews", db_index=False)
    kind = models.TextField()
    status = models.TextField(default="open")
    why = models.TextField()
    question = models.TextField(default="")
    allowed = ArrayField(models.TextField())
    call_id = models.TextField(null=True)
    operation_id = models.TextField(null=True)
    tool = models.TextField(null=True)
    situation = models.IntegerField()
    seq = models.BigIntegerField()
    snapshot = models.TextField()
    codec = models.TextField(default=CODEC)
    opened_at = models.DateTimeField(db_default=DatabaseNow())
    decision = models.TextField(null=True)
    reason = models.TextField(null=True)
    arguments = models.TextField(null=True)
    decided_by = models.TextField(null=True)
    channel = models.TextField(null=True)
    decided_at = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    opening_counted = models.BooleanField(db_default=False)
    closing_counted = models.BooleanField(db_default=False)

    class Meta:
        constraints: ClassVar = [
            _choices("status", REVIEW_STATUSES, "review_status_is_known"),
            _choices("kind", sorted(Kind), "review_kind_is_known"),
            models.UniqueConstraint(
                fields=["task"],
                name="review_one_open_per_task",
                condition=Q(status__in=["open", "decided"]),
            ),
            models.CheckConstraint(
                name="review_decided_names_its_decider",
                condition=~Q(status="decided")
                | Q(decision__isnull=False, decided_by__isnull=False, decided_at__isnull=False),
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["task", "opened_at"], name="review_of_task"),
            models.Index(
                fields=["namespace", "opened_at"],
                name="review_open",
                condition=Q(status="open"),
            ),
            # What is not in the buckets yet; both are empty but for a moment.
            models.Index(
                fields=["id"],
                name="review_opening_uncounted",
                condition=Q(opening_counted=False),
            ),
            models.Index(
                fields=["id"],
                name="review_closing_uncounted",
                condition=Q(closing_counted=False, closed_at__isnull=False),
            ),
        ]


class Inbox(models.Model):
    """Commands and events for a task, stored before they are acknowledged."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    task = models.ForeignKey(Task, models.DO_NOTHING, related_name="inbox", db_index=False)
    source = models.TextField()
    event_id = models.TextField()
    kind = models.TextField()
    payload = models.TextField()
    codec = models.TextField(default=CODEC)
    actor = models.TextField()
    created_at = models.DateTimeField(db_default=DatabaseNow())
    consumed_at = models.DateTimeField(null=True)
    refused = models.TextField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["namespace", "task", "source", "event_id"],
                name="inbox_event_is_stored_once",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["task", "id"],
                name="inbox_waiting",
                condition=Q(consumed_at__isnull=True),
            ),
        ]


class Worker(models.Model):
    """One incarnation of a worker process, and its lease."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    host = models.TextField()
    pid = models.IntegerField()
    kind = models.TextField(default="worker")
    queues = ArrayField(models.TextField())
    slots = models.IntegerField()
    held = models.IntegerField(default=0)
    memory_mb = models.IntegerField(default=0)
    version = models.TextField(default="")
    state = models.TextField(default="running")
    started_at = models.DateTimeField(db_default=DatabaseNow())
    renewed_at = models.DateTimeField(db_default=DatabaseNow())
    expires_at = models.DateTimeField()
    # The server start during which a sweep saw its advisory lock held; see bury.sql.
    lock_seen_since = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    death = models.TextField(null=True)
    counted = models.BooleanField(db_default=False)
    # The agents it knows: it takes no other tasks.
    agents = ArrayField(models.TextField(), db_default=[])
    # Somebody wants it to take nothing more; read with each renewal.
    drain_asked_at = models.DateTimeField(null=True)
    # What it held when it was declared dead, as far as people look.
    left_behind = ArrayField(models.UUIDField(), db_default=[])

    class Meta:
        constraints: ClassVar = [
            _choices("state", WORKER_STATES, "worker_state_is_known"),
            models.CheckConstraint(
                name="worker_ended_iff_gone",
                condition=Q(state__in=_GONE, ended_at__isnull=False)
                | (~Q(state__in=_GONE) & Q(ended_at__isnull=True)),
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["id"],
                name="worker_living",
                condition=Q(state__in=["running", "draining"]),
            ),
            models.Index(
                fields=["id"],
                name="worker_uncounted",
                condition=Q(state__in=_GONE, counted=False),
            ),
        ]


class Refusal(models.Model):
    """A write that the fence refused: kept as evidence, it moved nothing."""

    id = models.BigAutoField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    task_id = models.UUIDField()
    worker_id = models.UUIDField()
    epoch = models.BigIntegerField()
    epoch_now = models.BigIntegerField()
    what = models.TextField()
    operation_id = models.TextField(null=True)
    evidence = models.TextField(null=True)
    at = models.DateTimeField(db_default=DatabaseNow())
    counted = models.BooleanField(db_default=False)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["task_id", "id"], name="refusal_of_task"),
            models.Index(fields=["worker_id", "id"], name="refusal_of_worker"),
            models.Index(fields=["id"], name="refusal_uncounted", condition=Q(counted=False)),
        ]


class Artifact(models.Model):
    """A payload too large for a row: in PostgreSQL up to 1 MB, else in the artifact storage."""

    id = models.UUIDField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    digest = models.TextField()
    size = models.BigIntegerField()
    codec = models.TextField(default=CODEC)
    data = models.BinaryField(null=True)
    location = models.TextField(null=True)
    created_at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["namespace", "digest"],
                name="artifact_is_stored_once",
            ),
            models.CheckConstraint(
                name="artifact_has_one_place",
                condition=Q(data__isnull=False, location__isnull=True)
                | Q(data__isnull=True, location__isnull=False),
            ),
        ]


class ArtifactRef(models.Model):
    """Which task refers to which artifact; the unreferenced are collected."""

    pk = models.CompositePrimaryKey("artifact_id", "task_id")
    artifact_id = models.UUIDField()
    task_id = models.UUIDField()
    namespace = models.TextField(default=DEFAULT_NAMESPACE)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["task_id"], name="artifactref_of_task")]


class Breaker(models.Model):
    """The circuit breaker of one tool, shared by all workers."""

    pk = models.CompositePrimaryKey("namespace", "tool")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    tool = models.TextField()
    body = models.JSONField()
    updated_at = models.DateTimeField(db_default=DatabaseNow())


class Progress(models.Model):
    """The last progress a running call reported; its next attempt sees it."""

    task = models.OneToOneField(Task, models.DO_NOTHING, primary_key=True, related_name="progress")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    call_id = models.TextField()
    body = models.TextField()
    codec = models.TextField(default=CODEC)
    at = models.DateTimeField(db_default=DatabaseNow())


class Callback(models.Model):
    """Whom to tell when a task has ended.

    ``due_at`` is set by the commit that ends the task, pushed ahead while somebody delivers, and
    removed when the receiver has taken the news or was given up.
    """

    task = models.OneToOneField(Task, models.DO_NOTHING, primary_key=True, related_name="callback")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    url = models.TextField()
    due_at = models.DateTimeField(null=True)
    attempts = models.SmallIntegerField(default=0)
    answer = models.SmallIntegerField(null=True)
    failure = models.TextField(default="")
    delivered_at = models.DateTimeField(null=True)
    given_up_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=DatabaseNow())

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                name="callback_is_settled_once",
                condition=Q(delivered_at__isnull=True) | Q(given_up_at__isnull=True),
            ),
            models.CheckConstraint(
                name="callback_settled_is_not_due",
                condition=Q(due_at__isnull=True)
                | Q(delivered_at__isnull=True, given_up_at__isnull=True),
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["due_at"],
                name="callback_due",
                condition=Q(due_at__isnull=False),
            ),
        ]


class Pulse(models.Model):
    """When a process of the installation last gave a sign of life: one row each, overwritten."""

    name = models.TextField(primary_key=True)
    at = models.DateTimeField()


class Tally(models.Model):
    """Something that happened and is in no bucket yet; taken out in the statement that enters it.

    For what has no row of its own that could be marked without disturbing those who work with it.
    """

    id = models.BigAutoField(primary_key=True)
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    kind = models.TextField()
    name = models.TextField()
    at = models.DateTimeField()


class Bucket(models.Model):
    """What happened within a span of time, counted by kind, name and word.

    Everything is entered in several widths at once, so nothing is ever rolled up; narrow ones are
    kept for days, wide ones for a year.

    Args:
        width_s: Seconds it spans.
        began_at: A whole multiple of its width.
        name: Whose: an agent or a tool.
        word: An outcome, or the upper bound of a class of a histogram.
        sum: Seconds, where the kind has any.
    """

    pk = models.CompositePrimaryKey("namespace", "width_s", "kind", "began_at", "name", "word")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    width_s = models.IntegerField()
    kind = models.TextField()
    began_at = models.DateTimeField()
    name = models.TextField()
    word = models.TextField()
    count = models.BigIntegerField()
    sum = models.FloatField(default=0)

    class Meta:
        indexes: ClassVar = [
            # Forgetting what is old.
            models.Index(fields=["width_s", "began_at"], name="bucket_age"),
        ]


class Total(models.Model):
    """The same since the beginning; it only grows.

    ``label`` is a JSON list of name and word, as far as the kind has them.
    """

    pk = models.CompositePrimaryKey("namespace", "kind", "label")
    namespace = models.TextField(default=DEFAULT_NAMESPACE)
    kind = models.TextField()
    label = models.TextField()
    count = models.BigIntegerField()
    sum = models.FloatField(default=0)
    last_at = models.DateTimeField()

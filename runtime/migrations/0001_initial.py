import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import runtime.core.effects
import runtime.core.reviews
import runtime.core.states
import runtime.models

FUNCTIONS = """
-- The clock of the runtime: the statement's time. Test databases replace it by one that is shifted.
-- Never now(), which stands still inside a transaction.
CREATE FUNCTION runtime_now() RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT statement_timestamp() $$;

-- The advisory lock of a worker incarnation: 63 bits of its id.
CREATE FUNCTION runtime_lock_key(worker uuid) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT ('x' || substr(md5(worker::text), 1, 16))::bit(64)::bigint & 9223372036854775807 $$;
"""
FUNCTIONS_GONE = """
DROP FUNCTION runtime_lock_key(uuid);
DROP FUNCTION runtime_now();
"""

# Every step rewrites its task's row: half-full pages keep those updates on their page (HOT), and
# an eager vacuum keeps the dead versions few. The journal is only ever appended to.
STORAGE = """
ALTER TABLE runtime_task SET (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0
);
ALTER TABLE runtime_worker SET (fillfactor = 50);
ALTER TABLE runtime_progress SET (fillfactor = 50);
ALTER TABLE runtime_pulse SET (fillfactor = 50);
"""
STORAGE_GONE = """
ALTER TABLE runtime_task RESET (
    fillfactor, autovacuum_vacuum_scale_factor, autovacuum_vacuum_cost_delay
);
ALTER TABLE runtime_worker RESET (fillfactor);
ALTER TABLE runtime_progress RESET (fillfactor);
ALTER TABLE runtime_pulse RESET (fillfactor);
"""


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.RunSQL(FUNCTIONS, FUNCTIONS_GONE),
        migrations.CreateModel(
            name="ArtifactRef",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "artifact_id",
                        "task_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("artifact_id", models.UUIDField()),
                ("task_id", models.UUIDField()),
                ("namespace", models.TextField(default="default")),
            ],
        ),
        migrations.CreateModel(
            name="Breaker",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace",
                        "tool",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("namespace", models.TextField(default="default")),
                ("tool", models.TextField()),
                ("body", models.JSONField()),
                ("updated_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
            ],
        ),
        migrations.CreateModel(
            name="Task",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("namespace", models.TextField(default="default")),
                ("agent", models.TextField()),
                ("queue", models.TextField(default="default")),
                ("priority", models.SmallIntegerField(default=0)),
                ("state", models.TextField(default=runtime.core.states.State["INITIALIZED"])),
                ("version", models.BigIntegerField()),
                ("situation", models.IntegerField(default=1)),
                ("checkpoint", models.TextField()),
                ("checkpoint_sum", models.TextField()),
                ("codec", models.SmallIntegerField(default=1)),
                ("owner", models.UUIDField(null=True)),
                ("epoch", models.BigIntegerField(default=0)),
                ("attention", models.IntegerField(default=0)),
                ("attended", models.IntegerField(default=0)),
                ("held", models.BooleanField(default=False)),
                ("deaths", models.SmallIntegerField(default=0)),
                ("due_at", models.DateTimeField(null=True)),
                ("hinted_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "parked_as",
                    models.GeneratedField(
                        db_persist=True,
                        expression=models.Case(models.When(owner__isnull=True, then="state")),
                        output_field=models.TextField(null=True),
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "task_id",
                        "seq",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("task_id", models.UUIDField()),
                ("seq", models.BigIntegerField()),
                ("namespace", models.TextField(default="default")),
                ("type", models.TextField()),
                ("v", models.SmallIntegerField(default=1)),
                ("payload", models.TextField()),
                ("codec", models.TextField(default="j1")),
                ("call_id", models.TextField(null=True)),
                ("cause", models.BigIntegerField(null=True)),
                ("event_id", models.TextField(null=True)),
                ("actor", models.TextField()),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Inbox",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("namespace", models.TextField(default="default")),
                ("source", models.TextField()),
                ("event_id", models.TextField()),
                ("kind", models.TextField()),
                ("payload", models.TextField()),
                ("codec", models.TextField(default="j1")),
                ("actor", models.TextField()),
                ("created_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
                ("consumed_at", models.DateTimeField(null=True)),
                ("refused", models.TextField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Manifest",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "namespace",
                        "digest",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("namespace", models.TextField(default="default")),
                ("digest", models.TextField()),
                ("body", models.TextField()),
                ("codec", models.TextField(default="j1")),
                ("created_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
            ],
        ),
        migrations.CreateModel(
            name="Namespace",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("digest_key", models.BinaryField()),
                ("created_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
            ],
        ),
        migrations.CreateModel(
            name="Operation",
            fields=[
                ("id", models.TextField(primary_key=True, serialize=False)),
                ("namespace", models.TextField(default="default")),
                ("task_id", models.UUIDField()),
                ("call_id", models.TextField()),
                ("tool", models.TextField()),
                ("effect", models.TextField()),
                ("status", models.TextField()),
                ("digest", models.TextField()),
                ("same_digest", models.TextField()),
                ("external_id", models.TextField(null=True)),
                ("dispatches", models.IntegerField(default=0)),
                ("epoch", models.BigIntegerField()),
                ("reserved_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
                ("first_dispatched_at", models.DateTimeField(null=True)),
                ("settled_at", models.DateTimeField(null=True)),
                ("note", models.TextField(default="")),
            ],
        ),
        migrations.CreateModel(
            name="Pulse",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Refusal",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("namespace", models.TextField(default="default")),
                ("task_id", models.UUIDField()),
                ("worker_id", models.UUIDField()),
                ("epoch", models.BigIntegerField()),
                ("epoch_now", models.BigIntegerField()),
                ("what", models.TextField()),
                ("operation_id", models.TextField(null=True)),
                ("evidence", models.TextField(null=True)),
                ("at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
            ],
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("namespace", models.TextField(default="default")),
                ("kind", models.TextField()),
                ("status", models.TextField(default="open")),
                ("why", models.TextField()),
                ("question", models.TextField(default="")),
                (
                    "allowed",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField()),
                ),
                ("call_id", models.TextField(null=True)),
                ("operation_id", models.TextField(null=True)),
                ("tool", models.TextField(null=True)),
                ("situation", models.IntegerField()),
                ("seq", models.BigIntegerField()),
                ("snapshot", models.TextField()),
                ("codec", models.TextField(default="j1")),
                ("opened_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
                ("decision", models.TextField(null=True)),
                ("reason", models.TextField(null=True)),
                ("arguments", models.TextField(null=True)),
                ("decided_by", models.TextField(null=True)),
                ("channel", models.TextField(null=True)),
                ("decided_at", models.DateTimeField(null=True)),
                ("closed_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="StepResult",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "task_id",
                        "call_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("task_id", models.UUIDField()),
                ("call_id", models.TextField()),
                ("namespace", models.TextField(default="default")),
                ("position", models.IntegerField()),
                ("tool", models.TextField()),
                ("effect", models.TextField()),
                ("outcome", models.TextField()),
                ("operation_id", models.TextField(null=True)),
                ("digest", models.TextField()),
                ("arguments", models.TextField(null=True)),
                ("args_seq", models.BigIntegerField(null=True)),
                ("args_index", models.IntegerField(null=True)),
                ("result_digest", models.TextField(null=True)),
                ("result", models.TextField(null=True)),
                ("codec", models.TextField(default="j1")),
                ("artifact", models.TextField(null=True)),
                ("summary", models.TextField(default="")),
                ("attempts", models.SmallIntegerField(default=1)),
                ("chain", models.TextField()),
                ("seq", models.BigIntegerField()),
                ("took_ms", models.IntegerField(default=0)),
                ("finished_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("namespace", models.TextField(default="default")),
                ("host", models.TextField()),
                ("pid", models.IntegerField()),
                ("kind", models.TextField(default="worker")),
                (
                    "queues",
                    django.contrib.postgres.fields.ArrayField(base_field=models.TextField()),
                ),
                ("slots", models.IntegerField()),
                ("held", models.IntegerField(default=0)),
                ("memory_mb", models.IntegerField(default=0)),
                ("version", models.TextField(default="")),
                ("state", models.TextField(default="running")),
                ("started_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
                ("renewed_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
                ("expires_at", models.DateTimeField()),
                ("lock_seen_since", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("death", models.TextField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Artifact",
            fields=[
                ("id", models.UUIDField(primary_key=True, serialize=False)),
                ("namespace", models.TextField(default="default")),
                ("digest", models.TextField()),
                ("size", models.BigIntegerField()),
                ("codec", models.TextField(default="j1")),
                ("data", models.BinaryField(null=True)),
                ("location", models.TextField(null=True)),
                ("created_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("namespace", "digest"), name="artifact_is_stored_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("data__isnull", False), ("location__isnull", True)),
                            models.Q(("data__isnull", True), ("location__isnull", False)),
                            _connector="OR",
                        ),
                        name="artifact_has_one_place",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Callback",
            fields=[
                (
                    "task",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="callback",
                        serialize=False,
                        to="runtime.task",
                    ),
                ),
                ("namespace", models.TextField(default="default")),
                ("url", models.TextField()),
                ("due_at", models.DateTimeField(null=True)),
                ("attempts", models.SmallIntegerField(default=0)),
                ("answer", models.SmallIntegerField(null=True)),
                ("failure", models.TextField(default="")),
                ("delivered_at", models.DateTimeField(null=True)),
                ("given_up_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
            ],
        ),
        migrations.CreateModel(
            name="Progress",
            fields=[
                (
                    "task",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="progress",
                        serialize=False,
                        to="runtime.task",
                    ),
                ),
                ("namespace", models.TextField(default="default")),
                ("call_id", models.TextField()),
                ("body", models.TextField()),
                ("codec", models.TextField(default="j1")),
                ("at", models.DateTimeField(db_default=runtime.models.DatabaseNow())),
            ],
        ),
        migrations.CreateModel(
            name="TaskSpec",
            fields=[
                (
                    "task",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="spec",
                        serialize=False,
                        to="runtime.task",
                    ),
                ),
                ("namespace", models.TextField(default="default")),
                ("title", models.TextField(default="")),
                ("labels", models.JSONField(default=dict)),
                ("input", models.TextField()),
                ("codec", models.TextField(default="j1")),
                ("manifest_digest", models.TextField()),
                ("key", models.TextField(null=True)),
                ("request_digest", models.TextField()),
                ("created_by", models.TextField(default="system")),
                ("search_text", models.TextField(default="")),
                ("result", models.TextField(null=True)),
                ("outcome_reason", models.TextField(null=True)),
            ],
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(
                    ("due_at__isnull", False), ("held", False), ("owner__isnull", True)
                ),
                fields=["queue", "priority", "due_at"],
                name="task_due",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(
                    ("deaths__gt", 0),
                    ("due_at__isnull", False),
                    ("held", False),
                    ("owner__isnull", True),
                ),
                fields=["queue"],
                name="task_accused",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("owner__isnull", False)), fields=["owner"], name="task_owned"
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(
                    ("attention__gt", models.F("attended")), ("owner__isnull", True)
                ),
                fields=["id"],
                name="task_unheard",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(
                condition=models.Q(("parked_as__isnull", False)),
                fields=["namespace", "parked_as", "id"],
                name="task_parked",
            ),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(fields=["namespace", "agent", "id"], name="task_agent"),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            runtime.core.states.State["COMPENSATING"],
                            runtime.core.states.State["CONSOLIDATING"],
                            runtime.core.states.State["INITIALIZED"],
                            runtime.core.states.State["PLANNING"],
                            runtime.core.states.State["RETRYING"],
                            runtime.core.states.State["TERMINATED_ABORTED"],
                            runtime.core.states.State["TERMINATED_FAILED"],
                            runtime.core.states.State["TERMINATED_SUCCESS"],
                            runtime.core.states.State["WAITING_CHILDREN"],
                            runtime.core.states.State["WAITING_EXTERNAL_EVENT"],
                            runtime.core.states.State["WAITING_HUMAN"],
                            runtime.core.states.State["WAITING_TIMER"],
                            runtime.core.states.State["WAITING_TOOL_CALL"],
                        ],
                    )
                ),
                name="task_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("finished_at__isnull", False),
                        (
                            "state__in",
                            [
                                runtime.core.states.State["TERMINATED_ABORTED"],
                                runtime.core.states.State["TERMINATED_FAILED"],
                                runtime.core.states.State["TERMINATED_SUCCESS"],
                            ],
                        ),
                    ),
                    models.Q(
                        models.Q(
                            (
                                "state__in",
                                [
                                    runtime.core.states.State["TERMINATED_ABORTED"],
                                    runtime.core.states.State["TERMINATED_FAILED"],
                                    runtime.core.states.State["TERMINATED_SUCCESS"],
                                ],
                            ),
                            _negated=True,
                        ),
                        ("finished_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="task_finished_iff_terminal",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        (
                            "state__in",
                            [
                                runtime.core.states.State["TERMINATED_ABORTED"],
                                runtime.core.states.State["TERMINATED_FAILED"],
                                runtime.core.states.State["TERMINATED_SUCCESS"],
                            ],
                        ),
                        _negated=True,
                    ),
                    models.Q(("due_at__isnull", True), ("owner__isnull", True)),
                    _connector="OR",
                ),
                name="task_terminal_has_no_owner",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(("owner__isnull", True), ("epoch__gt", 0), _connector="OR"),
                name="task_owner_has_epoch",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(("attended__lte", models.F("attention"))),
                name="task_attended_follows_attention",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("deaths__gte", 0),
                    ("epoch__gte", 0),
                    ("situation__gte", 1),
                    ("version__gte", 1),
                ),
                name="task_numbers_are_positive",
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(("seq__gte", 1)), name="event_seq_is_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.UniqueConstraint(
                condition=models.Q(("event_id__isnull", False)),
                fields=("task_id", "event_id"),
                name="event_id_is_unique_in_its_task",
            ),
        ),
        migrations.AddField(
            model_name="inbox",
            name="task",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="inbox",
                to="runtime.task",
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(fields=["task_id", "same_digest"], name="operation_of_task"),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("external_id__isnull", False)),
                fields=["external_id"],
                name="operation_external",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        [
                            "reserved",
                            "dispatched",
                            "confirmed",
                            "failed",
                            "in_doubt",
                            "reconciled",
                            "compensated",
                        ],
                    )
                ),
                name="operation_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "effect__in",
                        [
                            runtime.core.effects.Effect["CHECKED"],
                            runtime.core.effects.Effect["KEYED"],
                            runtime.core.effects.Effect["LOCAL"],
                            runtime.core.effects.Effect["ONCE"],
                        ],
                    )
                ),
                name="operation_is_never_a_read",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["reserved", "dispatched", "in_doubt"])),
                fields=("task_id", "call_id"),
                name="operation_one_live_call_per_ordinal",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("dispatches", 0), ("first_dispatched_at__isnull", True)),
                    models.Q(("dispatches__gt", 0), ("first_dispatched_at__isnull", False)),
                    _connector="OR",
                ),
                name="operation_dispatched_has_its_time",
            ),
        ),
        migrations.AddIndex(
            model_name="refusal",
            index=models.Index(fields=["task_id", "id"], name="refusal_of_task"),
        ),
        migrations.AddIndex(
            model_name="refusal",
            index=models.Index(fields=["worker_id", "id"], name="refusal_of_worker"),
        ),
        migrations.AddField(
            model_name="review",
            name="task",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="reviews",
                to="runtime.task",
            ),
        ),
        migrations.AddConstraint(
            model_name="stepresult",
            constraint=models.CheckConstraint(
                condition=models.Q(("outcome__in", ["succeeded", "failed", "skipped"])),
                name="step_result_outcome_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="stepresult",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "effect__in",
                        [
                            runtime.core.effects.Effect["CHECKED"],
                            runtime.core.effects.Effect["KEYED"],
                            runtime.core.effects.Effect["LOCAL"],
                            runtime.core.effects.Effect["ONCE"],
                            runtime.core.effects.Effect["READ"],
                        ],
                    )
                ),
                name="step_result_effect_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="stepresult",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("arguments__isnull", False), ("args_seq__isnull", False), _connector="OR"
                ),
                name="step_result_knows_its_arguments",
            ),
        ),
        migrations.AddConstraint(
            model_name="stepresult",
            constraint=models.UniqueConstraint(
                fields=("task_id", "position"), name="step_result_position_is_used_once"
            ),
        ),
        migrations.AddIndex(
            model_name="worker",
            index=models.Index(
                condition=models.Q(("state__in", ["running", "draining"])),
                fields=["id"],
                name="worker_living",
            ),
        ),
        migrations.AddConstraint(
            model_name="worker",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["running", "draining", "stopped", "dead"])),
                name="worker_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="worker",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("ended_at__isnull", False), ("state__in", ["stopped", "dead"])),
                    models.Q(
                        models.Q(("state__in", ["stopped", "dead"]), _negated=True),
                        ("ended_at__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="worker_ended_iff_gone",
            ),
        ),
        migrations.AddIndex(
            model_name="callback",
            index=models.Index(
                condition=models.Q(("due_at__isnull", False)),
                fields=["due_at"],
                name="callback_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="callback",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("delivered_at__isnull", True), ("given_up_at__isnull", True), _connector="OR"
                ),
                name="callback_is_settled_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="callback",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("due_at__isnull", True),
                    models.Q(("delivered_at__isnull", True), ("given_up_at__isnull", True)),
                    _connector="OR",
                ),
                name="callback_settled_is_not_due",
            ),
        ),
        migrations.AddConstraint(
            model_name="taskspec",
            constraint=models.UniqueConstraint(
                condition=models.Q(("key__isnull", False)),
                fields=("namespace", "key"),
                name="task_key_is_used_once",
            ),
        ),
        migrations.AddIndex(
            model_name="inbox",
            index=models.Index(
                condition=models.Q(("consumed_at__isnull", True)),
                fields=["task", "id"],
                name="inbox_waiting",
            ),
        ),
        migrations.AddConstraint(
            model_name="inbox",
            constraint=models.UniqueConstraint(
                fields=("namespace", "task", "source", "event_id"),
                name="inbox_event_is_stored_once",
            ),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["task", "opened_at"], name="review_of_task"),
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(
                condition=models.Q(("status", "open")),
                fields=["namespace", "opened_at"],
                name="review_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "status__in",
                        ["open", "decided", "closed", "cancelled", "superseded", "expired"],
                    )
                ),
                name="review_status_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            runtime.core.reviews.Kind["CHECKPOINT_UNREADABLE"],
                            runtime.core.reviews.Kind["IN_DOUBT"],
                            runtime.core.reviews.Kind["KILLED_WORKER"],
                            runtime.core.reviews.Kind["PLAN_INVALID"],
                            runtime.core.reviews.Kind["QUESTION"],
                            runtime.core.reviews.Kind["REPEATED_WRITE"],
                            runtime.core.reviews.Kind["RETRIES_EXHAUSTED"],
                        ],
                    )
                ),
                name="review_kind_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.UniqueConstraint(
                condition=models.Q(("status__in", ["open", "decided"])),
                fields=("task",),
                name="review_one_open_per_task",
            ),
        ),
        migrations.AddConstraint(
            model_name="review",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("status", "decided"), _negated=True),
                    models.Q(
                        ("decided_at__isnull", False),
                        ("decided_by__isnull", False),
                        ("decision__isnull", False),
                    ),
                    _connector="OR",
                ),
                name="review_decided_names_its_decider",
            ),
        ),
        migrations.RunSQL(STORAGE, STORAGE_GONE),
    ]

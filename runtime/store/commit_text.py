"""The statement of a step commit: its blocks from ``sql/commit.sql``, joined and numbered.

Which blocks a commit needs depends on what was decided; each joined text is made once.
"""

import re
from collections.abc import Mapping
from functools import cache
from uuid import UUID

from runtime.core import checkpoint as cp
from runtime.core.payloads import CODEC, encode
from runtime.core.records import OperationChange, Records, ResultRow, project
from runtime.core.states import TERMINAL
from runtime.core.story import Decision
from runtime.store.commits import Attached, Commit
from runtime.store.session import blocks


def prepared(step: Commit) -> tuple[str, list[object]]:
    """Give the statement of a commit with its parameters numbered, and them in that order."""
    records = project(step.decision.passages)
    text, order = _numbered(_shape(step, records))
    params = _params(step, records)
    return text, [params[name] for name in order]


def statement_of(step: Commit) -> tuple[str, Mapping[str, object]]:
    """Give the statement of a commit with named parameters, and them: for those who look at it."""
    records = project(step.decision.passages)
    return _statement(_shape(step, records)), _params(step, records)


type Shape = tuple[str, ...]


def _shape(step: Commit, records: Records) -> Shape:
    """Name the blocks that this commit needs, in their order."""
    ends = records.ended
    leaves = step.parks or ends
    wanted = (
        ("guard_parks", leaves),
        ("guard_lease", step.dispatches),
        ("guard_operation", records.operation is not None),
        ("moved", True),
        ("moved_holds", records.held is not None),
        ("moved_parks", leaves),
        ("moved_ends", ends),
        ("moved_from", True),
        *(("event", True) for _ in step.decision.passages),
        ("events_end", True),
        ("result", records.result is not None),
        ("operation", records.operation is not None),
        ("review_close", records.closed is not None),
        ("review_open", records.opened is not None),
        ("review_open_after", records.opened is not None and records.closed is not None),
        ("inbox", bool(step.consumed)),
        ("ending", ends),
        ("done", True),
    )
    return ("guard", *(name for name, needed in wanted if needed))


@cache
def _statement(shape: Shape) -> str:
    """Join the blocks; ``)`` and ``,`` between the CTEs stand in the blocks themselves.

    One row of VALUES per event, its parameters numbered: an array per column would cost more than
    the whole rest of the commit, because psycopg writes arrays in Python.
    """
    parts = blocks("commit")
    text: list[str] = []
    events = 0
    for name in shape:
        if name == "event":
            row = parts[name].rstrip().replace("%(ev_", f"%(ev{events}_")
            text.append((",\n" if events else "") + row)
            events += 1
        else:
            text.append(("\n" if name == "events_end" else "") + parts[name])
    lines = [line for line in "".join(text).splitlines() if not line.lstrip().startswith("--")]
    return " ".join(" ".join(lines).split())


@cache
def _numbered(shape: Shape) -> tuple[str, tuple[str, ...]]:
    """Give a statement with its parameters numbered, and their names in that order.

    psycopg keeps a statement with named parameters only up to fifty of them and takes a longer one
    apart anew at every call.
    """
    order: dict[str, int] = {}
    text = re.sub(
        r"%\((\w+)\)s",
        lambda found: f"${order.setdefault(found[1], len(order) + 1)}",
        _statement(shape),
    )
    return text, tuple(order)


def _params(step: Commit, records: Records) -> Mapping[str, object]:
    after, holder = step.decision.after, step.holder
    text = cp.encode(after)
    params: dict[str, object] = {
        # As text: psycopg writes uuids and instants in Python, and text in C.
        "task": str(holder.task_id),
        "owner": str(holder.owner),
        "epoch": holder.epoch,
        "version": step.version,
        "attended": step.attended,
        "new_version": after.seq,
        "situation": after.situation,
        "state": after.state.value,
        "checkpoint": text,
        "checkpoint_sum": cp.checksum(text),
        "deaths": step.deaths,
        "codec": CODEC,
        "held": records.held,
        "due_at": None if after.state in TERMINAL else step.due_at,
        "due_now": step.due_now and after.state not in TERMINAL,
    }
    _event_params(params, step.decision)
    if records.result is not None:
        params |= _result_params(records.result, step.attached)
    if records.operation is not None:
        params |= _operation_params(records.operation, step.attached)
    if records.opened is not None:
        params |= _review_params(records, step.attached)
    if records.closed is not None:
        params |= {"rc_id": UUID(records.closed.review_id), "rc_status": records.closed.status}
    if step.consumed:
        params["in_id"] = [one.inbox_id for one in step.consumed]
        params["in_refused"] = [one.refused for one in step.consumed]
    if records.ended:
        params["end_result"] = step.attached.end_result
        params["end_reason"] = step.attached.end_reason
        params["end_search"] = step.attached.end_search
    return params


def _event_params(params: dict[str, object], decision: Decision) -> None:
    for number, passage in enumerate(decision.passages):
        event, name = passage.event, f"ev{number}_"
        params[name + "seq"] = event.seq
        params[name + "type"] = event.type.value
        params[name + "v"] = event.v
        params[name + "payload"] = encode(event.payload).text
        params[name + "call"] = event.call_id
        params[name + "cause"] = event.cause
        params[name + "id"] = event.event_id
        params[name + "actor"] = event.actor
        params[name + "at"] = event.at.isoformat()


def _result_params(row: ResultRow, attached: Attached) -> dict[str, object]:
    return {
        "re_call": row.call_id,
        "re_position": row.position,
        "re_tool": row.tool,
        "re_effect": row.effect.value,
        "re_outcome": row.outcome,
        "re_operation": row.operation_id,
        "re_digest": row.digest,
        "re_arguments": attached.arguments if row.args_seq is None else None,
        "re_args_seq": row.args_seq,
        "re_args_index": row.args_index,
        "re_result_digest": row.result_digest,
        "re_result": attached.result,
        "re_artifact": attached.artifact,
        "re_summary": row.summary,
        "re_attempts": row.attempts,
        "re_chain": row.chain,
        "re_seq": row.seq,
        "re_took": row.took_ms,
    }


def _operation_params(change: OperationChange, attached: Attached) -> dict[str, object]:
    return {
        "op_id": change.operation_id,
        "op_from": list(change.allowed_from),
        "op_call": change.call_id,
        "op_tool": change.tool,
        "op_effect": change.effect.value,
        "op_status": change.status,
        "op_digest": change.digest,
        "op_same": attached.same_digest or change.digest,
        "op_external": attached.external_id,
        "op_dispatched": change.dispatched,
        "op_settled": change.settled,
        "op_note": change.note,
    }


def _review_params(records: Records, attached: Attached) -> dict[str, object]:
    opened = records.opened
    assert opened is not None  # noqa: S101 (checked by the caller)
    return {
        "rv_id": UUID(opened.review_id),
        "rv_kind": opened.kind,
        "rv_why": opened.why,
        "rv_question": opened.question,
        "rv_allowed": list(opened.allowed),
        "rv_call": opened.call_id,
        "rv_operation": opened.operation_id,
        "rv_tool": opened.tool,
        "rv_seq": opened.seq,
        "rv_snapshot": attached.snapshot,
    }

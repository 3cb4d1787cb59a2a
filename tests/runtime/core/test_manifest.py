"""The manifest: refused with all its problems at once, narrowed and never widened, pinned."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.errors import ManifestRefused, ManifestWidens
from runtime.core.manifest import (
    Limits,
    Manifest,
    from_pinned,
    narrow,
    parse,
    pinned,
    pinned_digest,
)

AGENTS: dict[str, Any] = {
    "goal": "Settle the after-sales request",
    "role": "a careful clerk",
    "tools": ["get_order", "refund_order", "notify_customer"],
    "limits": {"steps": 40, "tokens": 60_000, "money_usd": "1.00", "writes": 2},
    "approval": {"notify_customer": {"waived": "template mail, no free text"}},
    "retry": {"attempts": 3, "first_s": 1, "factor": 2, "cap_s": 60},
    "on_failure": "fail",
    "planner": {"kind": "script"},
    "labels": {"team": "returns"},
}


def _problems(data: object) -> tuple[str, ...]:
    with pytest.raises(ManifestRefused) as refused:
        parse(data)
    return tuple(refused.value.problems)


def test_an_empty_manifest_has_generous_limits() -> None:
    assert parse({}).limits == Limits(
        steps=10_000, tokens=None, money_usd=None, writes=100, deadline_s=604_800
    )


def test_money_is_a_decimal_and_never_a_float() -> None:
    assert parse(AGENTS).limits.money_usd == Decimal("1.00")
    assert "write money as a text" in _problems({"limits": {"money_usd": 1.0}})[0]


def test_a_waiver_stands_with_its_reason() -> None:
    waived = {"notify_customer": {"waived": "template mail, no free text"}, "get_order": "never"}
    manifest = parse(AGENTS | {"approval": waived})

    assert manifest.waiver("notify_customer") == "template mail, no free text"
    assert manifest.waiver("get_order") is None
    assert manifest.waiver("refund_order") is None


@pytest.mark.parametrize(
    ("field", "value", "named"),
    [
        ("loop", {"warn": 3, "stop": 5}, "'loop'"),
        ("acceptance", [{"path": "$.a", "equals": 1}], "'acceptance'"),
        ("memory", {"scopes": []}, "'memory'"),
        ("min_confidence", 0.5, "'min_confidence'"),
        ("planner", {"kind": "openai", "model": "m"}, "'planner' with kind 'openai'"),
        ("on_failure", "compensate", "'on_failure' with 'compensate'"),
        ("approval", {"x": {"of": 1}}, "'approval.x' with a rule that asks a person"),
        ("approval", {"x": "always"}, "'approval.x' with a rule that asks a person"),
    ],
)
def test_what_no_feature_keeps_yet_is_refused_by_name(
    field: str, value: object, named: str
) -> None:
    assert _problems({field: value}) == (
        f"manifest field {named} is not available in this version",
    )


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ([], "a manifest is a JSON object"),
        ({"nope": 1}, "nope"),
        ({1: 2}, "1"),
        ({"goal": 3}, "goal"),
        ({"tools": ["a b"]}, "tools.0"),
        ({"tools": ["a\n"]}, "tools.0"),
        ({"tools": ["a", "a"]}, "tools names a more than once"),
        ({"tools": "get_order"}, "tools"),
        ({"limits": {"steps": 0}}, "limits.steps"),
        ({"limits": {"steps": True}}, "limits.steps"),
        ({"limits": {"steps": "40"}}, "limits.steps"),
        ({"limits": {"deadline_s": float("nan")}}, "limits.deadline_s"),
        ({"limits": {"money_usd": "NaN"}}, "limits.money_usd"),
        ({"limits": {"money_usd": "-1"}}, "limits.money_usd"),
        ({"limits": None}, "limits"),
        ({"retry": {"attempts": 0}}, "retry.attempts"),
        ({"approval": {"x": {"waived": ""}}}, "approval.x.waived"),
        ({"approval": {"x": 4}}, "approval.x"),
        ({"tools": ["a"], "approval": {"b": "never"}}, "approval names b"),
        ({"planner": {"kind": "script", "model": "m"}}, "planner.model"),
        ({"on_failure": "explode"}, "on_failure"),
        ({"labels": {"a": 1}}, "labels.a"),
    ],
)
def test_what_is_wrong_is_named_by_its_place(data: object, where: str) -> None:
    problems = _problems(data)

    assert len(problems) == 1
    assert problems[0].startswith(where)


def test_all_problems_come_at_once() -> None:
    problems = _problems({"loop": {}, "nope": 1, "limits": {"steps": 0, "writes": -1}})

    assert len(problems) == 4


# --- narrowing ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("submitted", "field"),
    [
        ({"tools": ["get_order", "delete_all"]}, "tools"),
        ({"limits": {"steps": 41}}, "limits.steps"),
        ({"limits": {"tokens": None}}, "limits.tokens"),
        ({"limits": {"money_usd": "1.01"}}, "limits.money_usd"),
        ({"limits": {"writes": 3}}, "limits.writes"),
        ({"limits": {"deadline_s": 604_801}}, "limits.deadline_s"),
        ({"retry": {"attempts": 4}}, "retry.attempts"),
        ({"approval": {"refund_order": {"waived": "trust me"}}}, "approval.refund_order"),
        ({"approval": {"refund_order": "never"}}, "approval.refund_order"),
        ({"role": "an eager clerk"}, "role"),
    ],
)
def test_widening_is_refused_and_names_the_field(submitted: dict[str, Any], field: str) -> None:
    with pytest.raises(ManifestWidens) as refused:
        narrow(parse(AGENTS), submitted)

    assert refused.value.field == field


def test_what_is_not_submitted_stays_the_agents() -> None:
    assert narrow(parse(AGENTS), {}) == parse(AGENTS)


def test_repeating_the_agents_manifest_changes_nothing() -> None:
    assert narrow(parse(AGENTS), AGENTS) == parse(AGENTS)


def test_goal_and_labels_may_be_replaced() -> None:
    manifest = narrow(parse(AGENTS), {"goal": "Just look", "labels": {"case": "7"}})

    assert (manifest.goal, manifest.labels) == ("Just look", {"case": "7"})


def test_a_tool_left_out_takes_its_waiver_along() -> None:
    manifest = narrow(parse(AGENTS), {"tools": ["get_order"]})

    assert manifest.tools == ("get_order",)
    assert manifest.approval == {}


def test_a_repeated_waiver_keeps_the_agents_reason() -> None:
    manifest = narrow(parse(AGENTS), {"approval": {"notify_customer": {"waived": "mine"}}})

    assert manifest.waiver("notify_customer") == "template mail, no free text"


def test_an_agent_without_a_limit_takes_one() -> None:
    manifest = narrow(parse({}), {"limits": {"tokens": 5}, "tools": ["a"]})

    assert (manifest.limits.tokens, manifest.tools) == (5, ("a",))


_limits = st.fixed_dictionaries(
    {},
    optional={
        "steps": st.integers(1, 5),
        "tokens": st.none() | st.integers(1, 5),
        "money_usd": st.none() | st.sampled_from(["0", "0.5", "1"]),
        "writes": st.integers(0, 5),
        "deadline_s": st.integers(1, 5),
    },
)


@given(_limits, _limits)
def test_no_submission_ever_ends_above_the_agents_limits(
    agents: dict[str, Any], submitted: dict[str, Any]
) -> None:
    base = parse({"limits": agents})

    try:
        allowed = narrow(base, {"limits": submitted}).limits
    except ManifestWidens:
        return

    for name in Limits.model_fields:
        ceiling, value = getattr(base.limits, name), getattr(allowed, name)
        assert ceiling is None or (value is not None and value <= ceiling)


# --- pinning --------------------------------------------------------------------------------------


def _pinned(manifest: Manifest, **hashes: str) -> dict[str, Any]:
    return pinned(manifest, hashes, "script:1", 1)


def test_a_pinned_manifest_reads_back() -> None:
    manifest = parse(AGENTS)

    assert from_pinned(_pinned(manifest, get_order="h1")) == manifest


def test_an_open_list_of_tools_is_pinned_as_those_there_are() -> None:
    document = _pinned(parse({}), b="2", a="1")

    assert document["manifest"]["tools"] == ["a", "b"]


def test_the_digest_moves_with_every_part_and_with_nothing_else() -> None:
    key = b"k"
    base = pinned_digest(key, _pinned(parse(AGENTS), a="1", b="2"))

    same = pinned_digest(key, _pinned(parse(dict(reversed(AGENTS.items()))), b="2", a="1"))
    others = {
        pinned_digest(key, _pinned(parse(AGENTS), a="1", b="3")),
        pinned_digest(key, _pinned(parse(AGENTS | {"goal": "x"}), a="1", b="2")),
        pinned_digest(key, pinned(parse(AGENTS), {"a": "1", "b": "2"}, "script:2", 1)),
        pinned_digest(key, pinned(parse(AGENTS), {"a": "1", "b": "2"}, "script:1", 2)),
    }

    assert same == base
    assert len(others | {base}) == 5


def test_a_document_without_a_manifest_is_refused() -> None:
    with pytest.raises(ManifestRefused):
        from_pinned({})

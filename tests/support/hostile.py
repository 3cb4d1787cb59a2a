"""Text that attacks whoever shows it, in every field that agents, tools and programs can fill."""

from typing import Final
from uuid import UUID, uuid4

from runtime import api
from runtime.core import commands as c
from runtime.core.effects import Effect
from runtime.core.keys import arguments_digest, digest
from runtime.core.payloads import encode, summarise
from runtime.core.retry import ErrorKind
from runtime.store import leases
from runtime.store.commits import Attached
from runtime.store.leases import Incarnation
from tests.agents_for_tests.clerk import NAME
from tests.agents_for_tests.hand import Hand

MARKUP: Final = (
    "<script>window.pwned=1</script><img src=x onerror=window.pwned=1>"
    "\"'><svg/onload=window.pwned=1></textarea></pre>{{7*7}}{% load static %}"
)
SIGNS: Final = (
    "refund \u202egnp.exe a\u200bb bob@\u0430pple.com \x1b[31mred\x1b[0m محمد علي שלום עולם"
)
LONG: Final = "w" * 10_000
ALL: Final = (MARKUP, SIGNS, LONG)
#: What must never stand in a page as it came.
NEVER: Final = (
    "<script>window",
    "<img src=x",
    "<svg/onload",
    "</textarea></pre>",
    "\u202e",
    "\u200b",
    "\x1b",
    ">49<",
)

type Samples = dict[str, str]


def fill(text: str) -> Samples:
    """Fill every field with a text; gives the ids that addresses are made of."""
    short = text.replace("\x1b", "")[:180]
    ids = {kind: _submit(text, short) for kind in ("long", "failed", "asking", "retrying")}
    ids |= {kind: _submit(text, short) for kind in ("writing", "done")}
    _calls(ids["long"], text)
    _calls(ids["done"], text).finish({text: text})
    Hand(ids["failed"]).start().begin(tool=short, effect=Effect.READ).fail(
        text, kind=ErrorKind.PERMANENT
    )
    Hand(ids["asking"]).start().read(result=text).ask(text)
    Hand(ids["retrying"]).start().begin(tool=short).fail(text)
    Hand(ids["writing"]).start().begin(tool=short, effect=Effect.ONCE).do(c.Doubted(text))
    api.pause(ids["retrying"], reason=text[:1000], by=f"human:{short}")
    leases.register(Incarnation(uuid4(), short, 4711, "worker", [short], 2, short), lease_s=600)
    review = str(api.task(ids["asking"]).review_id)
    found = {kind: str(task_id) for kind, task_id in ids.items()}
    return found | {"review": review, "middle": found["done"], "agent": NAME}


def _submit(text: str, short: str) -> UUID:
    return api.submit(
        NAME,
        {"order_id": text, "note": text},
        title=short,
        labels={short[:100]: short},
        key=f"{short[:100]}{uuid4()}",
        manifest={"goal": text[:1000]},
    ).id


def _calls(task_id: UUID, text: str) -> Hand:
    """Make a read and a write whose arguments, results and ids outside are the text."""
    hand = Hand(task_id).start()
    for effect in (Effect.READ, Effect.KEYED):
        arguments = {"order_id": text, text[:100]: [text, {text[:50]: text}]}
        marks = arguments_digest(hand.desk.key, encode(arguments).text)
        decided = hand.decided("look", effect)
        decided = c.Decided("look", effect, marks, arguments, decided.operation_id)
        payload = encode({text: text})
        mark = digest(hand.desk.key, "result", payload.text)
        if effect is not Effect.READ:
            hand.do(c.Begin(decided))
        hand.do(
            c.Succeeded(decided if effect is Effect.READ else None, mark, summarise(text), 5),
            Attached(
                result=payload.text,
                arguments=encode(arguments).text if effect is Effect.READ else None,
                external_id=text[:200] if effect is not Effect.READ else None,
            ),
        )
    return hand

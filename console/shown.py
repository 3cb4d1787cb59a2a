"""The digest of what a decider was shown: pages and API post it back with the decision."""

import hashlib

from runtime import api
from runtime.core.keys import canonical
from runtime.core.payloads import encode


def digest(item: api.ReviewView) -> str:
    """Digest everything about an item that a decision rests on and that never changes later.

    Compared only, never a proof of anything: where the task stands is `situation`'s part.
    """
    rests_on = {
        "kind_of_object": "signalbox/1/review",
        "id": str(item.id),
        "task_id": str(item.task_id),
        "kind": item.kind,
        "why": item.why,
        "question": item.question,
        "allowed": list(item.allowed),
        "call_id": item.call_id,
        "operation_id": item.operation_id,
        "tool": item.tool,
        "snapshot": item.snapshot,
    }
    return hashlib.sha256(canonical(encode(rests_on).text)).hexdigest()

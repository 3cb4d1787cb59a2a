"""What an answer of a page shows."""

import re
from uuid import UUID


def shown(answer: object) -> list[UUID]:
    """Give the tasks whose rows an answer has, in their order."""
    found = re.findall(rb'data-task="([0-9a-f-]{36})"', answer.content)  # type: ignore[attr-defined]
    return [UUID(task_id.decode()) for task_id in found]

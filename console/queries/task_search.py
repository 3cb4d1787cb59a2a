"""The one search box: an id or its beginning, an operation, an external id, or words.

What is rare is looked up by its index and the list is made of it; what is common is met soon
enough on the way through the list, so that neither reads much more than it shows.
"""

import re
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db.models import BooleanField, Exists, F, Func, OuterRef, Q, Value

from console.queries.base import NAMESPACE
from runtime.models import Operation, Task, TaskSpec

#: Up to so many hits are looked up; more are common.
FEW: Final = 2000
SAME_EXTERNAL_ID: Final = 100
#: The index knows words by three letters.
SHORTEST: Final = 3
_ID_HEX: Final = 32
_SHORTEST_PREFIX: Final = 8
_PREFIX: Final = re.compile(r"[0-9a-f-]{8,36}", re.IGNORECASE)


class ILike(Func):
    """`ILIKE`, which the index of words serves; Django's own compares upper-cased copies."""

    template = "(%(expressions)s)"
    arg_joiner = " ILIKE "
    output_field: Any = BooleanField()


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search came to.

    Args:
        ids: Found by a name of their own, or by words that are rare.
        is_common: There are more by words than `FEW`.
    """

    ids: tuple[UUID, ...]
    is_common: bool


def look_up(q: str) -> Hits:
    """Look for what somebody typed; must hold: it is not too short."""
    named = _named(q)
    found = list(_by_words(q).values_list("task_id", flat=True)[: FEW + 1])
    is_common = len(found) > FEW
    return Hits(tuple({*named, *(() if is_common else found)}), is_common)


def condition(hits: Hits, q: str) -> Q:
    """Give the condition that lets the hits through."""
    named = Q(id__in=hits.ids)
    if not hits.is_common:
        return named
    return named | Q(Exists(_by_words(q).filter(task_id=OuterRef("pk"))))


def _by_words(q: str) -> Any:
    escaped = q.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    like = ILike(F("search_text"), Value(f"%{escaped}%"))
    return TaskSpec.objects.filter(like, namespace=NAMESPACE)


def _named(q: str) -> list[UUID]:
    operations = Operation.objects.filter(namespace=NAMESPACE)
    found: set[UUID] = set(operations.filter(id=q).values_list("task_id", flat=True))
    outside = operations.filter(external_id=q).values_list("task_id", flat=True)
    found |= set(outside[:SAME_EXTERNAL_ID])
    return [*found, *_by_id(q)]


def _by_id(q: str) -> list[UUID]:
    digits = q.replace("-", "")
    if not _PREFIX.fullmatch(q) or not _SHORTEST_PREFIX <= len(digits) <= _ID_HEX:
        return []
    low, high = UUID(digits.ljust(_ID_HEX, "0")), UUID(digits.ljust(_ID_HEX, "f"))
    tasks = Task.objects.filter(namespace=NAMESPACE, id__gte=low, id__lte=high)
    return list(tasks.order_by("id").values_list("id", flat=True)[:FEW])

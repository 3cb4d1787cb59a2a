"""What a histogram can tell: quantiles from counts of classes with upper bounds.

Pure, and honest about its grain: a quantile is told within its class, never finer.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

BEYOND: Final = -1.0
"""The class of what exceeds every bound."""
_LOWEST: Final = 0.1
"""Where the first class begins, as a part of its upper bound."""


def quantile(counts: Mapping[float, int], share: float, bounds: Sequence[float]) -> float | None:
    """Estimate the value below which a share of the observations lies; None without any.

    Within a class the values are taken to lie evenly on a logarithmic scale, as durations do.
    What lies beyond all bounds is told as the highest one: at least that.

    Args:
        counts: How many observations by the upper bound of their class; `BEYOND` for the rest.
        share: Between 0 and 1.
        bounds: The bounds in use; those of `counts` are added, should they be others.
    """
    wanted = share * sum(counts.values())
    if wanted <= 0:
        return None
    below, lower = 0, 0.0
    for bound in sorted({*bounds, *(bound for bound in counts if bound > 0)}):
        count = counts.get(bound, 0)
        if count and below + count >= wanted:
            return _between(lower or bound * _LOWEST, bound, (wanted - below) / count)
        below, lower = below + count, bound
    return lower


def _between(lower: float, upper: float, part: float) -> float:
    return lower * math.pow(upper / lower, part)

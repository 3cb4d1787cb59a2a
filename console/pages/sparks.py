"""Small drawings without axes: one row of numbers, and the one before behind it. Pure."""

from dataclasses import dataclass

from console.pages.charts import Point, Values, path_of


@dataclass(frozen=True, slots=True)
class Spark:
    """A small drawing without axes: this hour, and the one before behind it."""

    width: int
    height: int
    line: str
    area: str
    ghost: str
    dot: tuple[float, float] | None


def spark(now: Values, before: Values, *, width: int = 240, height: int = 44) -> Spark | None:
    """Draw two rows over each other on one scale; None when neither holds anything.

    Args:
        now: The row that matters.
        before: The one behind it.
        width: Of the drawing.
        height: Of the drawing.
    """
    known = [value for row in (now, before) for value in row if value is not None]
    highest = max(known, default=0)
    if highest <= 0:
        return None

    def points(row: Values) -> list[Point]:
        step = (width - 8) / max(len(row) - 1, 1)
        room = height - 8
        return [
            None
            if value is None
            else (round(4 + at * step, 1), round(height - 4 - value / highest * room, 1))
            for at, value in enumerate(row)
        ]

    mine = points(now)
    ends = [point for point in mine if point is not None]
    area = ""
    if len(ends) > 1 and None not in mine:
        area = f"{path_of(mine)}L{ends[-1][0]} {height - 4}L{ends[0][0]} {height - 4}Z"
    return Spark(
        width, height, path_of(mine), area, path_of(points(before)), ends[-1] if ends else None
    )

"""A sentence and its data kept apart, so that a reader's language can be put on it later.

The template is English and is the name of the sentence in any catalogue; this package never
translates. What stands in the data is foreign or a further sentence.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """Something said.

    Args:
        template: With `{name}` for each of the data.
        data: What is filled in; another `Said` is worded in its turn.
    """

    template: str
    data: Mapping[str, object]

    def __str__(self) -> str:
        return self.worded(lambda template: template)

    def worded(
        self,
        word: Callable[[str], str],
        show: Callable[[str, object], object] = lambda _name, value: value,
    ) -> str:
        """Put it into words.

        Args:
            word: Gives the template in some language.
            show: Gives a datum, by its name, as people are shown it.
        """
        if not self.template:
            return ""
        data = {
            name: value.worded(word, show) if isinstance(value, Said) else show(name, value)
            for name, value in self.data.items()
        }
        return word(self.template).format_map(data)

    def filled(self, **data: object) -> "Said":
        """Give the same with these data."""
        return Said(self.template, data)


def say(template: str, /, **data: object) -> Said:
    """Say something; catalogues are made of the templates given here, which are literals."""
    return Said(template, data)


NOTHING = Said("", {})

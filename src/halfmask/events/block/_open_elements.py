"""Elements in which stars may find fields: written alike whatever else a block has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from halfmask.events.block._paths import Path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from halfmask.events.policy._policy_sections import RuleSection

#: A field that no event has, or whose own column does as well.
_NOBODY: Final = "\0"
_MOST_KNOWN: Final = 1 << 12


class OpenElements:
    """Tells in which elements of arrays a rule with stars may find a field.

    The writer writes an array, and its elements as objects, where a field may stand in them. Of
    fields that are named it knows from the policy; what stars find it would know from the block
    alone, and a line's bytes would depend on its neighbours.

    Examples
    --------
    >>> from halfmask.events.policy._policy_sections import RuleSection
    >>> star = RuleSection(path="a[].*", names="keep", do="keep")
    >>> [level for level, _ in OpenElements([star]).beneath(["", "a[]", "b[]"])]
    ['a[]']
    """

    def __init__(self, rules: Iterable[RuleSection]) -> None:
        self._patterns = [rule.place for rule in rules if rule.names is not None]
        self._known: dict[str, str | None] = {}

    def beneath(self, levels: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Yield the levels whose elements stars may find fields in, each with such a field."""
        if not self._patterns:
            return
        for level in levels:
            if level not in self._known:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[level] = self._field(level)
            found = self._known[level]
            if found is not None:
                yield level, found

    def _field(self, level: str) -> str | None:
        if not level:
            return None
        place = Path(steps=(*Path.parse(level).steps, _NOBODY))
        return place.place if any(it.reached(place) for it in self._patterns) else None

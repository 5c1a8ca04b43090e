"""What fields are called in the output, those of stars too, and which elements may have more."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from halfmask._errors import PolicyError
from halfmask.events.block._path_tree import OutputShape
from halfmask.events.block._paths import Path, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from halfmask.events.policy._policy import EventPolicy
    from halfmask.events.policy._policy_sections import RuleSection
    from halfmask.events.secrets._keys import EventKeys


_DIGEST_BYTES = 8
_MOST_SHAPES = 256
#: Of fields in all shapes that are kept.
_MOST_NAMES = 1 << 16


class Naming:
    """Makes the shape of a block's output.

    Notes
    -----
    **Guarantees.** The names of fields and their order in an event depend on the policy and on what
    the fields are called in the input, not on what else a block has. What ``names = "hash"`` says
    of any value of a field holds for all values of it, and for what encloses them.
    """

    def __init__(self, policy: EventPolicy, *, keys: EventKeys) -> None:
        self._key = keys.of("names", "")
        self._fixed = policy.names()
        self._stars = [
            (rule, _literal(rule.place)) for rule in policy.rules if rule.names is not None
        ]
        self._shapes: dict[tuple[str, ...], tuple[OutputShape, tuple[str, ...]]] = {}

    def shape(self, met: Sequence[str]) -> tuple[OutputShape, tuple[str, ...]]:
        """Return the shape of the output, and which of the paths that were met are in it.

        A field that stars found is left out where another has its name already.
        """
        wanted = tuple(sorted(met, key=lambda path: (path not in self._fixed, path)))
        if wanted not in self._shapes:
            names = sum(map(len, self._shapes)) + len(wanted)
            if len(self._shapes) >= _MOST_SHAPES or names > _MOST_NAMES:
                self._shapes.clear()
            self._shapes[wanted] = self._made(wanted)
        return self._shapes[wanted]

    def _made(self, wanted: Sequence[str]) -> tuple[OutputShape, tuple[str, ...]]:
        names = dict(self._fixed)
        kept = [path for path in wanted if path in names]
        # By steps, so that what stands beneath a field doesn't move it among its neighbours.
        found = sorted((path for path in wanted if path not in names), key=by_steps)
        try:
            more: dict[str, str | None] = {}
            for path in found:
                more |= {at: name for at, name in self._named(path).items() if at not in names}
            return OutputShape({**names, **more}), (*kept, *found)
        except PolicyError:
            # Two names are the same: one by one, so that it is known which.
            shape = OutputShape(names)
        for path in found:
            more = {at: name for at, name in self._named(path).items() if at not in names}
            try:
                shape = OutputShape({**names, **more})
            except PolicyError:
                continue
            names |= more
            kept.append(path)
        return shape, tuple(kept)

    def _named(self, path: str) -> dict[str, str | None]:
        """Return the names of a place that stars found, and of what encloses it."""
        place = Path.parse(path)
        names: dict[str, str | None] = {}
        for end, step in enumerate(place.steps, start=1):
            here = Path(steps=place.steps[:end])
            if isinstance(step, str) and self._is_hidden(here):
                names[here.place] = self._hashed(step)
        names.setdefault(path, None)  # elements have the name of their array
        return names

    def _is_hidden(self, place: Path) -> bool:
        """Return whether a field's name is hashed; the same for every event and value of it.

        One rule that hashes is enough, unless one before it takes all that the place has and keeps.
        """
        for rule, literal in self._stars:
            reached = rule.place.reached(place)
            if reached and len(place.steps) <= literal:
                return False  # the policy says the name itself
            if reached and rule.names == "hash":
                return True
            whole = not rule.when and rule.place.type is None
            if rule.names == "keep" and whole and len(rule.place.steps) in reached:
                return False
        return False

    def _hashed(self, name: str) -> str:
        digest = hashlib.blake2b(name.encode(), key=self._key, digest_size=_DIGEST_BYTES)
        return f"f{digest.hexdigest()}"


def by_steps(path: str) -> list[tuple[bool, str]]:
    """Return what places that stars found are sorted by: fields of an object by their names."""
    return [(not isinstance(step, str), str(step)) for step in Path.parse(path).steps]


def _literal(path: Path) -> int:
    """Return how many steps are before a path's first star."""
    return next(i for i, step in enumerate(path.steps) if step in {Step.FIELD, Step.BENEATH})


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

"""What fields are called in the output, those that stars found among them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from halfmask._errors import PolicyError
from halfmask.events.block._paths import Path, Step
from halfmask.events.block._shape import OutputShape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.events.policy._policy import EventPolicy
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

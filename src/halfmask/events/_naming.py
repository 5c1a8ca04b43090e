"""What fields are called in the output, those that stars found among them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from halfmask._errors import PolicyError
from halfmask.events._paths import Path, Step
from halfmask.events._shape import OutputShape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.events._keys import EventKeys
    from halfmask.events._policy import EventPolicy

__all__ = ["Naming"]

_DIGEST_BYTES = 8
_MOST_SHAPES = 256


class Naming:
    """Makes the shape of a block's output.

    Parameters
    ----------
    policy
        Whose rules name fields.
    keys
        Under which names of fields are hashed.

    Notes
    -----
    **Guarantees.** The order of fields in an event depends on the policy and on the fields' names,
    not on what a block has.
    """

    def __init__(self, policy: EventPolicy, *, keys: EventKeys) -> None:
        self._key = keys.of("names", "")
        self._fixed = policy.names()
        self._stars = [rule for rule in policy.rules if rule.names is not None]
        self._shapes: dict[tuple[str, ...], tuple[OutputShape, tuple[str, ...]]] = {}

    def shape(self, met: Sequence[str]) -> tuple[OutputShape, tuple[str, ...]]:
        """Return the shape of the output, and which of the paths that were met are in it.

        A field that stars found is left out where another has its name already.
        """
        wanted = tuple(sorted(met, key=lambda path: (path not in self._fixed, path)))
        if wanted not in self._shapes:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            self._shapes[wanted] = self._made(wanted)
        return self._shapes[wanted]

    def _made(self, wanted: Sequence[str]) -> tuple[OutputShape, tuple[str, ...]]:
        names = dict(self._fixed)
        kept = [path for path in wanted if path in names]
        found = [path for path in wanted if path not in names]
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
        rule = next((rule for rule in self._stars if rule.place.matches(place)), None)
        if rule is None or rule.names == "keep":
            return {path: None}
        starred = (Step.FIELD, Step.BENEATH)
        literal = next(i for i, step in enumerate(rule.place.steps) if step in starred)
        names: dict[str, str | None] = {}
        for end in range(literal + 1, len(place.steps) + 1):
            step = place.steps[end - 1]
            if isinstance(step, str):
                names[Path(steps=place.steps[:end]).place] = self._hashed(step)
        names.setdefault(path, None)  # elements have the name of their array
        return names

    def _hashed(self, name: str) -> str:
        digest = hashlib.blake2b(name.encode(), key=self._key, digest_size=_DIGEST_BYTES)
        return f"f{digest.hexdigest()}"

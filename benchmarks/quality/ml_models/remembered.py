"""An attack that remembers what it measured: the raw model is attacked once, not for each k."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from halfmask.assess.attacks import Attack, Outcome


@dataclass(slots=True)
class Remembered:
    """One attack of the library, and what it found so far."""

    attack: Attack
    name: str
    attacks: type
    found: dict[tuple[int, int], tuple[Any, tuple[Outcome, ...]]] = field(default_factory=dict)

    @classmethod
    def of(cls, attack: Attack, name: str | None = None) -> Remembered:
        """Take an attack with its settings, under another name if there are two of its kind."""
        return cls(attack, name or attack.name, attack.attacks)

    def missing_inputs(self, target: Any) -> str:  # noqa: ANN401 # one of the library's targets
        """Return what the attack says."""
        return self.attack.missing_inputs(target)

    def run(self, target: Any, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ANN401 # the same
        """Attack, unless this very target was attacked before."""
        key = (id(target), random_state)
        if key not in self.found:
            # the target is kept too, so that its id stays its own
            outcomes = self.attack.run(target, random_state=random_state)
            named = tuple(replace(outcome, attack=self.name) for outcome in outcomes)
            self.found[key] = (target, named)
        return self.found[key][1]

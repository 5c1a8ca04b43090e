"""Outcome: what one run of one attack measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask.assess.attacks._arms import Arm, Certain, difference

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["EVERYONE", "Outcome"]

#: The group of an outcome that is about all targets.
EVERYONE = "everyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run of one attack measured, by one measure, on one group of targets.

    Parameters
    ----------
    attack
        The attack's name, such as ``"membership/lira"``.
    measure
        What was counted, such as ``"balanced accuracy"``.
    success
        The attack's arm: against the targets that are in the data.
    control
        The same attack against people who aren't in the data, or what can't be told from guessing.
    baseline
        The same attacker without the output that is attacked; ``None`` where it is the control.
    group
        Which targets: ``EVERYONE``, or the description of a subgroup, never a cell value.
    needed
        How many trials the measure needs at least to say anything; fewer make it INVALID.
    needed_of
        What those trials are, such as ``"non-members"``.
    details
        Other numbers worth keeping, by name.
    """

    attack: str
    measure: str
    success: Arm
    control: Arm
    baseline: Arm | None = None
    group: str = EVERYONE
    needed: int = 0
    needed_of: str = "targets"
    details: Mapping[str, float] = field(default_factory=dict)

    @property
    def reference(self) -> Arm:
        """What the success is compared with: the higher of control and baseline."""
        if self.baseline is not None and self.baseline.value > self.control.value:
            return self.baseline
        return self.control

    @property
    def excess(self) -> Arm:
        """How much more often the attack is right than its reference."""
        reference = self.reference
        if isinstance(reference, Certain) and reference.value == 0.0:
            return self.success
        return difference(self.success, reference)

    @property
    def trials(self) -> int:
        """The trials of the arm that has fewest, of those that were measured."""
        arms = [self.success, self.control, *([self.baseline] if self.baseline else [])]
        return min((arm.trials for arm in arms if arm.trials), default=0)

"""Outcome: what one run of one attack measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask._validation import fraction, integer_at_least, number_between
from halfmask.assess.attacks._arms import Arm, Certain, Least, difference, fewest_trials

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
    claimed
        What a guarantee of the release concedes to the attack, in [0, 1], such as 1/k of links;
        ``None``: nothing. It is a reference like control and baseline.
    group
        Which targets: ``EVERYONE``, or the description of a subgroup, never a cell value.
    needed
        How many trials the measure needs at least to say anything; with fewer nothing is shown,
        unless it is broken beyond doubt.
    needed_of
        What those trials are, such as ``"non-members"``.
    census
        Whether all there is was counted, such as every leaf of a tree, and nothing guessed or
        sampled. Nobody's luck or skill is in it, so that it needs no positive control.
    scale
        In (0, 1]: how small an excess is by this measure beside a share of people. Tolerance and
        least power are multiplied by it: 0.03 is little of an accuracy, and a lot of the true
        positives at one false positive in a thousand.
    power_measure
        By which measure the attack shows its power where unprotected data don't have this one: rows
        that nothing changed have no trained rows beside the original ones.
    of_one_model
        Whether the baseline is what one model of other people gives. No bound holds that model's
        luck, so that with fewer trials than needed nothing is beyond doubt.
    column
        The column that the measure is of, and names: a caller's word, no part of what is measured.
    details
        Other numbers worth keeping, by name.
    """

    attack: str
    measure: str
    success: Arm
    control: Arm
    baseline: Arm | None = None
    claimed: float | None = None
    group: str = EVERYONE
    needed: int = 0
    needed_of: str = "targets"
    census: bool = False
    scale: float = 1.0
    power_measure: str = ""
    of_one_model: bool = False
    column: str = ""
    details: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        integer_at_least(0, owner="Outcome", needed=self.needed)
        number_between(0, 1, owner="Outcome", low_open=True, scale=self.scale)
        if self.claimed is not None:
            fraction(owner="Outcome", claimed=self.claimed)

    @property
    def kind(self) -> str:
        """The measure without the column that it is of.

        Examples
        --------
        >>> arm = Certain(0.5)
        >>> of = {"attack": "a", "success": arm, "control": arm, "column": "AUC"}
        >>> Outcome(measure="accuracy of 'AUC'", **of).kind
        'accuracy of'
        """
        said, name = self.measure, self.column
        if said.endswith(repr(name)):
            return said.removesuffix(repr(name)).strip()
        # it is named once, in front or behind: the same word elsewhere is what is measured
        cut = said.removeprefix(name) if said.startswith(name) else said.removesuffix(name)
        return cut.strip()

    @property
    def reference(self) -> Arm:
        """What the success is compared with: the highest of control, baseline and claim."""
        return max(self._references, key=lambda arm: arm.value)

    @property
    def is_claimed(self) -> bool:
        """Whether the reference is what a guarantee concedes."""
        return self.claimed is not None and self.claimed >= self.reference.value

    @property
    def excess(self) -> Arm:
        """How much more often the attack is right than its reference."""
        arms = [_above(self.success, reference) for reference in self._references]
        return arms[0] if len(arms) == 1 else Least(tuple(arms))

    @property
    def trials(self) -> int:
        """The trials of the arm that has fewest, of those that were measured."""
        arms = (self.success, *self._references)
        if all(isinstance(arm, Certain) for arm in arms):
            return self.success.trials
        return fewest_trials(arms)

    @property
    def _references(self) -> tuple[Arm, ...]:
        """All references; of those that are known for certain the highest alone."""
        arms = [self.control, *([] if self.baseline is None else [self.baseline])]
        if self.claimed is None:
            return tuple(arms)
        known = [arm.value for arm in arms if isinstance(arm, Certain)]
        measured = [arm for arm in arms if not isinstance(arm, Certain)]
        return (Certain(max([*known, self.claimed])), *measured)


def _above(success: Arm, reference: Arm) -> Arm:
    """Return the excess over one reference: over nothing it is the arm itself, bounds exact."""
    if isinstance(reference, Certain) and reference.value == 0.0:
        return success
    return difference(success, reference)

"""AssessedModel: one model, plain or with a defence, and what attacks do to it."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask._facts import Facts
from halfmask.assess._risk import percent
from halfmask.assess.attacks import EVERYONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.assess.attacks import AttackReport, Outcome
    from halfmask.assess.robustness import CostToFlip

#: Points of a curve: a number across, and a share.
Points = tuple[tuple[float, float], ...]
_AT_SHARE = re.compile(r"(.+) at ([\d.]+) %")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AssessedModel(Facts):
    """One model, plain or with a defence, and what attacks do to it.

    Parameters
    ----------
    name
        ``"plain"``, or the defence.
    score
        Its accuracy on held-out rows, or R² of a regressor.
    costs
        What it costs to flip held-out rows that it predicts right; ``None``: evasion failed.
    attacks
        Evasion and poisoning, with the plain model as positive control.
    certified
        For 0, 1, 2, ... hostile rows, the share of held-out rows whose right prediction provably
        survives them; empty where nothing is proven.
    """

    facts = ("name", "score", "costs", "flipped_by_part", "curves", "certified", "attacks")

    name: str
    score: float
    costs: CostToFlip | None = field(repr=False)
    attacks: AttackReport = field(repr=False)
    certified: tuple[float, ...] = field(default=(), repr=False)

    @property
    def flipped_by_part(self) -> dict[str, float]:
        """The share of rows that flip within the budget, by class and by group."""
        found = self._of("evasion")
        return {it.group: it.success.value for it in found if it.group != EVERYONE and it.trials}

    @property
    def curves(self) -> dict[str, Points]:
        """What poisoning does to the model, over the share of hostile rows, by attack and measure."""
        curves: dict[str, dict[float, float]] = defaultdict(dict)
        for it in self._of("poisoning"):
            if it.group == EVERYONE and (named := _AT_SHARE.match(it.measure)):
                kind, lost = named[1], named[1] == "accuracy lost"
                attack = it.attack.rpartition("/")[2].replace("-", " ")
                curve = curves[f"{attack}: {'accuracy' if lost else kind}"]
                curve[0.0] = self.score if lost else it.control.value
                value = it.success.value
                curve[float(named[2]) / 100] = self.score - value if lost else value
        return {name: tuple(sorted(curve.items())) for name, curve in curves.items()}

    def _of(self, family: str) -> Iterator[Outcome]:
        for each in self.attacks.findings:
            if each.outcome.attack.startswith(f"{family}/") and not each.failure:
                yield each.outcome

    @property
    def sentence(self) -> str:
        """What was found, without the score."""
        text = "" if self.costs is None else f" {self.costs.sentence}"
        for name, curve in self.curves.items():
            if name.endswith("trigger rate"):
                share, rate = curve[1]
                text += f" A backdoor of {percent(share)} hostile rows works in {percent(rate)}."
        if self.certified:
            n = min(10, len(self.certified) - 1)
            share = percent(round(self.certified[n], 4))
            text += f" {share} of rows stay predicted right, whatever {n} hostile rows hold."
        return text.strip()

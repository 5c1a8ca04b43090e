"""AssessedModel: one model, plain or with a defence, and what attacks do to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask._facts import Facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.assess.attacks import AttackReport
    from halfmask.assess.robustness import CostToFlip


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
        What it costs to flip held-out rows that it predicts right.
    parts
        The same by class and by group, under numbers instead of values.
    attacks
        Evasion and poisoning, with the plain model as positive control.
    certified
        For 0, 1, 2, ... hostile rows, the share of held-out rows whose right prediction provably
        survives them; empty where nothing is proven.
    """

    name: str
    score: float
    costs: CostToFlip = field(repr=False)
    parts: Mapping[str, CostToFlip] = field(repr=False)
    attacks: AttackReport | None = field(repr=False)
    certified: tuple[float, ...] = field(default=(), repr=False)

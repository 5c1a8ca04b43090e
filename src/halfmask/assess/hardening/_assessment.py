"""RobustnessAssessment: models with and without defences, in numbers and sentences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halfmask._facts import Facts
from halfmask.assess._risk import percent

if TYPE_CHECKING:
    from halfmask.assess.hardening._assessed import AssessedModel
    from halfmask.assess.robustness import AttackerBudget


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RobustnessAssessment(Facts):
    """What an attacker can do to a model, with and without defences.

    Parameters
    ----------
    rows, held_out_rows
        How many rows models are trained on, and how many they are scored on.
    scored_by
        ``"accuracy"``, or ``"R²"`` of regressors.
    budget
        What an attacker may change of a row that is predicted.
    models
        The plain model first, then one for each defence.
    suspicious_rows
        The training rows whose labels differ most from those of their neighbours, by number.
    suspicious_blocks
        Blocks of the table's rows: the first and the last number, and by how much the loss on
        held-out rows falls without it. The most suspicious one is first.
    """

    facts = (
        "rows", "held_out_rows", "scored_by", "attacker", "models", "clean_costs", "suspicious_rows",
        "suspicious_blocks", "sentences",
    )  # fmt: skip

    rows: int
    held_out_rows: int
    scored_by: str
    budget: AttackerBudget = field(repr=False)
    models: tuple[AssessedModel, ...]
    suspicious_rows: tuple[int, ...] = field(repr=False)
    suspicious_blocks: tuple[tuple[int, int, float], ...] = field(repr=False)

    @property
    def plain(self) -> AssessedModel:
        """The model without a defence."""
        return self.models[0]

    @property
    def attacker(self) -> dict[str, Any]:
        """What the attacker may do, without values of the rows."""
        named = ("most", "norm", "knows")
        columns = {name: it.change for name, it in self.budget.columns.items()}
        return {**{name: getattr(self.budget, name) for name in named}, "columns": columns}

    @property
    def clean_costs(self) -> dict[str, float]:
        """The score that each defence costs where nobody attacks."""
        return {it.name: self.plain.score - it.score for it in self.models[1:]}

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, a sentence or two for each model."""
        return tuple(map(self._sentence, self.models))

    def _sentence(self, model: AssessedModel) -> str:
        text = f"{model.name.capitalize()}: {self.scored_by} {model.score:.3f}."
        if model.certified:
            n = min(10, len(model.certified) - 1)
            share = percent(round(model.certified[n], 4))
            text += f" {share} of rows stay predicted right, whatever {n} hostile rows hold."
        return f"{text} {model.costs.sentence}"

"""RobustnessAssessment: models with and without defences, in numbers, sentences and pictures."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halfmask._facts import Facts
from halfmask._html_table import html_table
from halfmask.assess.hardening._page import compared, evasion, poisoning, suspicious, verdicts
from halfmask.data import atomic_file
from halfmask.release import TableBlock, TextBlock, html_page
from halfmask.release.page import ChapterBlock

if TYPE_CHECKING:
    from pathlib import Path

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
        *("rows", "held_out_rows", "scored_by", "attacker", "models", "clean_costs"),
        *("suspicious_rows", "suspicious_blocks", "sentences"),
    )

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
        columns = {name: it.change for name, it in self.budget.columns.items()}
        named = ("most", "norm", "knows")
        return {**{name: getattr(self.budget, name) for name in named}, "columns": columns}

    @property
    def clean_costs(self) -> dict[str, float]:
        """The score that each defence costs where nobody attacks."""
        return {it.name: self.plain.score - it.score for it in self.models[1:]}

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, some sentences for each model."""
        scores = (f"{it.name.capitalize()}: {self.scored_by} {it.score:.3f}." for it in self.models)
        return tuple(
            f"{score} {it.sentence}" for score, it in zip(scores, self.models, strict=True)
        )

    def to_html(self) -> str:
        """Return the assessment as one page for the owner of the table: it names columns."""
        lead = [
            "This page stays with you: it names columns, and numbers of rows. It holds no cell.",
            f"Models were trained on {self.rows:,} rows, and scored and attacked on "
            f"{self.held_out_rows:,} held-out rows.",
        ]
        return html_page(
            "Robustness of a model",
            [
                TextBlock("", lead, "notice"),
                TextBlock("Summary", self.sentences, "list"),
                self._models,
                ChapterBlock("Evasion: changed rows", list(evasion(self.models, self.budget))),
                ChapterBlock("Poisoning: hostile training rows", list(poisoning(self.models))),
                verdicts(self.models),
                *suspicious(self.suspicious_rows, self.suspicious_blocks),
            ],
            about="Evasion is MITRE ATLAS AML.T0043, poisoning AML.T0020, a backdoor AML.T0018.",
            footer="That an attack fails proves nothing. Only what is certified holds for every "
            "attacker, within the stated budget.",
        )

    def write(self, folder: Path, *, overwrite: bool = False) -> None:
        """Write the page as ``report.html`` and the numbers as ``robustness.json``.

        Parameters
        ----------
        folder
            Where; it is made if it isn't there.
        overwrite
            Whether files of those names may be replaced.

        Raises
        ------
        ReleaseError
            If a file is there and may not be replaced.
        """
        folder.mkdir(parents=True, exist_ok=True)
        numbers = json.dumps(self.to_dict(), indent=1, allow_nan=False)
        for name, text in (("report.html", self.to_html()), ("robustness.json", numbers)):
            with atomic_file(folder / name, overwrite=overwrite) as file:
                file.write(text.encode())

    def _repr_html_(self) -> str:
        """Show the table of models in a notebook."""
        block = self._models
        return html_table(block.title, block.columns, block.rows, [block.caption])

    @property
    def _models(self) -> TableBlock:
        return compared(self.models, self.scored_by)

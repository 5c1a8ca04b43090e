"""RobustnessAssessment: models with and without defences, in numbers, sentences and on a page."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask._facts import Facts
from halfmask._html_table import html_table
from halfmask.assess._risk import percent
from halfmask.assess.attacks import EVERYONE
from halfmask.assess.hardening._page import evasion, poisoning, verdicts
from halfmask.data import atomic_file
from halfmask.release import TableBlock, TextBlock, html_page
from halfmask.release.page import ChapterBlock

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask.assess.attacks import AttackReport
    from halfmask.assess.hardening._page import Points
    from halfmask.assess.robustness import AttackerBudget, CostToFlip

#: The measure of evasion that is about the attack.
_FLIPS = "rows that flip"
_NONE = "—"


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
        found = (it.outcome for it in self.attacks.findings if it.outcome.measure == _FLIPS)
        return {it.group: it.success.value for it in found if it.group != EVERYONE and it.trials}

    @property
    def curves(self) -> dict[str, Points]:
        """What poisoning does, over the share of hostile rows, by attack and measure."""
        curves: dict[str, dict[float, float]] = defaultdict(dict)
        for it in (it.outcome for it in self.attacks.findings if "share" in it.outcome.details):
            names = "accuracy without attack", "accuracy under attack"
            ends = {
                "accuracy": tuple(it.details[name] for name in names),
                it.measure.partition(" at ")[0]: (it.control.value, it.success.value),
            }
            for measure, (before, after) in ends.items():
                if measure != "accuracy lost":
                    curve = curves[f"{it.attack.rpartition('/')[2]}: {measure}"]
                    curve[0.0], curve[it.details["share"]] = before, after
        return {name: tuple(sorted(curve.items())) for name, curve in curves.items()}

    @property
    def sentence(self) -> str:
        """What was found, without the score."""
        text = "" if self.costs is None else f" {self.costs.sentence}"
        for name, curve in self.curves.items():
            if name.endswith("trigger rate"):
                (_, clean), (share, rate) = curve[:2]
                text += f" A backdoor of {percent(share)} hostile rows works in {percent(rate)}"
                text += f", without it in {percent(clean)}."
        if self.certified:
            n = min(10, len(self.certified) - 1)
            kept = percent(round(self.certified[n], 4))
            text += f" {kept} of rows stay predicted right, whatever {n} hostile rows hold."
        return text.strip()


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
        *("rows", "held_out_rows", "scored_by", "models", "clean_costs", "suspicious_rows"),
        *("suspicious_blocks", "sentences"),
    )

    rows: int
    held_out_rows: int
    scored_by: str
    budget: AttackerBudget = field(repr=False)
    models: tuple[AssessedModel, ...]
    suspicious_rows: tuple[int, ...] = field(repr=False)
    suspicious_blocks: tuple[tuple[int, int, float], ...] = field(repr=False)

    @property
    def clean_costs(self) -> dict[str, float]:
        """The score that each defence costs where nobody attacks."""
        return {it.name: self.models[0].score - it.score for it in self.models[1:]}

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, some sentences for each model."""
        return tuple(
            f"{it.name.capitalize()}: {self.scored_by} {it.score:.3f}. {it.sentence}".strip()
            for it in self.models
        )

    def to_html(self) -> str:
        """Return the assessment as one page for the owner of the table: it names columns."""
        costs = {it.name: it.costs for it in self.models if it.costs is not None}
        curves = {it.name: it.curves for it in self.models}
        certified = {it.name: it.certified for it in self.models if it.certified}
        parts = {it.name: it.flipped_by_part for it in self.models}
        rows = ", ".join(f"{row:,}" for row in self.suspicious_rows) or "none"
        blocks = [[f"{a:,} to {b:,}", f"{lost:+.4f}"] for a, b, lost in self.suspicious_blocks]
        lead = "This page stays with you: it names columns, and numbers of rows. It holds no cell."
        models = f"Models were trained on {self.rows:,} rows. {self.held_out_rows:,} were held out."
        return html_page(
            "Robustness of a model",
            [
                TextBlock("", [lead, models], "notice"),
                TextBlock("Summary", self.sentences, "list"),
                self._compared(),
                ChapterBlock("Evasion: changed rows", evasion(costs, parts, self.budget)),
                ChapterBlock("Poisoning: hostile training rows", poisoning(curves, certified)),
                verdicts({it.name: it.attacks for it in self.models}),
                TextBlock(
                    "Suspicious rows", [f"Rows with labels unlike their neighbours': {rows}."]
                ),
                TableBlock(
                    title="Suspicious blocks of rows",
                    columns=("rows, from 0", "loss on held-out rows that the block adds"),
                    rows=blocks,
                ),
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
        """
        folder.mkdir(parents=True, exist_ok=True)
        numbers = json.dumps(self.to_dict(), indent=1, allow_nan=False)
        for name, text in (("report.html", self.to_html()), ("robustness.json", numbers)):
            with atomic_file(folder / name, overwrite=overwrite) as file:
                file.write(text.encode())

    def _repr_html_(self) -> str:
        """Show the table of models in a notebook."""
        block = self._compared()
        return html_table(block.title, block.columns, block.rows, [block.caption])

    def _compared(self) -> TableBlock:
        rows = []
        for it in self.models:
            flips = it.costs and (it.costs.share_flipped, it.costs.share_proven)
            median = it.costs and it.costs.median
            survived = [it.certified[n] if n < len(it.certified) else 0.0 for n in (1, 5, 10)]
            cells = [
                f"{self.clean_costs[it.name]:.3f}" if it.name in self.clean_costs else _NONE,
                *(percent(round(share, 4)) for share in flips or ()),
                *(() if flips else (_NONE, _NONE)),
                _NONE if median is None else f"{median:.3g}",
                " / ".join(f"{share:.3f}" for share in survived) if it.certified else _NONE,
            ]
            rows.append([it.name, f"{it.score:.3f}", *cells])
        return TableBlock(
            title="Models",
            columns=(
                *("model", self.scored_by, "clean cost", "rows that flip", "proven not to flip"),
                *("median cost to flip", "certified at 1 / 5 / 10 hostile rows"),
            ),
            rows=rows,
            caption="Rows that flip: of those predicted right, by a change within the budget. "
            "Certified: what stays predicted right, whatever so many hostile training rows hold.",
        )

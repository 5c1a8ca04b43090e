"""Homogeneity: a class whose people all have one secret."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.classes._people import lacking, people, posteriors, secret_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Homogeneity:
    """Look up a person's class; if it has one secret, that is the person's.

    One outcome for each secret: the share of released people whose class has one value of it, and
    whose own value that is.

    Notes
    -----
    Machanavajjhala, Gehrke, Kifer, Venkitasubramaniam, "l-Diversity: Privacy Beyond k-Anonymity"
    (ICDE 2006, TKDD 2007), section 2.1. The attacker knows the class of each target.

    The reference is 0: without the release no secret is *certain*, even if one value is frequent.
    The share of the most frequent value is in the details (``most_frequent``), with what
    guessing each class's most frequent value reaches (``guesses_right``) and the mean and highest
    share of one value in a class.

    **Edge cases.** Missing is a value. In a class of suppressed rows every secret is missing,
    which is wrong unless it was missing before. A secret with one value overall isn't
    attacked.

    Examples
    --------
    >>> import polars as pl
    >>> rows = pl.DataFrame({"age": [20, 20, 30, 30], "ill": ["flu", "flu", "flu", "hiv"]})
    >>> target = TableTarget(
    ...     released=rows, original=rows, quasi_identifiers=("age",), secrets=("ill",)
    ... )
    >>> Homogeneity().run(target, random_state=0)[0].success
    SuccessCount(successes=2, trials=4)
    """

    name: ClassVar[str] = "classes/homogeneity"
    attacks: ClassVar[type] = TableTarget

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what the target would have to have; empty if it has it all."""
        return lacking(target)

    def run(self, target: TableTarget, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ARG002 # no chance
        """Count the people whose secret is certain, for each secret."""
        return tuple(self._outcome(target, secret) for secret in secret_columns(target))

    def _outcome(self, target: TableTarget, secret: str) -> Outcome:
        rows = people(target, secret)
        is_own = pl.col("seen").eq_missing(pl.col("truth"))
        certain = (pl.col("seen").n_unique().over("class") == 1) & is_own
        classes = posteriors(rows)
        likeliest = classes.sort("n", "seen", descending=[True, False], maintain_order=True).unique(
            "class", keep="first", maintain_order=True
        )
        guessed = rows.join(likeliest.select("class", guess="seen"), on="class", how="left")
        right = pl.col("guess").eq_missing(pl.col("truth"))
        counted = target.original[secret].alias("truth").value_counts(name="n")
        return Outcome(
            attack=self.name,
            measure=f"{secret} certain",
            column=secret,
            success=SuccessCount(int(rows.select(certain.sum()).item()), rows.height),
            control=Certain(0.0),
            details={
                "most_frequent": float(counted["n"].to_numpy().max()) / target.original.height,
                "guesses_right": float(guessed.select(right.mean()).item()),
                "highest_share": float(likeliest["share"].to_numpy().max()),
                "mean_highest_share": float(
                    (likeliest["share"] * likeliest["size"]).sum() / rows.height
                ),
                "classes": float(likeliest.height),
                "classes_of_one_value": float((likeliest["share"] == 1.0).sum()),
            },
        )

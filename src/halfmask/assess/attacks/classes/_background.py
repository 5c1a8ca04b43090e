"""Background knowledge: an attacker who can exclude some values of the secret."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.classes._people import lacking, people, secret_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class BackgroundKnowledge(DeclaredAttack, name="classes/background", target=TableTarget):
    """Rule out values that the target is known not to have.

    One outcome for each secret: the share of released people whose secret is then certain. The
    attacker excludes the values that help most, for each target.

    Parameters
    ----------
    ruled_out
        How many values the attacker can exclude for each target. At least 0; with 0 this is
        :class:`Homogeneity`.

    Notes
    -----
    Machanavajjhala et al., "l-Diversity: Privacy Beyond k-Anonymity" (ICDE 2006), section 2.2 and
    observation 2: against ``l - 1`` such facts a class needs ``l`` values. A target's own value is
    never ruled out, so the secret becomes certain exactly if the class has at most
    ``ruled_out + 1`` values and the target's own is among them.

    **Edge cases.** A secret that has no more than ``ruled_out + 1`` values overall isn't attacked:
    the facts alone would disclose it. Missing is a value.
    """

    ruled_out: int = field(default=1, metadata={"ge": 0})

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what the target would have to have; empty if it has it all."""
        return lacking(target, more_than=self.ruled_out + 1)

    def run(self, target: TableTarget, *, random_state: int) -> tuple[Outcome, ...]:  # noqa: ARG002 # no chance
        """Count the people whose secret becomes certain, for each secret."""
        secrets = secret_columns(target, more_than=self.ruled_out + 1)
        return tuple(self._outcome(target, secret) for secret in secrets)

    def _outcome(self, target: TableTarget, secret: str) -> Outcome:
        rows = people(target, secret).with_columns(values=pl.col("seen").n_unique().over("class"))
        # In a shuffled class the own value is in another row of the class.
        released = rows.select("class", "seen").unique().with_columns(in_class=pl.lit(value=True))
        found = rows.join(
            released,
            left_on=["class", "truth"],
            right_on=["class", "seen"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        certain = (pl.col("values") <= self.ruled_out + 1) & pl.col("in_class").is_not_null()
        return Outcome(
            attack=self.name,
            measure=f"{secret} certain, {self.ruled_out} ruled out",
            column=secret,
            success=SuccessCount(int(found.select(certain.sum()).item()), rows.height),
            control=Certain(0.0),
            details={
                "ruled_out": float(self.ruled_out),
                "values": float(rows["seen"].n_unique()),
                "fewest_values": float(rows["values"].to_numpy().min()),
            },
        )

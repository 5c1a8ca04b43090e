"""Minimality: an attacker who knows that a release is no coarser than necessary."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack
from halfmask.assess.attacks._outcome import Outcome
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.classes._finer import finer_ways
from halfmask.assess.attacks.classes._people import lacking, people, secret_columns
from halfmask.assess.attacks.classes._worlds import believed

if TYPE_CHECKING:
    from halfmask.guarantees import Guarantee

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimality(DeclaredAttack, name="classes/minimality", target=TableTarget):
    """Infer who must have had the secrets from how coarse a class was left.

    The attacker knows all quasi-identifiers, the guarantees, and that a finer way was rejected
    because it missed one. The attack lists every assignment of the class's secrets to its people,
    drops those in which the finer way keeps the guarantees, and weighs the others alike. One
    outcome for each secret: the share of people whose own secret is then sure.

    Parameters
    ----------
    finer
        The finer ways. ``"medians"``: two sides of a cut before or behind the median of a
        quasi-identifier; Mondrian keeps a class only if *each* cut misses a guarantee.
        ``"values"``: each person with the others of the same raw values, as in the paper.
    sure
        The least probability, in (0.5, 1], of a sure secret.
    max_worlds
        The most assignments of secrets; classes with more are judged by their shares alone. At
        least 1.
    max_classes
        How many classes are attacked, drawn at random where there are more. At least 1.

    Notes
    -----
    Wong, Fu, Wang, Pei, "Minimality attack in privacy preserving data publishing" (VLDB 2007).

    **What is measured.** A sure secret counts only if it is right, so a wrong assumption about the
    method shows as a weak attack. ``"medians"`` is exact for strict Mondrian without hierarchies
    and suppression: columns with a hierarchy are left out (the rest is true, but less), and for
    guided cuts it is approximate. A finer way that fails by its sizes alone discloses no secrets;
    so only guarantees on the secret itself help, and k-anonymity alone is no target. Guarantees on
    several secrets at once are no target either, since any may have been the one that failed; nor
    is t-closeness, which compares a class with the table.

    The reference is the share of people whose secret is sure by its overall frequency. Details:
    ``by_shares_alone``, sure by the classes' shares without this attack; ``classes_concluded``,
    ``classes_contradicted`` (no input explains them: the release was made in another way) and
    ``classes_too_large``; and ``highest_gain``, the largest increase of the probability of a
    person's own secret.
    """

    finer: Literal["medians", "values"] = field(
        default="medians", metadata={"one_of": ("medians", "values")}
    )
    sure: float = field(default=0.9, metadata={"gt": 0.5, "le": 1})
    max_worlds: int = field(default=2000, metadata={"ge": 1})
    max_classes: int = field(default=1000, metadata={"ge": 1})

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what the target would have to have; empty if it has it all."""
        why = lacking(target)
        if why or not target.guarantees:  # without guarantees it is raw: a positive control
            return why
        if any(_informative(target, secret) for secret in secret_columns(target)):
            return ""
        return "a guarantee on one secret that judges each class by itself"

    def run(self, target: TableTarget, *, random_state: int) -> tuple[Outcome, ...]:
        """Count the people whose secret is sure, for each secret."""
        secrets = [
            secret
            for secret in secret_columns(target)
            if not target.guarantees or _informative(target, secret)
        ]
        return tuple(self._outcome(target, secret, random_state) for secret in secrets)

    def _outcome(self, target: TableTarget, secret: str, random_state: int) -> Outcome:
        rows = people(target, secret)
        texts = pl.concat([rows["seen"], rows["truth"]]).unique().sort()
        codes = {name: _codes(rows[name], texts) for name in ("seen", "truth")}
        _, of_row = np.unique(rows["class"].to_numpy(), return_inverse=True)
        order = np.argsort(of_row, kind="stable")
        classes = np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1)
        chosen: list[int] = list(range(len(classes)))
        if len(classes) > self.max_classes:
            rng = np.random.default_rng(random_state)
            chosen = np.sort(rng.choice(len(classes), self.max_classes, replace=False)).tolist()
        guarantees = _informative(target, secret)
        ways = finer_ways(target, self.finer, seen=codes["seen"])
        alone, after, concluded, contradicted, too_large = [], [], 0, 0, 0
        for number in chosen:
            members = classes[number]
            seen, truth = codes["seen"][members], codes["truth"][members]
            shares = np.bincount(seen, minlength=len(texts)) / len(seen)
            alone.append(shares[truth])
            after.append(shares[truth])
            finer = ways(members, target.guarantees) if guarantees and len(members) > 1 else []
            if not finer or len(np.unique(seen)) == 1:
                continue
            found = believed(
                finer, seen, guarantees, column=secret, n_values=len(texts), most=self.max_worlds
            )
            if found is None:
                too_large += 1
                continue
            if not len(found):
                contradicted += 1
                continue
            concluded += 1
            after[-1] = found[np.arange(len(truth)), truth]
        truth = np.concatenate([codes["truth"][classes[number]] for number in chosen])
        overall = np.bincount(codes["truth"], minlength=len(texts)) / rows.height
        before, now = np.concatenate(alone), np.concatenate(after)
        sure = self.sure - 1e-12
        return Outcome(
            attack=self.name,
            measure=f"{secret} sure by {self.finer}",
            column=secret,
            success=SuccessCount(int((now >= sure).sum()), len(now)),
            control=Certain(float((overall[truth] >= sure).mean())),
            details={
                "by_shares_alone": float((before >= sure).mean()),
                "classes": float(len(chosen)),
                "classes_concluded": float(concluded),
                "classes_contradicted": float(contradicted),
                "classes_too_large": float(too_large),
                "highest_gain": float((now - before).max()),
            },
        )


def _informative(target: TableTarget, secret: str) -> tuple[Guarantee, ...]:
    """Return the guarantees that a finer way may have missed by its secrets; none if unclear."""
    on_columns = {guarantee.column for guarantee in target.guarantees} - {None}
    relative = any(guarantee.relative for guarantee in target.guarantees)
    return () if on_columns != {secret} or relative else target.guarantees


def _codes(series: pl.Series, texts: pl.Series) -> Ints:
    """Return the place of each value among all texts; missing is one of them."""
    places = series.to_frame("text").join(
        texts.to_frame("text").with_row_index("place"),
        on="text",
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return places["place"].cast(pl.Int64).to_numpy()

"""Each person's class and secret, and classes of one secret, of few, or of one far too frequent."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._inputs import check_columns
from halfmask.assess.attacks._reading import common_type, is_text, read_numbers, recast, spelt
from halfmask.assess.attacks._targets import TableTarget

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess._arrays import Floats
    from halfmask.assess.attacks._attack import Outcome


def secret_columns(target: TableTarget, *, more_than: int = 1) -> tuple[str, ...]:
    """Return the secrets with more than `more_than` values: the others disclose nothing."""
    named = target.secrets or tuple(
        dict.fromkeys(g.column for g in target.guarantees if g.column is not None)
    )
    return tuple(
        name
        for name in named
        if name in target.released.columns and target.original[name].n_unique() > more_than
    )


def lacking(target: TableTarget, *, more_than: int = 1) -> str:
    """Return the missing inputs of an attack on classes; empty if there are none."""
    if not target.quasi_identifiers:
        return "quasi-identifiers"
    if not secret_columns(target, more_than=more_than):
        return f"a secret with more than {more_than} values among the released columns"
    return target.missing_owners or ("" if target.released.height else "released rows")


def class_numbers(released: pl.DataFrame, quasi_identifiers: Sequence[str]) -> pl.Series:
    """Return for each row the number of its class: of the first row that is equal in all columns.

    Missing equals missing and NaN equals NaN. Columns that weren't released are ignored.
    """
    columns = [name for name in quasi_identifiers if name in released.columns]
    if not columns:
        return pl.repeat(0, released.height, dtype=pl.Int64, eager=True).alias("class")
    # Columns have any names: here their places name them.
    places = [str(place) for place in range(len(columns))]
    numbered = pl.DataFrame(
        [released[name].alias(place) for name, place in zip(columns, places, strict=True)]
    ).with_row_index("row")
    first = pl.col("row").min().over(places).cast(pl.Int64)
    return numbered.select(first.alias("class")).to_series()


def people(target: TableTarget, secret: str, *, dtype: pl.DataType | None = None) -> pl.DataFrame:
    """Return for each released row its class, its released secret and its owner's secret.

    Both secrets are spelt as hierarchies spell values of one type, so that a table that went
    through text is compared by what it means. Where ``dtype`` doesn't name it, it is the type of
    people's own secrets, or the one that `common_type` finds.
    """
    check_columns([secret], target.released.columns, where="the released table")
    truth = target.original[secret].gather(target.owner_of_row)
    seen = target.released[secret]
    dtype = common_type(seen.dtype, truth.dtype) if dtype is None else dtype
    return pl.DataFrame(
        [
            class_numbers(target.released, target.quasi_identifiers),
            spelt(seen, dtype).alias("seen"),
            spelt(truth, dtype).alias("truth"),
        ]
    )


def posteriors(of: pl.DataFrame) -> pl.DataFrame:
    """Return for each class and each value it has: its rows, their share, the share of all rows."""
    return (
        # In the rows' order: sums of shares depend on theirs.
        of.group_by("class", "seen", maintain_order=True)
        .agg(n=pl.len())
        .with_columns(
            size=pl.col("n").sum().over("class"),
            prior=pl.col("n").sum().over("seen") / pl.col("n").sum(),
        )
        .with_columns(share=pl.col("n") / pl.col("size"))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Homogeneity(DeclaredAttack, name="classes/homogeneity", target=TableTarget, needs=(lacking,)):
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

    def _measure(self, target: TableTarget, random_state: int) -> Found:  # noqa: ARG002 # no chance
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
        return self._make_outcome(
            f"{secret} certain",
            SuccessCount(int(rows.select(certain.sum()).item()), rows.height),
            column=secret,
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

    def _measure(self, target: TableTarget, random_state: int) -> Found:  # noqa: ARG002 # no chance
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
        return self._make_outcome(
            f"{secret} certain, {self.ruled_out} ruled out",
            SuccessCount(int(found.select(certain.sum()).item()), rows.height),
            column=secret,
            details={
                "ruled_out": float(self.ruled_out),
                "values": float(rows["seen"].n_unique()),
                "fewest_values": float(rows["values"].to_numpy().min()),
            },
        )


#: Classes are compared with the table in blocks of so many numbers at most.
BLOCK = 1 << 22


@dataclass(frozen=True, slots=True, kw_only=True)
class Skewness(DeclaredAttack, name="classes/skewness", target=TableTarget, needs=(lacking,)):
    """Compare how likely a secret is in a person's class with the whole table.

    One outcome for each secret: the share of released people whose class makes some value of it
    likelier than it is in the whole table by more than `lift`, whether or not that value is theirs:
    the suspicion falls on all of them.

    Parameters
    ----------
    lift
        The difference of both probabilities, in (0, 1), beyond which a class counts.
    bands
        A secret of numbers or dates with more values than this is cut into so many bands with
        equally many rows, so that similar values count as one (the paper's similarity attack). At
        least 2.

    Notes
    -----
    N. Li, T. Li, Venkatasubramanian, "t-Closeness: Privacy Beyond k-Anonymity and l-Diversity"
    (ICDE 2007), section 3. A release that is t-close by the equal distance with ``t <= lift``
    resists by definition: no event's probability differs by more than ``t``. The details hold the
    largest distance of a class from the table, counted here again: ``highest_equal_distance``, and
    ``highest_ordered_distance`` for numbers and dates; and ``by_chance``, the share of people that
    classes of the same sizes would reach with all secrets shuffled.

    **Edge cases.** Missing is a value, last in the order. Where ``1 - lift`` of all people or more
    have one value, only the others can be reached even in raw rows.
    """

    lift: float = field(default=0.2, metadata={"ge": 0, "le": 1})
    bands: int = field(default=10, metadata={"ge": 2})

    def _measure(self, target: TableTarget, random_state: int) -> Found:
        rng = np.random.default_rng(random_state)
        return tuple(self._outcome(target, secret, rng) for secret in secret_columns(target))

    def _outcome(self, target: TableTarget, secret: str, rng: np.random.Generator) -> Outcome:
        rows = people(target, secret)
        values = _read(target.released[secret], target.original[secret].dtype)
        is_scale = values.dtype.is_numeric() or values.dtype.is_temporal()
        banded = rows.with_columns(seen=_bands(values, self.bands)) if is_scale else rows
        shuffled = banded.with_columns(seen=banded["seen"].gather(rng.permutation(banded.height)))
        details = {
            "by_chance": self._reached(shuffled) / rows.height,
            "highest_lift": float(_lifts(banded)["lift"].to_numpy().max()),
            "highest_equal_distance": float(_lifts(rows)["distance"].to_numpy().max()),
        }
        if is_scale:
            details["highest_ordered_distance"] = _ordered_distance(rows["class"], values)
        return self._make_outcome(
            f"{secret} likelier by {self.lift:g}",
            SuccessCount(self._reached(banded), rows.height),
            column=secret,
            details=details,
        )

    def _reached(self, rows: pl.DataFrame) -> int:
        """Count the rows in classes that lift some value by more than allowed."""
        # Shares are quotients: a lift that is exactly the limit must not count by rounding.
        reached = _lifts(rows).filter(pl.col("lift") > self.lift + 1e-12)
        return int(reached["size"].sum())


def _lifts(rows: pl.DataFrame) -> pl.DataFrame:
    """Return each class's size, its highest lift of a value, and its equal distance."""
    above = pl.col("share") - pl.col("prior")
    return (
        posteriors(rows)
        .group_by("class", maintain_order=True)
        .agg(
            size=pl.col("size").first(),
            lift=above.max(),
            # Values that the class lacks aren't above their share of the table.
            distance=above.clip(lower_bound=0.0).sum(),
        )
    )


def _read(values: pl.Series, dtype: pl.DataType) -> pl.Series:
    """Return values that went through text as the numbers they are, if they all spell some."""
    if not is_text(values.dtype) or not (dtype.is_numeric() or dtype.is_temporal()):
        return values
    texts = values.cast(pl.String)
    exact = recast(texts.str.strip_chars(), dtype)
    if not dtype.is_float() and exact.null_count() == values.null_count():
        return exact
    numbers = read_numbers(texts, dtype)
    return values if numbers.null_count() > values.null_count() else numbers


def _bands(values: pl.Series, bands: int) -> pl.Series:
    """Return the band of each value; a value's rows stay together, missing stays missing."""
    if values.n_unique() <= bands:
        return values.rank("dense").cast(pl.String)
    ranks = values.rank("min")
    return ((ranks - 1) * bands // max(1, values.count())).cast(pl.String)


def _ordered_distance(classes: pl.Series, values: pl.Series) -> float:
    """Return the largest ordered distance of a class: the mean of |P_i - Q_i| over the steps."""
    missing = values.drop_nulls().n_unique() + 1
    codes = (values.to_physical().rank("dense").cast(pl.Int64).fill_null(missing) - 1).to_numpy()
    _, of_row = np.unique(classes.to_numpy(), return_inverse=True)
    m, n_classes = int(codes.max()) + 1, int(of_row.max()) + 1
    if m == 1:
        return 0.0
    table = np.cumsum(np.bincount(codes, minlength=m)) / len(codes)
    step, highest = max(1, BLOCK // m), 0.0
    order = np.argsort(of_row, kind="stable")
    ends = np.searchsorted(of_row[order], np.arange(0, n_classes + step, step))
    for block, (first, last) in enumerate(itertools.pairwise(ends)):
        rows = order[first:last]
        counted = np.bincount((of_row[rows] - block * step) * m + codes[rows], minlength=0)
        shares: Floats = np.zeros((-(-len(counted) // m), m))
        shares.ravel()[: len(counted)] = counted
        shares = np.cumsum(shares, axis=1)
        shares /= shares[:, -1:]
        highest = max(highest, float(np.abs(shares - table)[:, :-1].sum(axis=1).max()) / (m - 1))
    return highest

"""Intersection: two releases with the same people in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from halfmask.assess.attacks._arms import SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._reading import common_type, spelt
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.classes._disclosure import (
    class_numbers,
    lacking,
    people,
    secret_columns,
)

if TYPE_CHECKING:
    from halfmask.assess.attacks._attack import Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Intersection(DeclaredAttack, name="classes/intersection", target=TableTarget):
    """Find a person in two releases, and intersect the secrets of both classes.

    One outcome for each secret: the share of the people in both releases for whom one candidate is
    left, and it is theirs.

    Notes
    -----
    Ganta, Kasiviswanathan, Smith, "Composition attacks and auxiliary information in data privacy"
    (KDD 2008), section 3, algorithm 1. People in both releases are found by their original rows:
    equal in *all* columns that both tables have, the first of equal rows with the first, and so on.
    The earlier release must be in the order of its original rows.

    The reference is 0, since without a release nothing is certain; what one release alone makes
    certain stands in the details (``later_alone``, ``earlier_alone``). ``least_k`` is how many
    people could at least be meant, counted by secrets: the sum over common values of the smaller of
    both counts, with ``mean_k``; and ``least_l`` the fewest common values.

    **Edge cases.** Missing is a value. Quasi-identifiers that a release lacks don't part its
    classes.
    """

    def missing_inputs(self, target: TableTarget) -> str:
        """Return what the target would have to have; empty if it has it all."""
        if target.earlier is None:
            return "an earlier release"
        released, original = target.earlier
        if released.height != original.height:
            return "an earlier release with a row for each of its original rows, in their order"
        why = lacking(target)
        if why:
            return why
        if not _secrets(target):
            return "a secret that both releases have"
        return "" if _in_both(target).height else "people who are in both releases"

    def _measure(self, target: TableTarget, random_state: int) -> Found:  # noqa: ARG002 # no chance
        both = _in_both(target)
        return tuple(self._outcome(target, secret, both) for secret in _secrets(target))

    def _outcome(self, target: TableTarget, secret: str, both: pl.DataFrame) -> Outcome:
        dtype = _type_of(target, secret)
        later = people(target, secret, dtype=dtype)
        earlier = _earlier_people(target, secret, dtype)
        pairs = both.select(
            later["class"].gather(both["later"]).alias("later"),
            earlier["class"].gather(both["earlier"]).alias("earlier"),
            later["truth"].gather(both["later"]).alias("truth"),
        )
        common = _common(pairs, later, earlier)
        joined = pairs.join(common, on=["later", "earlier"], how="left")
        certain = (pl.col("l") == 1) & pl.col("only").eq_missing(pl.col("truth"))
        return self._make_outcome(
            f"{secret} certain from two releases",
            SuccessCount(int(joined.select(certain.sum()).item() or 0), pairs.height),
            column=secret,
            details={
                "people_in_both": float(pairs.height),
                "later_alone": _alone(later, both["later"]),
                "earlier_alone": _alone(earlier, both["earlier"]),
                "least_k": float(joined["k"].fill_null(0).to_numpy().min()),
                "mean_k": float(joined["k"].fill_null(0).to_numpy().mean()),
                "least_l": float(joined["l"].fill_null(0).to_numpy().min()),
            },
        )


def _secrets(target: TableTarget) -> tuple[str, ...]:
    earlier = target.earlier
    held = [] if earlier is None else [t.columns for t in earlier]
    return tuple(s for s in secret_columns(target) if all(s in columns for columns in held))


def _type_of(target: TableTarget, secret: str) -> pl.DataType:
    """Return the type by which a secret is compared in both releases."""
    assert target.earlier is not None  # noqa: S101 # missing_inputs() was checked
    released = target.earlier[0][secret].dtype
    return common_type(
        released, common_type(target.released[secret].dtype, target.original[secret].dtype)
    )


def _earlier_people(target: TableTarget, secret: str, dtype: pl.DataType) -> pl.DataFrame:
    assert target.earlier is not None  # noqa: S101 # missing_inputs() was checked
    released, original = target.earlier
    return pl.DataFrame(
        [
            class_numbers(released, target.quasi_identifiers),
            spelt(released[secret], dtype).alias("seen"),
            spelt(original[secret], dtype).alias("truth"),
        ]
    )


def _in_both(target: TableTarget) -> pl.DataFrame:
    """Return for each person in both releases the row numbers in each."""
    assert target.earlier is not None  # noqa: S101 # missing_inputs() was checked
    now, before = target.original[target.owner_of_row], target.earlier[1]
    columns = [
        name
        for name, dtype in now.schema.items()
        if name in before.columns and not dtype.is_nested()
    ]
    types = {name: common_type(before[name].dtype, now[name].dtype) for name in columns}

    # Columns have any names: here their places name them.
    places = [str(place) for place in range(len(types))]

    def keyed(rows: pl.DataFrame, number: str) -> pl.DataFrame:
        texts = (spelt(rows[name], dtype) for name, dtype in types.items())
        named = pl.DataFrame(dict(zip(places, texts, strict=True)))
        twin = pl.int_range(pl.len()).over(places)
        return named.with_columns(twin=twin).with_row_index(number)

    joined = keyed(now, "later").join(
        keyed(before, "earlier"), on=[*places, "twin"], nulls_equal=True
    )
    return joined.select("later", "earlier").sort("later")


def _common(pairs: pl.DataFrame, later: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """Return for each pair of classes how many values are in both, the only one, and k."""
    of_later = later.group_by(later="class", value="seen").agg(n=pl.len())
    of_earlier = earlier.group_by(earlier="class", value="seen").agg(m=pl.len())
    matched = (
        pairs.select("later", "earlier")
        .unique()
        .join(of_later, on="later")
        .join(of_earlier, on=["earlier", "value"], nulls_equal=True)
    )
    return matched.group_by("later", "earlier").agg(
        l=pl.len(), only=pl.col("value").first(), k=pl.min_horizontal("n", "m").sum()
    )


def _alone(rows: pl.DataFrame, places: pl.Series) -> float:
    """Return the share of some people whose secret one release makes certain."""
    certain = (pl.col("seen").n_unique().over("class") == 1) & pl.col("seen").eq_missing(
        pl.col("truth")
    )
    return float(rows.select(certain).to_series().gather(places).to_numpy().mean())

"""Minimality: an attacker who knows that a release is no coarser than necessary.

A finer way is another that a class could have been written in; a world is an assignment of the
class's secrets to its people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from halfmask.assess.attacks._arms import Certain, SuccessCount
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._reading import common_type, spelt
from halfmask.assess.attacks._targets import TableTarget
from halfmask.assess.attacks.classes._disclosure import (
    class_numbers,
    lacking,
    people,
    secret_columns,
)
from halfmask.guarantees import Classes, Histogram

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from halfmask.assess._arrays import Bools, Floats, Ints
    from halfmask.assess.attacks._attack import Outcome
    from halfmask.guarantees import Guarantee


class Finer(NamedTuple):
    """A finer way to write a class: the side of each of its people, and who else is on a side.

    ``others`` holds for each side the codes of the secrets of people who were released there.
    """

    side_of: Ints
    others: tuple[Ints, ...]


def worlds(sizes: Sequence[int], counts: Sequence[int], *, most: int) -> Ints | None:
    """Return every assignment of secrets to groups of indistinguishable people."""
    left = np.asarray(counts, dtype=np.int64)[None, :]
    found = np.zeros((1, 0, len(counts)), dtype=np.int64)
    # Every start can be carried on to a whole world, so too many starts are too many worlds.
    for size in sizes:
        choices = _choices(size, counts, most)
        if choices is None:
            return None
        world, choice = np.nonzero((left[:, None, :] >= choices[None, :, :]).all(axis=2))
        if len(world) > most:
            return None
        found = np.concatenate([found[world], choices[choice][:, None, :]], axis=1)
        left = left[world] - choices[choice]
    return found


def _choices(size: int, counts: Sequence[int], most: int) -> Ints | None:
    """Return every way to choose so many of the secrets, (ways, secrets)."""
    chosen = np.zeros((1, 0), dtype=np.int64)
    later = int(sum(counts))
    for count in counts:
        later -= count
        number = np.arange(count + 1)
        sums = chosen.sum(axis=1)[:, None] + number[None, :]
        way, n = np.nonzero((sums <= size) & (sums + later >= size))
        if len(way) > most:
            return None
        chosen = np.concatenate([chosen[way], number[n][:, None]], axis=1)
    return chosen


def believed(
    finer: Sequence[Finer],
    codes: Ints,
    guarantees: Sequence[Guarantee],
    *,
    column: str,
    n_values: int,
    most: int,
) -> Floats | None:
    """Return the posterior of each secret, given that no finer way kept the guarantees.

    Notes
    -----
    Wong, Fu, Wang, Pei, "Minimality attack in privacy preserving data publishing" (VLDB 2007),
    section 4: all inputs that agree with what was released and with how it was made are equally
    likely.
    """
    # People on the same side of every finer way are indistinguishable.
    _, first, of_person = np.unique(
        np.stack([each.side_of for each in finer]), axis=1, return_index=True, return_inverse=True
    )
    of_person = of_person.ravel()
    sizes = np.bincount(of_person)
    values, counts = np.unique(codes, return_counts=True)
    found = worlds(sizes.tolist(), counts.tolist(), most=most)
    if found is None:
        return None
    for each in finer:
        sides = _sides(found, each.side_of[first], values, each.others, n_values)
        found = found[_missed(sides, guarantees, column)]
    if not len(found):
        return np.zeros((0, n_values))
    weights = _ways(found)
    shares = np.tensordot(weights, found, axes=1) / weights.sum() / sizes[:, None]
    probabilities: Floats = np.zeros((len(of_person), n_values))
    probabilities[:, values] = shares[of_person]
    return probabilities


def _sides(
    found: Ints, side_of_group: Ints, values: Ints, others: Sequence[Ints], n_values: int
) -> Ints:
    """Return how often each side has each secret in each world, (worlds, sides, values)."""
    sides = np.zeros((len(found), len(others), n_values), dtype=np.int64)
    for group, side in enumerate(side_of_group.tolist()):
        sides[:, side, values] += found[:, group, :]
    for side, codes in enumerate(others):
        sides[:, side, :] += np.bincount(codes, minlength=n_values)
    return sides


def _missed(sides: Ints, guarantees: Sequence[Guarantee], column: str) -> Bools:
    """Return for each world whether a side misses a guarantee."""
    n_worlds, n_sides, n_values = sides.shape
    if not n_worlds:
        return np.zeros(0, dtype=np.bool_)
    table = sides.reshape(-1, n_values)
    rows, codes = np.nonzero(table)
    histogram = Histogram.count(
        rows, codes, n_classes=len(table), n_values=n_values, weights=table[rows, codes]
    )
    classes = Classes(table.sum(axis=1), {column: histogram})
    failing = np.zeros(len(table), dtype=np.bool_)
    for guarantee in guarantees:
        failing[guarantee.judge(classes).failing] = True
    return np.asarray(failing.reshape(n_worlds, n_sides).any(axis=1), dtype=np.bool_)


def _ways(found: Ints) -> Floats:
    """Return how many assignments of single people each world stands for, up to a factor."""
    from scipy.special import gammaln  # noqa: PLC0415 # scipy loads late

    # What the groups' sizes add is the same in all worlds.
    logs = -gammaln(found + 1.0).sum(axis=(1, 2))
    return np.asarray(np.exp(logs - logs.max()))


Ways: TypeAlias = "Callable[[Ints, Sequence[Guarantee]], list[Finer]]"
NOBODY: Ints = np.zeros(0, dtype=np.int64)


def finer_ways(target: TableTarget, kind: Literal["medians", "values"], *, seen: Ints) -> Ways:
    """Return a function that lists finer ways of a class, given row numbers and guarantees.

    Ways that fail by the sizes of their sides are left out: they disclose no secrets.
    """
    truth = target.original[target.owner_of_row]
    columns = [name for name in target.quasi_identifiers if name in target.released.columns]
    if kind == "values":
        return _by_values(target.released, truth, columns, seen)
    hierarchies = target.hierarchies or {}
    return _by_medians([_ranks(truth[name]) for name in columns if name not in hierarchies])


def _by_medians(columns: Sequence[Ints]) -> Ways:
    def ways(members: Ints, guarantees: Sequence[Guarantee]) -> list[Finer]:
        found = []
        for ranks in columns:
            here = ranks[members]
            median = np.partition(here, len(here) // 2)[len(here) // 2]
            for side_of in (here >= median, here > median):
                n_right = int(side_of.sum())
                if 0 < n_right < len(here) and _large_enough(
                    [len(here) - n_right, n_right], guarantees
                ):
                    found.append(Finer(side_of.astype(np.int64), (NOBODY, NOBODY)))
        return found

    return ways


def _by_values(
    released: pl.DataFrame, truth: pl.DataFrame, columns: Sequence[str], seen: Ints
) -> Ways:
    types = {name: common_type(released[name].dtype, truth[name].dtype) for name in columns}
    # Columns have any names, none at all included.
    raw, written = (
        pl.DataFrame(
            {
                str(place): spelt(rows[name], dtype)
                for place, (name, dtype) in enumerate(types.items())
            }
        )
        for rows in (truth, released)
    )
    numbers = class_numbers(pl.concat([raw, written]), raw.columns).to_numpy()
    group, label = numbers[: raw.height], numbers[raw.height :]
    # People released with their raw values: another person with these values would join them.
    unchanged = np.flatnonzero(label == group)
    unchanged = unchanged[np.argsort(label[unchanged], kind="stable")]
    keys = label[unchanged]

    def ways(members: Ints, guarantees: Sequence[Guarantee]) -> list[Finer]:
        values, side_of = np.unique(group[members], return_inverse=True)
        if len(values) < 2 and values[0] == label[members[0]]:
            return []  # it isn't coarser than raw
        starts, ends = np.searchsorted(keys, values), np.searchsorted(keys, values, side="right")
        others = tuple(seen[unchanged[a:b]] for a, b in zip(starts, ends, strict=True))
        sizes = np.bincount(side_of) + [len(codes) for codes in others]
        if not _large_enough(sizes.tolist(), guarantees):
            return []
        return [Finer(side_of.astype(np.int64), others)]

    return ways


def _large_enough(sizes: Sequence[int], guarantees: Sequence[Guarantee]) -> bool:
    """Return whether sides of these sizes keep what needs no secret to be judged."""
    classes = Classes(np.asarray(sizes, dtype=np.int64))
    return all(
        not len(guarantee.judge(classes).failing)
        for guarantee in guarantees
        if guarantee.column is None and not guarantee.of_table
    )


def _ranks(column: pl.Series) -> Ints:
    """Return each value's place in the order in which columns are cut; missing is last."""
    if column.dtype in (pl.String, pl.Categorical):
        column = column.cast(pl.String)
    ranks = column.rank("dense").cast(pl.Int64)
    return ranks.fill_null(column.len() + 1).to_numpy()


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

    def _measure(self, target: TableTarget, random_state: int) -> Found:
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
        return self._make_outcome(
            f"{secret} sure by {self.finer}",
            SuccessCount(int((now >= sure).sum()), len(now)),
            Certain(float((overall[truth] >= sure).mean())),
            column=secret,
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

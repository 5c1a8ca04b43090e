"""Several given policies on one table, side by side: classes, masks and synthetic rows alike."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from halfmask._errors import GuaranteeNotMetError, HalfmaskError, ParameterError, PolicyError
from halfmask._html_table import html_table
from halfmask._progress import Progress, silent
from halfmask._random import key_or_fresh
from halfmask.assess.attacks import TableTarget, attack
from halfmask.assess.attacks.tables import Inference, Linkability, SinglingOutMultivariate
from halfmask.assess.synthesis import spread_distances
from halfmask.data import ReadOptions, atomic_folder, open_table
from halfmask.microdata._synthesis_section import PrivateSection
from halfmask.microdata.attacked import with_joined_bounds
from halfmask.microdata.exploring._points import NOTE
from halfmask.release import Inputs, kind_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from halfmask._sections import Choice
    from halfmask.anonymize import Coding, Plan
    from halfmask.data import Hierarchy
    from halfmask.microdata._policy import Policy
    from halfmask.release import Release
    from halfmask.vault import Vault

#: The file that marks a folder as one of a comparison.
MARKER: Final = "comparison.json"
#: What the table is called among the policies.
RAW: Final = "raw table"
#: Attacks that need no original row of a released row: they are fair to each kind.
ATTACKS: Final = (SinglingOutMultivariate, Linkability, Inference)
#: So many rows are attacked at most, and this share of them is held out.
MOST_ATTACKED, HELD_OUT = 8_000, 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyComparison:
    """What is released by each of several policies, its risk and its utility.

    Parameters
    ----------
    measures
        Of the raw table, then of each policy, its measures by name; ``None`` where it has none.
    """

    measures: Mapping[str, Mapping[str, Any]]

    def __repr__(self) -> str:
        return f"PolicyComparison({', '.join(self.measures)})"

    def to_frame(self) -> pl.DataFrame:
        """Return a row for each measure, and a column for the table and each policy."""
        names = dict.fromkeys(name for each in self.measures.values() for name in each)
        return pl.DataFrame(
            {"measure": list(names)}
            | {
                it: [in_words(said.get(name)) for name in names]
                for it, said in self.measures.items()
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the measures of each policy, for JSON."""
        return {"note": NOTE, "policies": {it: dict(said) for it, said in self.measures.items()}}

    def write(self, out: str | Path, *, overwrite: bool = False) -> None:
        """Write the measures as ``comparison.csv`` and ``comparison.json``.

        Parameters
        ----------
        out
            The folder to make.
        overwrite
            Whether an earlier comparison of that name may be replaced.
        """
        with atomic_folder(Path(out), overwrite=overwrite, marker=MARKER) as folder:
            self.to_frame().write_csv(folder / "comparison.csv")
            text = json.dumps(self.to_dict(), indent=1, allow_nan=False)
            (folder / MARKER).write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Show the measures in a notebook."""
        frame = self.to_frame()
        return html_table(repr(self), frame.columns, frame.rows(), [NOTE])


def in_words(value: object) -> str:
    """Return a measure as a cell of a table."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def compare_policies(
    table: object,
    policies: Mapping[str, Policy],
    *,
    population: object = None,
    random_state: int = 0,
    key: bytes | None = None,
    vault: Vault | None = None,
    progress: Progress | None = None,
) -> PolicyComparison:
    """Protect a table by several policies, and measure all releases in the same way.

    Parameters
    ----------
    table, population, key, vault
        As of `protect`. Nothing is written or booked.
    policies
        The policies by a name of your own: of classes, masks or synthetic rows, without epsilon.
    random_state
        The seed of the attacks, and of the rows that are held out.
    progress
        Called with what is being done and how far it is.

    Returns
    -------
    PolicyComparison
        First the raw table, then each policy; of one that the table can't keep the reason.

    Raises
    ------
    ParameterError
        If there are fewer than two policies, or one is called ``"raw table"``.
    PolicyError
        If a policy has an epsilon, or they read the table in different ways.

    See Also
    --------
    explore : Varies one policy.

    Notes
    -----
    **Guarantees.** Rows, loss, highest risk and distances are those of a release of the whole
    table. A distance is the share of rows that would have to move to turn one released column, or
    two, into the raw ones. A range counts in equal parts for each raw value that it holds. Attacks
    are run on a release of three quarters of at most 8,000 rows, drawn at random; the other rows
    are their control.

    **Edge cases.** Distances and attacks are over the columns that every policy releases. Attackers
    know the quasi-identifiers of any policy, or all columns without any. Attacks with too few
    rows, or without a release of the drawn rows, have no number.
    """
    if len(policies) < 2 or RAW in policies:
        raise ParameterError(
            "The 'policies' parameter of compare_policies must have two or more policies, none "
            f"called {RAW!r}."
        )
    first = next(iter(policies.values()))
    for each in policies.values():
        _check(each, first)
    progress = progress or silent
    rows = open_table(table, options=ReadOptions(**dict(first.input))).read()
    plain = {
        name: each.model_copy(update={"input": type(each.input)(), "book": None})
        for name, each in policies.items()
    }
    given = Inputs(
        key=key_or_fresh(key), vault=vault, population=population, unmeasured=True
    )  # all releases are attacked below, alike
    made: dict[str, Release[Any] | str] = {}
    for place, (name, policy) in enumerate(plain.items()):
        progress(f"protecting by {name}", place / (2 * len(plain) + 1))
        with naming_policy(place + 1):
            made[name] = _made(rows, policy, given)
    kept = [_rows_of(each).columns for each in made.values() if not isinstance(each, str)]
    shared = [name for name in rows.columns if all(name in columns for columns in kept)]
    if not shared:
        raise PolicyError("No column is released by every policy, so nothing can be compared.")
    drawn = rows[np.random.default_rng(random_state).permutation(rows.height)[:MOST_ATTACKED]]
    attacks = _Attacks.of(drawn, policies.values(), shared, random_state)
    progress("attacking the raw table", 0.5)
    found: dict[str, dict[str, Any]] = {RAW: _facts_of_raw(rows) | attacks.on(attacks.learnt, None)}
    for place, (name, policy) in enumerate(plain.items(), start=1):
        progress(f"attacking {name}", 0.5 + place / (2 * len(plain) + 2))
        release = made[name]
        if isinstance(release, str):
            found[name] = {"refused": release}
            continue
        original = open_table(rows, options=policy.read_options()).read()
        found[name] = _facts(release, original, shared)
        again = _made(attacks.learnt, policy, given)
        if not isinstance(again, str):
            found[name] |= attacks.on(_rows_of(again), policy, _trees(again))
    progress("done", 1.0)
    return PolicyComparison(measures=found)


@contextmanager
def naming_policy(place: int) -> Iterator[None]:
    """Say of an error which of several policies has it, by its place from 1."""
    try:
        yield
    except HalfmaskError as error:
        raise type(error)(f"In policy {place}: {error.what.written}", hint=error.hint) from None


def _check(policy: Policy, first: Policy) -> None:
    if policy.is_private or isinstance(policy.synthesis, PrivateSection):
        raise PolicyError(
            "A policy has an epsilon, and each comparison on the rows would cost more of it.",
            hint="Compare policies without epsilon, or choose the parameters without the rows.",
        )
    if policy.input != first.input:
        raise PolicyError(
            "The policies read the table in different ways.",
            hint="Write the same [input] into each.",
        )


def _made(rows: pl.DataFrame, policy: Policy, given: Inputs) -> Release[Any] | str:
    """Return the release of some rows, or why there is none."""
    try:
        return kind_named(policy.kind).make_release(rows, policy, given)
    except GuaranteeNotMetError as error:
        return error.what


@dataclass(frozen=True, slots=True, kw_only=True)
class _Attacks:
    """The same attacks on each release: what is known, and the rows that are held out."""

    learnt: pl.DataFrame
    held_out: pl.DataFrame
    known: tuple[str, ...]
    secrets: tuple[str, ...]
    shared: list[str]
    random_state: int

    @classmethod
    def of(
        cls, drawn: pl.DataFrame, policies: Iterable[Policy], shared: list[str], random_state: int
    ) -> _Attacks:
        cut = int(HELD_OUT * drawn.height)
        roles = {"quasi_identifier": set[str](), "sensitive": set[str]()}
        for policy in policies:
            for name, each in policy.columns.items():
                roles.get(each.role, set()).add(name)
        known = tuple(it for it in shared if it in roles["quasi_identifier"])
        secrets = tuple(it for it in shared if it in roles["sensitive"] - {*known})
        return cls(
            learnt=drawn[cut:],
            held_out=drawn[:cut],
            known=known or tuple(it for it in shared if it not in secrets),
            secrets=secrets,
            shared=shared,
            random_state=random_state,
        )

    def on(
        self,
        released: pl.DataFrame,
        policy: Policy | None,
        trees: Mapping[str, Hierarchy] | None = None,
    ) -> dict[str, float]:
        """Return how often each attack succeeds on people of the release, and on others."""
        options = ReadOptions() if policy is None else policy.read_options()
        people, others = (
            open_table(it, options=options).read() for it in (self.learnt, self.held_out)
        )
        target = TableTarget(
            released=released.select(self.shared),
            original=people,
            control=others,
            quasi_identifiers=self.known,
            secrets=self.secrets,
            hierarchies=dict(trees or {}),
            owners="unknown",
        )
        able = [it() for it in ATTACKS if not it().missing_inputs(target)]
        found: dict[str, float] = {}
        for each in (
            attack(target, attacks=able, random_state=self.random_state).findings if able else ()
        ):
            name = each.outcome.attack.removeprefix("tables/")
            if name == "inference":
                name = each.outcome.measure.removeprefix("share of right guesses of ") + " guessed"
            found[name] = float(each.outcome.success.value)
            found[f"{name} (control)"] = float(each.outcome.control.value)
        return found


def _facts_of_raw(rows: pl.DataFrame) -> dict[str, Any]:
    return {
        "kind": "raw",
        "guarantees": None,
        "masks": None,
        "rows released": rows.height,
        "rows left out": 0,
        "columns": len(rows.columns),
        "distance of a column": 0.0,
        "distance of two columns": 0.0,
    }


def _facts(release: Release[Any], original: pl.DataFrame, shared: list[str]) -> dict[str, Any]:
    """Return what is released, and how far it is from the table."""
    policy, released = release.policy, _rows_of(release)
    masks = {it.name for name in policy.columns for it in policy.masks_of(name)}
    masks |= {it.name for it in policy.table_masks}
    found: dict[str, Any] = {
        "kind": {"microdata": "classes"}.get(release.kind.name, release.kind.name),
        "guarantees": ", ".join(map(_stated, policy.guarantee_sections)) or None,
        "masks": ", ".join(sorted(masks)) or None,
        "rows released": release.rows["out"],
        "rows left out": original.height - release.rows["out"],
        "columns": len(released.columns),
    }
    alone, pairs = spread_distances(original, released.select(shared), _trees(release))
    found["distance of a column"] = float(np.mean(list(alone.values())))
    found["distance of two columns"] = None if pairs is None else pairs.mean
    if release.kind.name == "microdata":
        found["information loss"] = release.utility.loss.loss
        found["highest risk of a class"] = release.risk.after.prosecutor.highest.value
    if release.kind.name == "synthetic":
        found["rows left out"] = None  # no released row is one of the table
    return found | {f"distance of {name}": each for name, each in alone.items()}


def _stated(guarantee: Choice) -> str:
    numbers = [f"{name} = {value}" for name, value in guarantee.parameters.items()]
    return f"{guarantee.named} ({', '.join(numbers)})" if numbers else guarantee.named


def _rows_of(release: Release[Any]) -> pl.DataFrame:
    """Return the released rows by the table's columns: both bounds of a range are one."""
    rows: pl.DataFrame = release.data
    if release.kind.name != "microdata":
        return rows
    plan: Plan = release.source.plan
    written = zip(plan.codings, plan.written, strict=True)
    return with_joined_bounds(
        rows,
        {it.column.name: tuple(own.struct.fields) for it, own in written if own.dtype == pl.Struct},
        {it.column.name for it in plan.codings if it.grid is not None},
    )


def _trees(release: Release[Any]) -> dict[str, Hierarchy]:
    """Return the hierarchies whose nodes may be written."""
    if release.kind.name != "microdata":
        return {}
    codings: tuple[Coding, ...] = release.source.plan.codings
    return {it.column.name: it.hierarchy for it in codings if it.hierarchy is not None}

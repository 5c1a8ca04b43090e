"""Propose what to say of a table's columns, with the reason and the evidence for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, get_args, runtime_checkable

import numpy as np
import polars as pl

from halfmask._errors import ColumnNotFoundError, DataError
from halfmask._validation import integer_at_least, one_of
from halfmask.data import Role, Schema, open_table
from halfmask.data.frames import to_polars
from halfmask.description._coordinates import CoordinatePair, find_pairs
from halfmask.description._derived import Derivations
from halfmask.description._survey import propose_of_survey
from halfmask.description.policy_text import policy_text, toml_value
from halfmask.description.profile import ColumnProfile, profile_all
from halfmask.description.proposal import (
    Proposal,
    propose_as_point,
    propose_as_source,
    propose_as_told,
    propose_by_company,
    propose_by_gain,
    propose_by_itself,
)
from halfmask.description.singling_out import (
    Singling,
    SinglingOut,
    share_unique,
    single_out,
    single_out_together,
)

ROLES: tuple[Role, ...] = get_args(Role)
MAX_ROWS = 1_000_000
MAX_CELLS = 20_000_000
FEWEST_ROWS = 2_000


@runtime_checkable
class Batched(Protocol):
    """A table that comes in batches, such as a `Source`."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""

    def batches(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in batches."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Description:
    """What `describe` proposes for a table: counts and names, no cell value.

    Parameters
    ----------
    proposals
        One for each column, in the table's order.
    rows
        The rows of the table.
    rows_looked_at
        The rows that were counted: all, or a sample drawn at random.
    singling_out
        Minimal sets of columns on which at least 5 % of the counted rows are unique, small sets
        first. No set has an identifier. On a larger set, more rows can be unique.
    share_unique
        The share of rows that are unique on all proposed quasi-identifiers together, in [0, 1].
    share_unique_unchanged
        The share of rows that are unique on the proposed sensitive and insensitive columns, in
        [0, 1]. A release holds these columns unchanged.
    rows_paired, columns_paired
        How many rows and columns the search for sets counted.
    """

    proposals: tuple[Proposal, ...]
    rows: int
    rows_looked_at: int
    singling_out: tuple[SinglingOut, ...]
    share_unique: float
    share_unique_unchanged: float
    rows_paired: int
    columns_paired: int

    @property
    def schema(self) -> Schema:
        """The proposed schema."""
        return Schema(tuple(proposal.column for proposal in self.proposals))

    @property
    def places(self) -> tuple[CoordinatePair, ...]:
        """Pairs of columns with coordinates; the policy makes a place of each."""
        return tuple(dict.fromkeys(it.pair for it in self.proposals if it.pair is not None))

    def __getitem__(self, name: str) -> Proposal:
        for proposal in self.proposals:
            if proposal.name == name:
                return proposal
        names = [proposal.name for proposal in self.proposals]
        raise ColumnNotFoundError.of([name], names, where="the description")

    def __repr__(self) -> str:
        roles = Counter(proposal.role for proposal in self.proposals)
        counted = ", ".join(f"{roles[role]} {role}" for role in ROLES if roles[role])
        return f"<Description of {self.rows:,} rows; columns: {counted}>"

    def policy_toml(self) -> str:
        """Return a commented policy file with what is proposed, for the owner to edit."""
        return policy_text(self.proposals, findings="\n".join(self._findings()))

    def _findings(self) -> Iterator[str]:
        """Yield the lines that say what was counted of the table as a whole."""
        looked = self.rows_looked_at
        sampled = "" if looked == self.rows else f", of which {looked:,} were looked at"
        yield f"The table has {self.rows:,} rows{sampled}."
        yield (
            f"On the proposed quasi-identifiers together, {self.share_unique:.1%} of the rows "
            "are unique."
        )
        yield (
            "On the sensitive and insensitive columns, which are released unchanged, "
            f"{self.share_unique_unchanged:.1%} of the rows are unique."
        )
        if self.rows_paired < looked:
            yield (
                f"Unique rows were counted among {self.rows_paired:,} rows; in the whole table "
                "they are fewer."
            )
        if self.singling_out:
            yield "These columns single people out (share of unique rows on them alone):"
        for found in self.singling_out:
            names = ", ".join(toml_value(name) for name in found.columns)
            yield f"  {found.share_unique:6.1%}  {names}"


def describe(
    table: object, *, sample: int | None = None, roles: Mapping[str, Role] | None = None
) -> Description:
    """Propose a role and a kind for each column of a table, and say why.

    Parameters
    ----------
    table
        A frame of polars, pandas or pyarrow, a `Source`, or a path of a file or folder.
    sample
        Number of rows to examine, at least 1. A larger table is sampled at random. ``None`` means
        up to a million rows, or 20 million cells if that is less, but at least 2,000 rows.
    roles
        The known roles of columns. They are kept. Columns that can be derived from these columns
        are detected.

    Returns
    -------
    Description
        Proposals, their evidence, and the sets of columns that single people out.

    Raises
    ------
    DataError
        If the table has no columns or no rows, or isn't a table.
    ColumnNotFoundError
        If `roles` names a column that the table lacks.
    ParameterError
        If ``sample`` isn't an integer of 1 or more, or a role is unknown.

    See Also
    --------
    halfmask.protect : Protects a table by a policy.
    halfmask.events.description.describe_events : The same for events.

    Notes
    -----
    The first of these rules that applies decides:

    1. The form of the values: e-mail addresses, card numbers with a right checksum, free text,
       names of people.
    2. The column's name: words in several languages. The values must fit. All dates are
       quasi-identifiers.
    3. Other columns: a column that can be derived from others takes their role. It
       may be a code, a band, a copy, or a sum, difference, product or ratio of two columns (a
       body mass index).
    4. Counting: a column is a quasi-identifier if more rows are unique with it. Columns that single
       out rows only in combination are added until the remaining ones no longer do.

    **False negatives are possible**: the owner has to look at each column.
    A sample overstates how many rows are unique; the shares say what was counted.

    Examples
    --------
    >>> table = pl.DataFrame({"age": [31, 42, 57], "e-mail": ["a@b.org", "c@d.org", "e@f.org"]})
    >>> [(it.name, it.role) for it in describe(table).proposals]
    [('age', 'quasi_identifier'), ('e-mail', 'identifier')]
    >>> describe(table, roles={"age": "sensitive"})["age"].role
    'sensitive'
    """
    known = dict(roles or {})
    frame, rows, labelled = _read_described_rows(table, sample, known)
    profiles = profile_all(frame, labelled)
    judged, searched = _judge_columns(frame, profiles, known)
    singling = searched or single_out(frame, _open_names(profiles, judged))
    # A column with one value can't single out, and identifiers weren't asked.
    gains = dict.fromkeys(profiles, 0.0) | singling.gains
    proposals = tuple(_with_gain(judged[name], gains[name]) for name in profiles)
    at_hand = [it.name for it in proposals if it.role == "quasi_identifier"]
    unchanged = [it.name for it in proposals if it.role in {"sensitive", "insensitive"}]
    return Description(
        proposals=proposals,
        rows=rows,
        rows_looked_at=frame.height,
        singling_out=singling.sets,
        share_unique=share_unique(frame, at_hand),
        share_unique_unchanged=share_unique(frame, unchanged),
        rows_paired=singling.rows,
        columns_paired=singling.columns,
    )


def propose_columns(table: object, roles: Mapping[str, Role]) -> dict[str, Proposal]:
    """Return what `describe` proposes for each column; nothing else is counted of the table.

    So if all columns have a role, nobody looks for sets of columns that single people out.
    """
    frame, _, labelled = _read_described_rows(table, None, roles)
    profiles = profile_all(frame, labelled)
    judged, _ = _judge_columns(frame, profiles, roles)
    return {name: judged[name] for name in profiles}


def _read_described_rows(
    table: object, sample: int | None, known: Mapping[str, Role]
) -> tuple[pl.DataFrame, int, frozenset[str]]:
    """Return the rows to look at, how many there are, and the labelled columns, or raise."""
    if sample is not None:
        integer_at_least(1, owner="describe", sample=sample)
    if isinstance(table, str | Path):
        table = open_table(table)
    frame, rows = _read_rows(table, sample)
    if not frame.width or not rows:
        raise DataError(
            f"There is nothing to describe: the table has {frame.width} columns and {rows} rows."
        )
    _check_roles(known, frame.columns)
    return frame, rows, getattr(table, "labelled", frozenset())


def _judge_columns(
    frame: pl.DataFrame, profiles: Mapping[str, ColumnProfile], known: Mapping[str, Role]
) -> tuple[dict[str, Proposal], Singling | None]:
    """Return the proposals, and what singles people out, where a column had no role."""
    clear: dict[str, Proposal | None] = {
        name: propose_as_told(profile, known[name]) if name in known else propose_by_itself(profile)
        for name, profile in profiles.items()
    }
    clear |= propose_of_survey(frame, profiles, known)
    clear |= _propose_points(frame, profiles, known)
    told = {name: found for name, found in clear.items() if name in known and found is not None}
    if len(told) == len(profiles):
        return told, None
    derivations = Derivations(frame, profiles)
    clear |= _propose_derived(derivations, clear, known, certain=True)
    singling = single_out(frame, _open_names(profiles, clear))
    judged = {
        name: clear[name] or propose_by_gain(profile, singling.gains.get(name, 0.0))
        for name, profile in profiles.items()
    }
    judged |= _propose_derived(derivations, judged, known, certain=False)
    judged |= _propose_together(frame, profiles, judged, known)
    return judged, singling


def _propose_points(
    frame: pl.DataFrame, profiles: Mapping[str, ColumnProfile], known: Mapping[str, Role]
) -> dict[str, Proposal]:
    """Return proposals for columns that make places, two by two."""
    may_be = {name: profile for name, profile in profiles.items() if profile.filled}
    found: dict[str, Proposal] = {}
    for pair in find_pairs(frame, may_be):
        given = {known[name] for name in pair.columns if name in known}
        if given <= {"quasi_identifier"} or (
            given == {"sensitive"} and {*pair.columns} <= {*known}
        ):
            role = next(iter(given), None)
            found |= {it: propose_as_point(profiles[it], pair, role) for it in pair.columns}
    return found


def _open_names(
    profiles: Mapping[str, ColumnProfile], judged: Mapping[str, Proposal | None]
) -> list[str]:
    """Return the columns that may single people out with others."""
    identifiers = {name for name, found in judged.items() if found and found.role == "identifier"}
    return [
        name
        for name, profile in profiles.items()
        if profile.distinct > 1 and name not in identifiers
    ]


def _check_roles(roles: Mapping[str, Role], columns: list[str]) -> None:
    absent = [name for name in roles if name not in columns]
    if absent:
        raise ColumnNotFoundError.of(absent, columns, where="the table")
    for name, role in roles.items():
        one_of(ROLES, owner=f"column {name!r}", role=role)


def _propose_derived(
    derivations: Derivations,
    judged: Mapping[str, Proposal | None],
    known: Collection[str],
    *,
    certain: bool,
) -> dict[str, Proposal]:
    """Return proposals for columns that follow from others: these take the sources' role."""
    roles = {
        name: "insensitive" if proposal is None else proposal.role
        for name, proposal in judged.items()
        if derivations.profiles[name].distinct > 1
    }
    sources = {role: [name for name in roles if roles[name] == role] for role in ROLES}
    targets = sources["insensitive"] + (sources["sensitive"] if certain else [])
    found = {}
    for name in (name for name in targets if name not in known):
        profile, is_open = derivations.profiles[name], roles[name] == "insensitive"
        if derivation := derivations.of(name, sources["quasi_identifier"]):
            found[name] = propose_as_source(profile, "quasi_identifier", derivation)
        elif is_open and (derivation := derivations.part_of(name, sources["identifier"])):
            found[name] = propose_as_source(profile, "identifier", derivation)
        elif is_open and (derivation := derivations.of(name, sources["sensitive"])):
            found[name] = propose_as_source(profile, "sensitive", derivation)
    return found


def _propose_together(
    frame: pl.DataFrame,
    profiles: Mapping[str, ColumnProfile],
    judged: Mapping[str, Proposal],
    known: Collection[str],
) -> dict[str, Proposal]:
    """Return proposals for columns of which none singles out alone, but all of them do together."""
    asked = {name: proposal for name, proposal in judged.items() if name not in known}
    names = [name for name, proposal in asked.items() if proposal.role == "insensitive"]
    share, promoted = single_out_together(frame, names)
    return {name: propose_by_company(profiles[name], share, len(names)) for name in promoted}


def _with_gain(proposal: Proposal, gain: float) -> Proposal:
    if proposal.role == "identifier":
        return proposal
    return replace(proposal, evidence=MappingProxyType({**proposal.evidence, "gain": gain}))


def _read_rows(table: object, sample: int | None) -> tuple[pl.DataFrame, int]:
    """Return the rows to look at, and how many the table has."""
    if isinstance(table, Batched):
        return _draw_rows(table.batches(), _most_rows(len(table.columns), sample))
    frame = to_polars(table)
    return _draw_rows(iter([frame]), _most_rows(frame.width, sample))


def _most_rows(columns: int, sample: int | None) -> int:
    if sample is not None:
        return sample
    return min(MAX_ROWS, max(FEWEST_ROWS, MAX_CELLS // max(columns, 1)))


def _draw_rows(batches: Iterator[pl.DataFrame], most: int) -> tuple[pl.DataFrame, int]:
    """Return at most so many rows, each with the same chance, in their order, in one pass.

    Each row draws a number, and the rows with the lowest stay (Vitter 1985 calls this a random
    sort). The seed is fixed: the same table is described the same way each time.
    """
    rng = np.random.default_rng(0)
    kept, draws, rows = pl.DataFrame(), np.empty(0), 0
    for batch in batches:
        rows += batch.height
        kept = pl.concat([kept, batch], how="vertical_relaxed") if kept.width else batch
        draws = np.concatenate([draws, rng.random(batch.height)])
        if kept.height > most:
            stay = np.sort(np.argpartition(draws, most)[:most])
            kept, draws = kept[stay], draws[stay]
    return kept, rows

"""Claims about hidden cells: the intervals that can be computed, and those that are needed."""

from __future__ import annotations

import hashlib
from collections import Counter
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from halfmask._errors import VerificationError
from halfmask.claims import read_manifest
from halfmask.claims.crosstab_manifest import HIDDEN_INTERVALS, PROTECTED_CELLS, rules_of
from halfmask.claims.manifest import manifest_path
from halfmask.verifier._found_files import hashed
from halfmask.verifier.checks import ClaimCount
from halfmask.verifier.crosstabs._intervals import Goals, Space, find_space, prove
from halfmask.verifier.crosstabs._opened import Opened, open_release
from halfmask.verifier.crosstabs._sensitive import (
    CONCENTRATION,
    check_rules,
    excess_of,
    find_needs,
    in_tables,
)
from halfmask.verifier.crosstabs._unknown import Earlier, find_unknown, read_earlier

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scipy.sparse import csr_array

    from halfmask.claims import Claim
    from halfmask.claims.crosstab_manifest import StatedRule
    from halfmask.verifier.checks import ReleasedFiles
    from halfmask.verifier.crosstabs._sensitive import CellNeeds
    from halfmask.verifier.crosstabs._system import Bools, Floats, Ints
    from halfmask.verifier.crosstabs._tabulation import CellTally, Contributions

#: With singletons "exact", the share of a cell's protection that its interval must have to be none.
_NOT_EXACT: Final = 1e-5
#: What published cells and true hidden ones may lack in an equation, as a share of their sum.
_FITS: Final = 1e-9


def opened_tables(files: ReleasedFiles) -> Opened:
    """Return the opened tables; a claim about others doesn't hold."""
    if not isinstance(files.table, Opened):
        raise VerificationError("The tables couldn't be opened.")
    return files.table


def check_intervals(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Bound each hidden cell of a measure by what is published."""
    return _count_intervals(claim, opened_tables(files), ())


def _count_intervals(claim: Claim, opened: Opened, earlier: Sequence[Earlier]) -> ClaimCount:
    measure = claim.about["measure"]
    if not isinstance(measure, str | None) or measure not in opened.cells:
        raise VerificationError("The claim is about a measure that no table has.")
    name = "least_width" if measure is None else "least_share"
    least = max(_number(claim.parameters[name]), _number(claim.evidence["narrowest"]))
    if least <= 0 or (measure is not None and least > 1):
        raise VerificationError("A width must be above 0, and a share at most 1.")
    n_hidden = int(opened.cells[measure].hidden.sum())
    narrow = 0
    if n_hidden:
        unknown = find_unknown(opened, measure, earlier)
        space = find_space(unknown)
        asked = np.zeros(len(space.base), dtype=np.bool_)
        asked[unknown.number] = True
        goals = Goals(
            space,
            width=np.where(asked, least, 0.0) if measure is None else 0.0,
            share=0.0 if measure is None else least,
            asked=asked,
        )
        narrow = int(prove(goals).sum())
    return ClaimCount(
        holds=not narrow and claim.evidence["hidden"] == n_hidden,
        found={"hidden": n_hidden, "narrower": narrow},
        words=f"{n_hidden:,} cells are hidden." if not narrow else "Some intervals are narrower.",
    )


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise VerificationError("A number of the claim isn't one.")
    return float(value)


def check_protected(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Apply the rules to the true cells, and look for what can be computed of sensitive ones."""
    return _count_protected(claim, opened_tables(files), ())


def _count_protected(claim: Claim, opened: Opened, earlier: Sequence[Earlier]) -> ClaimCount:
    rules = rules_of(claim)
    singletons, sums = claim.parameters["singletons"], claim.parameters["hidden_sums"]
    if singletons not in {"exact", "full", "off"} or sums not in {"on", "off"} or not rules:
        raise VerificationError("The claim states no rules, or what they are for.")
    check_rules(rules, opened.details)
    found: Counter[str] = Counter()
    applied = set()
    for measure, tally in opened.tallies.items():
        who = tally.of_cells()
        needs = find_needs(measure, tally, rules, opened)
        applied |= {rule for rule in rules if in_tables(measure, tally, rule, opened).any()}
        release = _Hidden(opened, measure, tally, who, needs, earlier)
        found["sensitive"] += int(needs.sensitive.sum())
        found["published"] += release.n_published
        found["unmet"] += release.unmet(str(singletons))
        if sums == "on" and measure is not None:
            found["sums"] += release.broken_sums(rules)
    if len(applied) < len({*rules}):
        raise VerificationError("A rule of the claim fits no table.")
    bad = found["published"] + found["unmet"] + found["sums"]
    counts = {name: found[name] for name in ("sensitive", "published", "unmet", "sums")}
    return ClaimCount(
        holds=not bad and _number(claim.evidence.get("sensitive", inf)) >= found["sensitive"],
        found=counts,
        words=f"{found['sensitive']:,} cells are sensitive; {bad:,} aren't protected.",
    )


class _Hidden:
    """The hidden cells of a measure, with what is true of them."""

    def __init__(
        self,
        opened: Opened,
        measure: str | None,
        tally: CellTally,
        who: Contributions,
        needs: CellNeeds,
        earlier: Sequence[Earlier],
    ) -> None:
        self.opened, self.measure, self.tally, self.who = opened, measure, tally, who
        self.cells, self.needs = opened.cells[measure], needs
        n = len(self.cells.value)
        self.hidden = np.append(self.cells.hidden, np.zeros(len(who.value) - n, dtype=np.bool_))
        self.at = np.flatnonzero(self.hidden)
        self.unknown = find_unknown(opened, measure, earlier)
        #: The number of each cell among the unknown ones; -1 for published cells.
        self.number = np.full(len(who.value), -1)
        self.number[self.at] = self.unknown.number

    @property
    def n_published(self) -> int:
        """How many sensitive cells are published."""
        return int((self.needs.sensitive & ~self.hidden).sum())

    def unmet(self, singletons: str) -> int:
        """Count the requirements that aren't met, at least."""
        if not len(self.at):
            return len(self.needs.classes)
        space = self._space()
        up, down = self._goals(space)
        unmet = int(prove(Goals(space, up=up, down=down)).sum()) + self._open_classes(space)
        if singletons != "off":
            unmet += self._owners(space, up, down, exact=singletons == "exact")
        return unmet

    def _space(self) -> Space:
        """Return all tables that fit, about the true one where nothing else is unknown."""
        it, true = self.unknown, self.who.value[self.at]
        if len(it.lower) > len(true):
            return find_space(it)
        base = np.clip(true, it.lower, it.upper)
        lacks = np.abs(it.matrix @ base - it.sums)
        if (lacks > it.slack + _FITS * (np.abs(it.sums) + abs(it.matrix) @ np.abs(base))).any():
            raise VerificationError("The published cells aren't those of the originals.")
        return Space(it.matrix, base, it.lower, it.upper)

    def _goals(self, space: Space) -> tuple[Floats, Floats]:
        """Return how far up and down each unknown cell must be able to go."""
        sensitive = self.at[self.needs.sensitive[self.at]]
        number, true = self.number[sensitive], self.who.value[sensitive]
        up, down = np.zeros(len(space.base)), np.zeros(len(space.base))
        up[number] = np.maximum(true + self.needs.above[sensitive] - space.base[number], 0.0)
        down[number] = np.maximum(space.base[number] - true + self.needs.below[sensitive], 0.0)
        return up, down

    def _open_classes(self, space: Space) -> int:
        """Count groups that are known to be in one category: none of others may be in them."""
        unmet = 0
        for cell, whole, empty in self.needs.classes:
            places = self.number[empty[self.hidden[empty]]]
            if (space.most[places] >= 1 - _FITS).any():
                continue
            own = self.number[cell]
            if own >= 0 and self.number[whole] < 0 and space.least[own] <= _FITS - 1:
                continue
            unmet += not any(self._can_rise(space, int(place)) for place in places)
        return unmet

    @staticmethod
    def _can_rise(space: Space, cell: int) -> bool:
        up = np.zeros(len(space.base))
        up[cell] = 1.0
        return not prove(Goals(space, up=up)).any()

    def _owners(self, space: Space, up: Floats, down: Floats, *, exact: bool) -> int:
        """Count what owners who are alone in hidden cells could compute of other sensitive ones.

        They know that nobody else is in the cells inside theirs, and their own part of others.
        """
        unmet = 0
        goal = np.maximum(up, down)
        positive = (self.who.absolute <= self.who.value * (1 + _FITS)).all()
        cell_of = np.full(len(goal), -1)
        cell_of[self.number[self.at]] = self.at
        for known in self._known_by_owners():
            linked = np.isin(space.part, space.part[known]) & (goal > 0)
            linked[known] = False
            places, own_cells = np.flatnonzero(linked), cell_of[known]
            linked[places] = ~self._inside(cell_of[places], own_cells).any(axis=1)
            parts = self._inside(own_cells, cell_of[places]).T * self.who.value[own_cells]
            least = np.zeros(len(goal))
            least[places] = parts.max(axis=1, initial=0.0) if positive else -np.inf
            if not linked.any():
                continue
            own = space.without(known)
            goals = (
                Goals(own, width=np.where(linked, goal * _NOT_EXACT, 0.0))
                if exact
                else Goals(
                    own,
                    up=np.where(linked, up, 0.0),
                    down=np.where(linked, np.clip(own.base - least, 0.0, down), 0.0),
                )
            )
            unmet += int(prove(goals).sum())
        return unmet

    def _inside(self, inner: Ints, outer: Ints) -> Bools:
        """Return whether all who are in some cells are in others, by their codes."""
        found = np.ones((len(inner), len(outer)), dtype=np.bool_)
        for at, bottom in enumerate(self.bottoms):
            own = bottom[self.tally.codes[inner, at]]
            shared = (own @ bottom[self.tally.codes[outer, at]].T).toarray()
            found &= shared == own.sum(axis=1)[:, None]
        return found

    @cached_property
    def bottoms(self) -> list[csr_array]:
        """For each dimension, 1 where a code covers one at the bottom."""
        from scipy.sparse import csr_array  # noqa: PLC0415 # for claims on hidden cells alone

        found = []
        for tree in self.opened.trees.values():
            pairs = [(code, leaf) for code, leaves in enumerate(tree.covers) for leaf in leaves]
            rows, columns = np.array(pairs).T
            shape = len(tree.codes), len(tree.codes)
            found.append(csr_array((np.ones(len(rows)), (rows, columns)), shape=shape))
        return found

    def _known_by_owners(self) -> Iterator[Ints]:
        """Yield the unknown cells that an owner is alone in, for each such owner."""
        alone = self.at[self.who.count[self.at] == 1]
        owner = self._lone_owners()[alone]
        order = np.argsort(owner, kind="stable")
        starts = np.flatnonzero(np.diff(owner[order], prepend=-2))
        yield from np.split(self.number[alone[order]], starts[1:]) if len(alone) else ()

    def _lone_owners(self) -> Ints:
        """Return a number for the owner of each cell that has one alone.

        Ready tables name no owners: there a total and its part have the same one, and others are
        different.
        """
        from scipy.sparse import csr_array  # noqa: PLC0415 # for claims on hidden cells alone
        from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 # the same

        if self.opened.details.ready is None:
            return self.who.owners[:, 0]
        n, entries = len(self.cells.value), self.cells.equations.tocoo()
        row, cell = entries.coords
        alone = self.who.count[:n] == 1
        total = np.full(entries.shape[0], -1)
        total[row[entries.data < 0]] = cell[entries.data < 0]
        linked = (entries.data > 0) & alone[cell] & (total[row] >= 0) & alone[total[row]]
        edges = np.ones(int(linked.sum())), (total[row[linked]], cell[linked])
        size = len(self.who.count)
        _, owner = connected_components(csr_array(edges, shape=(size, size)), directed=False)
        return np.asarray(owner, dtype=np.int64)

    def broken_sums(self, rules: Sequence[StatedRule]) -> int:
        """Count published totals whose hidden parts would break a rule as one cell."""
        n, entries = len(self.cells.value), self.cells.equations.tocoo()
        row, cell = entries.coords
        is_part: Bools = (entries.data > 0) & (self.who.value[cell] != 0)
        hidden = self.hidden[:n]
        secret = np.zeros(entries.shape[0], dtype=np.bool_)
        secret[row[(entries.data < 0) & hidden[cell]]] = True
        kept = is_part & hidden[cell] & ~secret[row]
        among = np.bincount(row[kept], minlength=len(secret))
        kept &= ((among > 1) & (among < np.bincount(row[is_part], minlength=len(secret))))[row]
        if not kept.any():
            return 0
        _, group = np.unique(row[kept], return_inverse=True)
        who = self.tally.of_groups(group.astype(np.int64), cell[kept].astype(np.int64))
        broken = np.zeros(len(who.value), dtype=np.bool_)
        for rule in rules:
            if rule.rule in CONCENTRATION:
                inside = in_tables(self.measure, self.tally, rule, self.opened)[cell[kept]]
                broken |= (np.bincount(group, inside) > 0) & (
                    excess_of(who, rule, self.opened.details) > _FITS * who.absolute
                )
        return int(broken.sum())


def check_earlier(claim: Claim, files: ReleasedFiles) -> ClaimCount:
    """Check the claims on hidden cells again, with what was published before."""
    opened, folders = opened_tables(files), files.given.earlier or ()
    hashes = [
        hashlib.sha256(manifest_path(Path(folder)).read_bytes()).hexdigest() for folder in folders
    ]
    stated = opened.details.earlier
    if sorted(hashes) != sorted(stated) or claim.parameters["releases"] != len(stated):
        return ClaimCount(
            holds=False,
            found={"releases": len(folders)},
            words="The earlier releases aren't those that the manifest names.",
        )
    earlier = [each for each in map(_read, map(Path, folders)) if each is not None]
    counts = []
    for each in files.manifest.claims:
        if each.model == HIDDEN_INTERVALS:
            counts.append(_count_intervals(each, opened, earlier))
        if each.model == PROTECTED_CELLS and opened.originals is not None:
            counts.append(_count_protected(each, opened, earlier))
    return ClaimCount(
        holds=all(each.holds for each in counts),
        found={"releases": len(folders)},
        words=" ".join(each.words for each in counts),
    )


def _read(folder: Path) -> Earlier | None:
    path, manifest = manifest_path(folder), read_manifest(folder)
    for file in manifest.files:
        if hashed(path.parent, file.name) != (file.sha256, file.n_bytes):
            raise VerificationError("A file of an earlier release isn't as its manifest states.")
    return read_earlier(open_release(path, manifest), manifest)

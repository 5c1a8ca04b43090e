"""What must stay possible for attackers, and deviations of cells that prove that it does."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from halfmask.crosstabs._program import TOLERANCE, Slack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.crosstabs._arrays import Bools, Floats, Ints
    from halfmask.crosstabs._pattern import Requirements


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Amounts by which cells must be able to move: an entry for each requirement and direction."""

    #: The cell; shape (r,).
    cell: Ints
    #: By how much it must move; negative is down; shape (r,).
    amount: Floats
    #: The position of the requirement; shape (r,).
    requirement: Ints
    #: The row of ``known`` of whoever mustn't exclude it; shape (r,).
    attacker: Ints
    #: The cells that each attacker knows; shape (attackers, cells).
    known: csr_array

    @classmethod
    def of(cls, requirements: Requirements, n: int) -> Needs:
        """Return the directions of some requirements that ask for more than nothing."""
        groups = {each: number for number, each in enumerate(dict.fromkeys(requirements.known))}
        owner = np.array([groups[each] for each in requirements.known], dtype=np.int64)
        amounts = np.concatenate([-requirements.below, requirements.above])
        entries = np.flatnonzero(amounts)
        at = entries % max(len(requirements.cell), 1)
        lengths = [len(each) for each in groups]
        members = [cell for each in groups for cell in each]
        known = csr_array(
            (np.ones(len(members)), members, np.cumsum([0, *lengths])), shape=(len(groups), n)
        )
        return cls(
            cell=requirements.cell[at],
            amount=amounts[entries],
            requirement=at,
            attacker=owner[at],
            known=known,
        )

    def fixed(self, entry: int) -> Ints:
        """Return the cells that the attacker of an entry knows."""
        at = self.attacker[entry]
        cells: Ints = self.known.indices[self.known.indptr[at] : self.known.indptr[at + 1]]
        return cells

    def asked(self, entry: int) -> tuple[int, float, Ints]:
        """Return the cell of an entry, how far it must move, and the cells that are known."""
        return int(self.cell[entry]), float(self.amount[entry]), self.fixed(entry)

    def met_by(self, entries: Ints, moved: Floats) -> Bools:
        """Return which of some entries a deviation proves."""
        amount = self.amount[entries]
        far = np.sign(amount) * moved[self.cell[entries]] >= np.abs(amount) * (1.0 - TOLERANCE)
        if far.any() and self.known.nnz:
            seen = self.known @ (moved != 0.0).astype(np.float64)
            far &= seen[self.attacker[entries]] == 0
        return far


class Witnesses:
    """Deviations that prove needs: each proves all that it satisfies, and something new."""

    def __init__(
        self, needs: Needs, room: Slack, hidden: Bools, earlier: Witnesses | None = None
    ) -> None:
        self.needs = needs
        self.proof = np.full(len(needs.cell), -1)
        self._room = room
        self._moved: list[dict[int, float]] = []
        self._users: dict[int, list[int]] = defaultdict(list)
        self._dead: set[int] = set()
        for cells, moved in earlier.kept() if earlier is not None else ():
            if hidden[cells].all():
                self.add(cells, moved)

    @property
    def open(self) -> Ints:
        """The entries without a proof."""
        return np.flatnonzero(self.proof < 0)

    def kept(self) -> Iterator[tuple[Ints, Floats]]:
        """Yield the deviations that are in use: the cells that move, and how far."""
        for at, moved in enumerate(self._moved):
            if at not in self._dead:
                yield np.array(list(moved)), np.array(list(moved.values()))

    def add(self, cells: Ints, moved: Floats) -> None:
        """Take a deviation and its opposite as proofs of what has none."""
        for sign in (1.0, -1.0):
            waiting = self.open
            if not len(waiting):
                return
            asked = np.zeros(len(self._room.below))
            np.maximum.at(asked, self.needs.cell[waiting], np.abs(self.needs.amount[waiting]))
            wanted = np.max(asked[cells] / np.abs(moved), initial=0.0)
            whole = np.zeros(len(asked))
            whole[cells] = min(self._room.stretch(cells, sign * moved), wanted) * sign * moved
            proven = waiting[self.needs.met_by(waiting, whole)]
            if len(proven):
                self.proof[proven] = len(self._moved)
                for cell in cells.tolist():
                    self._users[cell].append(len(self._moved))
                self._moved.append(dict(zip(cells.tolist(), whole[cells].tolist(), strict=True)))

    def drop(self, cell: int) -> Ints:
        """Give up all proofs that move a cell, and return the entries that have none then."""
        gone = self._users[cell]
        lost = np.flatnonzero(np.isin(self.proof, gone))
        self.proof[lost] = -1
        for entry in lost.tolist():
            self.proof[entry] = next(
                (at for at in self._of(entry) if cell not in self._moved[at]), -1
            )
        return lost[self.proof[lost] < 0]

    def publish(self, cell: int) -> None:
        """Use no deviation again that moves a cell."""
        self._dead.update(self._users.pop(cell, ()))

    def _of(self, entry: int) -> Iterator[int]:
        """Yield the deviations that prove an entry."""
        cell, amount, known = self.needs.asked(entry)
        for at in self._users[cell]:
            moved = self._moved[at]
            far = moved[cell] * np.sign(amount) >= abs(amount) * (1.0 - TOLERANCE)
            if far and at not in self._dead and not any(each in moved for each in known.tolist()):
                yield at

"""Synthetic rows by a policy, before they are written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from halfmask._errors import DataError, PolicyError
from halfmask._random import derived_key, keyed_order
from halfmask._validation import rows_of_share
from halfmask.claims import MaskedColumn
from halfmask.data.hierarchy.orders import with_orders
from halfmask.engines import LocalEngine
from halfmask.microdata._private_synthesis import PaidBudget, draw_private
from halfmask.microdata._synthesis_section import (
    BlendedSection,
    FullSection,
    GroupsSection,
    PartialSection,
    PrivateSection,
)
from halfmask.microdata._writing import ShuffledRows
from halfmask.synth import GroupHybrid, Synthesizer, blend_rows, rotate_groups
from halfmask.synth.chance_copies import ChanceCopies

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.claims.claim import Json
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.engines import Engine
    from halfmask.microdata._policy import Policy
    from halfmask.microdata._synthesis_section import SynthesisSection

#: Rows that are drawn with one seed, at most: another number would draw other rows.
SAMPLED_ROWS = 100_000
#: With fewer rows set aside an attack shows nothing; fewer rows than this learn from all.
LEAST_ROWS = 20
#: Where more full rows had to go, a model of larger leaves is fitted: so many times as large.
MOST_DROPPED, LARGER = 0.5, 4
#: With the largest leaves nearly all may go, unless any row is somebody's. Else all rows stay, and
#: the verifier counts them: that depends on the table, and not on the luck of a draw.
MOST_AT_LAST = 0.95


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticRows:
    """Drawn rows, and the original ones that they are compared with."""

    policy: Policy
    copies: tuple[pl.DataFrame, ...]
    learnt: pl.DataFrame
    control: pl.DataFrame
    key: bytes
    groups: tuple[int, ...] = ()
    left_out: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()
    paid: PaidBudget | None = None
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"SyntheticRows({self.n_out} rows in {len(self.copies)} tables)"

    @property
    def section(self) -> SynthesisSection:
        """The policy's ``[synthesis]``."""
        return _section_of(self.policy)

    @property
    def originals(self) -> pl.DataFrame:
        """All original rows: those that were learnt from, and those that were set aside."""
        return pl.concat([self.learnt, self.control])

    @property
    def counts(self) -> dict[str, int]:
        """How many rows were read, learnt from, set aside and released; noisy under a budget."""
        learnt, control = self.learnt.height, self.control.height
        if self.paid is not None:
            learnt = self.paid.n_rows
        return {"in": learnt + control, "learnt": learnt, "control": control, "out": self.n_out}

    @property
    def n_out(self) -> int:
        """Rows of the release, of all copies together."""
        return sum(each.height for each in self.copies)

    def shuffled(self, number: int) -> ShuffledRows:
        """Return the rows of one copy to be written."""
        frame = self.copies[number]
        return ShuffledRows(
            n_rows=frame.height,
            key=self._key_of(number),
            format=self.policy.output.format,
            each=lambda function, _progress: iter([function(0, frame)]),
        )

    def frame(self, number: int = 0) -> pl.DataFrame:
        """Return the rows of one copy in the keyed order."""
        rows = self.copies[number]
        order = keyed_order(rows.height, key=self._key_of(number))
        return with_orders(rows[order], self.orders)

    def _key_of(self, number: int) -> bytes:
        """Return the key of one copy; a copy that is alone has the given one."""
        return derived_key(self.key, f"copy {number}") if len(self.copies) > 1 else self.key

    @property
    def unique_unchanged(self) -> int | None:
        """How many rows of a partial release are alone with their cells that weren't drawn."""
        section = self.section
        if not isinstance(section, PartialSection):
            return None
        kept = [name for name in self.learnt.columns if name not in section.columns]
        changed = _risky(self.learnt, self.policy, section)
        if changed is None:
            changed = np.ones(self.learnt.height, dtype=np.bool_)
        alone = self.learnt.is_unique().to_numpy() & ~changed
        if kept:
            alone |= self.learnt.select(kept).is_unique().to_numpy() & changed
        return int(alone.sum())

    @property
    def unchanged_sentence(self) -> str:
        """How many rows their unchanged cells single out, in words; empty where none are kept."""
        alone = self.unique_unchanged
        if alone is None:
            return ""
        return (
            f"{alone:,} of {self.learnt.height:,} rows are the only ones with "
            "their cells that weren't drawn: an attacker who knows these cells finds the row."
        )

    def columns(self) -> list[MaskedColumn]:
        """Return the released columns as the manifest states them."""
        sections = self.policy.columns
        return [
            MaskedColumn(
                name=name,
                role=sections[name].role,
                kind=sections[name].kind or "text",
                dtype=str(dtype),
            )
            for name, dtype in self.learnt.schema.items()
        ]

    def parameters(self) -> dict[str, Json]:
        """Return how rows were drawn, as the manifest states it."""
        return dict(self.section.model_dump(mode="json", exclude={"kind"}, exclude_defaults=True))


def _section_of(policy: Policy) -> SynthesisSection:
    if policy.synthesis is None:
        raise PolicyError("The policy has no [synthesis].")
    return policy.synthesis


def draw_rows(
    table: pl.DataFrame,
    policy: Policy,
    *,
    key: bytes,
    ledger: PrivacyLedger | None = None,
    engine: Engine | None = None,
) -> SyntheticRows:
    """Draw synthetic rows."""
    section = _section_of(policy)
    if not table.height:
        raise DataError("There are no rows to learn from.")
    if engine is not None:
        _check_engine(section)
    rng = np.random.default_rng(np.frombuffer(key, dtype=np.uint32))
    if isinstance(section, PrivateSection):
        drawn, paid = draw_private(table, section, rng, person=policy.person, ledger=ledger)
        none = drawn.clear()
        return SyntheticRows(
            policy=policy, copies=(drawn,), learnt=none, control=none, key=key, paid=paid
        )
    order = rng.permutation(table.height)
    n_control = rows_of_share(section.control_fraction, table.height)
    if n_control < LEAST_ROWS:
        n_control = 0
    control, learnt = table[np.sort(order[:n_control])], table[np.sort(order[n_control:])]
    rows = partial(SyntheticRows, policy=policy, learnt=learnt, control=control, key=key)
    if isinstance(section, GroupsSection):
        made = _rotated(learnt, policy, section, rng)
        sizes = tuple(made[0].sizes.tolist())
        return rows(copies=tuple(each.rows for each in made), groups=sizes)
    if isinstance(section, FullSection):
        return _with_full_rows(rows(copies=()), section, rng, engine or LocalEngine())
    return rows(copies=_drawn(learnt, policy, section, rng, engine or LocalEngine()))


def _check_engine(section: SynthesisSection) -> None:
    """Refuse synthesis whose rows an engine can't draw by themselves."""
    refused = {
        PrivateSection: "under an epsilon",
        GroupsSection: "of groups of k",
        PartialSection: "of the kind 'partial'",
    }
    for kind, rows in refused.items():
        if isinstance(section, kind):
            raise PolicyError(
                f"Rows {rows} are drawn in this process, and an engine is given.",
                hint="Leave out the engine.",
            )


def _rotated(
    learnt: pl.DataFrame, policy: Policy, section: GroupsSection, rng: np.random.Generator
) -> list[GroupHybrid]:
    numbers = _numbers(policy, learnt)
    return [
        rotate_groups(learnt, k=section.k, numbers=numbers, rng=rng) for _ in range(section.copies)
    ]


def _drawn(
    learnt: pl.DataFrame,
    policy: Policy,
    section: PartialSection | BlendedSection,
    rng: np.random.Generator,
    engine: Engine,
) -> tuple[pl.DataFrame, ...]:
    """Return the copies of partial and blended rows."""
    numbers = _numbers(policy, learnt)
    model = _synthesizer(learnt, section, numbers, rng).fit(learnt)
    copies = []
    for _ in range(section.copies):
        seed = int(rng.integers(2**31))
        if isinstance(section, PartialSection):
            copies.append(
                model.redraw(learnt, rows=_risky(learnt, policy, section), random_state=seed)
            )
            continue
        drawn = _sampled(model, learnt.height, seed, engine)
        copies.append(
            blend_rows(
                learnt,
                drawn,
                original_share=section.original_share,
                numbers=numbers,
                rng=rng,
                min_leaf=section.min_leaf,
            )
        )
    return tuple(copies)


def _with_full_rows(
    made: SyntheticRows, section: FullSection, rng: np.random.Generator, engine: Engine
) -> SyntheticRows:
    """Return full rows, by larger leaves where more than half of the drawn rows had to go."""
    learnt = made.learnt
    n, leaf = section.rows or learnt.height, section.min_leaf
    model = _synthesizer(learnt, section, _numbers(made.policy, learnt), rng).fit(learnt)
    chance = ChanceCopies.of(made.originals)
    copies, left_out, leaves = [], [], []
    for _ in range(section.copies):
        seed = int(rng.integers(2**31))
        drawn, n_out = None, 0
        while drawn is None:
            is_last = leaf * LARGER > learnt.height
            most = MOST_AT_LAST if is_last else MOST_DROPPED
            if not (is_last and chance.is_dense):
                drawn, n_out = _full_rows(model, chance, n, seed, engine, most)
            if drawn is None and is_last:
                drawn = _sampled(model, n, seed, engine)
            elif drawn is None:
                leaf *= LARGER
                model = model.set_params(leaf=leaf).fit(learnt)
        copies.append(drawn)
        left_out.append(n_out)
        leaves.append(leaf)
    return replace(made, copies=tuple(copies), left_out=tuple(left_out), leaves=tuple(leaves))


def _sampled(model: Synthesizer, n: int, seed: int, engine: Engine) -> pl.DataFrame:
    """Return drawn rows: those of one part for few, and parts with seeds of their own for many."""
    if n <= SAMPLED_ROWS:
        return pl.DataFrame(model.sample(n, random_state=seed))
    seeds = np.random.SeedSequence(seed).generate_state(-(-n // SAMPLED_ROWS))
    parts = [
        (min(SAMPLED_ROWS, n - number * SAMPLED_ROWS), int(own)) for number, own in enumerate(seeds)
    ]
    return pl.concat(engine.map(parts, partial(_sampled_part, model)))


def _sampled_part(model: Synthesizer, part: tuple[int, int]) -> pl.DataFrame:
    n, seed = part
    return pl.DataFrame(model.sample(n, random_state=seed))


def _full_rows(
    model: Synthesizer, chance: ChanceCopies, n: int, seed: int, engine: Engine, most: float
) -> tuple[pl.DataFrame | None, int]:
    """Return drawn rows of which no more equal rows of few people than by chance, and the rest.

    No rows if a greater share of the drawn ones had to go than `most`.
    """
    rng = np.random.default_rng(seed)
    rows = _sampled(model, n, int(rng.integers(2**31)), engine)
    n_drawn = n
    while (kept := chance.capped(rows)).height < n:
        n_drawn += n - kept.height
        if n_drawn * (1 - most) > n:
            return None, 0
        rows = pl.concat([kept, _sampled(model, n - kept.height, int(rng.integers(2**31)), engine)])
    return rows, n_drawn - n


def _synthesizer(
    learnt: pl.DataFrame,
    section: FullSection | PartialSection | BlendedSection,
    numbers: Sequence[str],
    rng: np.random.Generator,
) -> Synthesizer:
    return Synthesizer(
        model=section.model,
        min_leaf=section.min_leaf,
        columns=section.columns if isinstance(section, PartialSection) else None,
        order=section.order or None,
        kinds={name: "numeric" if name in numbers else "categorical" for name in learnt.columns},
        rules=list(section.row_rules),
        random_state=int(rng.integers(2**31)),
    )


def _numbers(policy: Policy, learnt: pl.DataFrame) -> list[str]:
    """Return the columns that are amounts or times."""
    return [
        name
        for name, dtype in learnt.schema.items()
        if (dtype.is_numeric() or dtype.is_temporal())
        and policy.columns[name].kind not in ("categorical", "text")
    ]


def _risky(
    learnt: pl.DataFrame, policy: Policy, section: PartialSection
) -> np.ndarray[tuple[int], np.dtype[np.bool_]] | None:
    """Return which rows share their quasi-identifiers with too few; ``None``: all are changed."""
    if section.class_size_below is None:
        return None
    known = [name for name, it in policy.columns.items() if it.role == "quasi_identifier"]
    sizes = learnt.select(pl.len().over(known)).to_series()
    return (sizes < section.class_size_below).to_numpy()

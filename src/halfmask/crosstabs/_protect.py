"""From true cells to what is published: rules, what others know, and the protection."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from halfmask._errors import GuaranteeNotMetError, ParameterError, PolicyError
from halfmask._random import derived_key, key_or_fresh
from halfmask.crosstabs._audit import audit
from halfmask.crosstabs._earlier import apply_earlier
from halfmask.crosstabs._pattern import PublishedCells, Sensitivity
from halfmask.crosstabs._primary import check_rules, find_sensitive
from halfmask.crosstabs._protections import (
    CellKey,
    PrivateCounts,
    SmallCounts,
    Suppression,
    TableRounding,
)
from halfmask.crosstabs._requirements import sensitive_sums, state_requirements
from halfmask.crosstabs._suppress import lifted, suppress
from halfmask.data import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import polars as pl

    from halfmask.crosstabs._arrays import Bools, Floats
    from halfmask.crosstabs._cells import CellSystem
    from halfmask.crosstabs._pattern import Audit, HiddenPattern, Knowledge
    from halfmask.crosstabs._policy import TablesPolicy
    from halfmask.crosstabs._protections import CellProtection
    from halfmask.crosstabs._rules import CellRule
    from halfmask.release import Inputs

#: What a cell breaks that the policy hides.
NAMED = "named-to-hide"


def protect_cells(
    cells: tuple[CellSystem, ...],
    policy: TablesPolicy,
    inputs: Inputs,
    booked: Sequence[Path] = (),
) -> tuple[PublishedCells, ...]:
    """Protect each measure and audit it; counts first: a sum is 0 where a published count is."""
    protection = policy.made_protection()
    knowledge = apply_earlier(cells, policy, booked)
    rules = policy.made_rules()
    check_rules([each for each in cells if _is_asked(each, policy, rules)], rules)
    if not isinstance(protection, Suppression):
        if n := sum(int(each.must_hide.sum()) for each in knowledge):
            raise GuaranteeNotMetError(
                f"An earlier release in the book hid {n} cells of these tables, and "
                f"{protection.method!r} would publish them.",
                hint="Protect the tables by suppression, or leave their dimensions out.",
            )
        return tuple(_changed(cells, knowledge, protection, inputs))
    done: dict[int, PublishedCells] = {}
    for at in sorted(range(len(cells)), key=lambda at: not cells[at].is_count):
        known = _with_zeros(cells[at], knowledge[at], list(done.values()))
        done[at] = _suppressed(cells[at], known, policy, protection, inputs)
    return tuple(done[at] for at in range(len(cells)))


def record_key_of(
    policy: TablesPolicy, inputs: Inputs, given: object
) -> Callable[[pl.Series], pl.Series] | None:
    """Return what makes the keys of records, where the protection needs them; check these."""
    protection = policy.made_protection()
    if not isinstance(protection, CellKey):
        return None
    from halfmask.crosstabs import _cell_key  # noqa: PLC0415 # rare

    if isinstance(given, Source):
        _cell_key.check_records(given.read(columns=[protection.record])[protection.record])
    if inputs.vault is None and inputs.key is None:
        raise ParameterError(
            "Cell keys need a vault: its key gives the same people the same count in every table.",
            hint="Give [[vault=Vault.open(...)|--vault]], or a key that you keep.",
        )
    if inputs.vault is not None:
        secret = _cell_key.cell_key_secret(inputs.vault)
    else:
        secret = derived_key(key_or_fresh(inputs.key), "cell-keys")
    return partial(_cell_key.record_keys, key=secret)


def _is_asked(cells: CellSystem, policy: TablesPolicy, rules: Sequence[CellRule]) -> bool:
    """Whether the policy names a table of the measure: counts of means alone may have no rule."""
    names = {each.name for each in policy.tables}.union(*(rule.tables for rule in rules))
    return policy.ready is not None or bool(names & set(cells.tables))


def check_asked(policy: TablesPolicy, inputs: Inputs) -> None:
    """Refuse a policy that protects nothing, and inputs that the protection doesn't use."""
    protection = policy.made_protection()
    if isinstance(protection, Suppression) and not policy.rules and not policy.cells.hide:
        raise PolicyError(
            "The policy has no [[rules]], so no cell would be hidden.",
            hint="Give a rule, such as [[minimum-frequency|--min-frequency or --p-percent]], or "
            "choose another [protection].",
        )
    used = {
        "key": isinstance(protection, TableRounding | SmallCounts | CellKey),
        "vault": isinstance(protection, CellKey) or inputs.book is not None,
        "ledger": isinstance(protection, PrivateCounts),
    }
    for name, is_used in used.items():
        if getattr(inputs, name) is not None and not is_used:
            raise ParameterError(
                f"The {name!r} parameter of protect doesn't go with the protection "
                f"{protection.method!r}.",
                hint="Leave it out.",
            )


def _suppressed(
    cells: CellSystem, known: Knowledge, policy: TablesPolicy, settings: Suppression, inputs: Inputs
) -> PublishedCells:
    """Hide sensitive cells and others, and audit the whole system."""
    what, rules = _in_words(cells), policy.made_rules()
    sensitivity = find_sensitive(cells, rules, weights=policy.weights)
    sensitivity = _with_named(cells, sensitivity, known, policy.cells.margin)
    _check_contradiction(what, sensitivity, known, policy)
    filled = cells.value != 0
    _check_left(what, sensitivity.is_sensitive & filled, filled, "sensitive")
    if not (sensitivity.is_sensitive | known.must_hide).any():
        return PublishedCells(
            cells=cells,
            value=cells.value,
            hidden=np.zeros(cells.n, dtype=bool),
            sensitivity=sensitivity,
            unlinked=known.unlinked,
        )
    computable = np.zeros(cells.n, dtype=bool)
    while True:
        seen = replace(known, must_stay=known.must_stay | computable)
        pattern, found = _search(cells, sensitivity, seen, policy, settings, inputs)
        _check_left(what, pattern.hidden & filled, filled, "sensitive or needed to protect those")
        computable |= pattern.hidden & ~sensitivity.is_sensitive & _computable(found)
        if (computable & known.must_hide).any():
            raise GuaranteeNotMetError(
                f"{int((computable & known.must_hide).sum())} cells of {what} that an earlier "
                "release hid could be computed from today's tables.",
                hint="Write margin into [cells], in percent: such cells then get an interval, too.",
            )
        hidden = pattern.hidden & ~computable
        if (hidden != pattern.hidden).any():
            needs = state_requirements(cells, sensitivity, hidden, singletons=settings.singletons)
            if len(audit(cells, hidden, needs, known, intervals=False).unmet):
                hidden = pattern.hidden  # next to larger numbers needed intervals look like none
                break
        sums = sensitive_sums(cells, rules, hidden, weights=policy.weights)
        if not settings.hidden_sums or not sums:
            break  # otherwise a sum needs other cells than those that everybody can compute
    return PublishedCells(
        cells=cells,
        value=np.where(hidden, np.nan, cells.value),
        hidden=hidden,
        sensitivity=sensitivity,
        pattern=replace(pattern, hidden=hidden),
        audit=found,
        unlinked=known.unlinked,
    )


def _search(
    cells: CellSystem,
    sensitivity: Sensitivity,
    known: Knowledge,
    policy: TablesPolicy,
    settings: Suppression,
    inputs: Inputs,
) -> tuple[HiddenPattern, Audit]:
    """Return a pattern, and what everybody can compute of it; no requirement is left unmet."""
    what = _in_words(cells)
    inputs.progress(f"protecting {what}")
    pattern = suppress(
        cells,
        sensitivity,
        known,
        settings,
        rules=policy.made_rules(),
        weights=policy.weights,
        progress=inputs.progress,
    )
    inputs.progress(f"auditing {what}")
    needs = state_requirements(cells, sensitivity, pattern.hidden, singletons=settings.singletons)
    found = audit(cells, pattern.hidden, needs, known, progress=inputs.progress)
    if len(found.unmet):
        raise GuaranteeNotMetError(
            f"{len(found.unmet)} of {len(needs.cell)} requirements on hidden cells of {what} "
            "aren't met.",
            hint="Allow more cells to be hidden, or publish tables with fewer codes.",
        )
    return pattern, found


def _computable(found: Audit) -> Bools:
    """Return the cells that everybody can compute."""
    near = 1e-9 * np.maximum(1.0, np.abs(found.upper))
    return np.isfinite(found.upper) & (found.upper - found.lower <= near)


def _with_named(
    cells: CellSystem, sensitivity: Sensitivity, known: Knowledge, margin: float | None
) -> Sensitivity:
    """Add cells that the policy hides by name: they need an interval, too."""
    named = known.must_hide & ~sensitivity.is_sensitive
    if margin is None or not named.any():  # without one, they were hidden by an earlier release
        return sensitivity
    width = lifted(np.abs(cells.value)) * margin / 100  # 0 can be hidden, too
    width = np.maximum(width, 1.0) if cells.is_count else width
    reasons = (
        (NAMED,) if is_named else each
        for is_named, each in zip(named.tolist(), sensitivity.reasons, strict=True)
    )
    below = np.minimum(width, np.maximum(cells.value - known.lower, 0.0))
    return Sensitivity(
        reasons=tuple(reasons),
        below=np.where(named, below, sensitivity.below),
        above=np.where(named, width, sensitivity.above),
    )


def _with_zeros(cells: CellSystem, known: Knowledge, before: list[PublishedCells]) -> Knowledge:
    """Take published counts of 0 into account: everybody knows that these sums are 0."""
    counts = next((each for each in before if each.cells.is_count), None)
    if counts is None or cells.is_count:
        return known
    zero = (counts.value == 0) & ~counts.hidden
    empty = {tuple(codes) for codes in counts.cells.codes[zero].tolist()}
    computable = np.array([tuple(codes) in empty for codes in cells.codes.tolist()], dtype=bool)
    return replace(known, must_stay=known.must_stay | computable)


def _check_contradiction(
    what: str, sensitivity: Sensitivity, known: Knowledge, policy: TablesPolicy
) -> None:
    both = int((sensitivity.is_sensitive & known.must_stay).sum())
    if not both:
        return
    if policy.cells.publish:
        raise PolicyError(
            f"[cells] publish and [[rules]] contradict each other: {both} cells of {what} must be "
            "published, and are sensitive.",
            hint="Take them out of publish, or change the rules.",
        )
    raise GuaranteeNotMetError(
        f"{both} cells of {what} are sensitive, and were published before or can be read off "
        "other tables.",
        hint="Hidden now, they would still be known: publish none of their tables, or change the "
        "rules.",
    )


def _check_left(what: str, hidden: Bools, filled: Bools, why: str) -> None:
    """Raise where every cell that says something would be hidden."""
    if filled.any() and hidden[filled].all():
        raise GuaranteeNotMetError(
            f"All {int(filled.sum())} cells of {what} that aren't 0 are {why}: nothing would be "
            "published.",
            hint="Group codes, leave a dimension out, or check the rules.",
        )


def _in_words(cells: CellSystem) -> str:
    return "counts" if cells.is_count else f"sums of {cells.measure!r}"


def _changed(
    cells: tuple[CellSystem, ...],
    knowledge: tuple[Knowledge, ...],
    protection: CellProtection,
    inputs: Inputs,
) -> Iterator[PublishedCells]:
    """Yield the cells with the values that a protection other than suppression gives them."""
    key = key_or_fresh(inputs.key)
    for each, known in zip(cells, knowledge, strict=True):
        inputs.progress(f"protecting {_in_words(each)}")
        value = _new_values(each, known, protection, derived_key(key, str(each.measure)))
        yield PublishedCells(cells=each, value=value, hidden=np.zeros(each.n, dtype=bool))


def _new_values(
    cells: CellSystem, known: Knowledge, protection: CellProtection, key: bytes
) -> Floats:
    if isinstance(protection, TableRounding):
        from halfmask.crosstabs._round import round_cells  # noqa: PLC0415 # loads HiGHS

        return round_cells(cells, known, protection, key=key)
    if isinstance(protection, SmallCounts):
        from halfmask.crosstabs._round import round_small  # noqa: PLC0415 # the same

        return round_small(cells, protection, key=key)
    from halfmask.crosstabs._cell_key import perturb, transition_table  # noqa: PLC0415 # rare

    if not isinstance(protection, CellKey) or cells.record_keys is None:
        raise TypeError(protection.method)
    # Sums of keys are fractions of 1 in 32 bits: the first ones of what `perturb` takes.
    keys = (cells.record_keys * 2.0**32).astype(np.uint64) << np.uint64(32)
    return perturb(cells.value, keys, transition_table(protection))

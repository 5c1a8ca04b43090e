"""protect: from a table and a policy to a release."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from halfmask._errors import ColumnWarning, ParameterError, PolicyError
from halfmask._optional import need
from halfmask._progress import Progress, silent
from halfmask._random import check_key, fresh_key
from halfmask.anonymize import (
    MAX_ROWS,
    Protection,
    Summary,
)
from halfmask.claims import MANIFEST_NAME
from halfmask.data import open_table
from halfmask.data._atomic import check_new_folder
from halfmask.data._object_folder import check_object_folder
from halfmask.data._object_store import is_object_address
from halfmask.data._person_key import repeated_identifiers
from halfmask.engines import Engine, LocalEngine
from halfmask.masks import MaskedTable, pseudonym_key
from halfmask.microdata._claims import (
    make_claims,
    merged_classes,
    released_guarantees,
    with_people,
)
from halfmask.microdata._class_measures import class_measures, label_counts
from halfmask.microdata._detail_kept import detail_kept
from halfmask.microdata._evaluation import (
    evaluate_risk,
    evaluate_utility,
)
from halfmask.microdata._extents import cell_extents
from halfmask.microdata._fitting import fit_classes
from halfmask.microdata._folds import drawn, summarized
from halfmask.microdata._learning import LEARNING_ROWS, learn
from halfmask.microdata._made_policy import policy_of
from halfmask.microdata._opening import frame_given
from halfmask.microdata._policy import Policy
from halfmask.microdata._policy_protection import population_of, protection_of, schema_on
from halfmask.microdata._prepared import Prepared
from halfmask.microdata._private_release import (
    check_place,
    check_unused,
    private_release,
    sampler_of,
)
from halfmask.microdata._release import Release
from halfmask.microdata._released_columns import (
    SEARCH_ROWS,
    check_strict,
    released_columns_risk,
)

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from halfmask.assess.utility import ModelUtility
    from halfmask.data import Schema, Source
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.microdata._given_hierarchies import Hierarchies
    from halfmask.vault import Vault


def protect(  # noqa: PLR0913 # each says one thing, by its name
    table: object,
    policy: Policy | None = None,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    label: str | None = None,
    k: int | None = None,
    l: int | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    key: bytes | None = None,
    vault: Vault | None = None,
    population: object = None,
    strict: bool = False,
    engine: Engine | None = None,
    ledger: PrivacyLedger | None = None,
    progress: Progress | None = None,
) -> Release:
    """Protect a table by a policy.

    Parameters
    ----------
    table
        A frame of polars, pandas or pyarrow; a file, a folder of files, or ``"-"``; or an opened
        :class:`~halfmask.data.Source`.
    policy
        What the owner wants; it must name every column of the table. Without one, name
        `quasi_identifiers` and `k`: then a policy is made, and `Release.policy` has it.
    quasi_identifiers, sensitive, label
        Without a policy: the columns that others may know of a person, those that nobody may
        learn, and the one that a model is to predict. Of other columns, those that identify or
        about which `describe` is unsure are dropped, with a :class:`ColumnWarning`.
    k, l
        Without a policy: the k of k-anonymity, which has no default, and the l of l-diversity of
        each column in `sensitive`, as `describe` proposes it by default.
    person
        Without a policy: the column that says whose row it is, where a person may have several
        rows. Guarantees then count each person once in a class; the column is dropped.
    hierarchies
        Without a policy: a path or a :class:`~halfmask.data.Hierarchy` for quasi-identifiers, by
        name; or a folder that has them as ``age.csv``, ``sex.csv``, with ``%2F`` for a slash.
    key
        32 secret bytes that fix the order of released rows, tokens, and the random numbers of
        masks and samples. Without one a fresh key is drawn from the operating system and forgotten.
    vault
        The vault with the key of pseudonyms whose scope is ``"vault"``.
    population
        The people that the table was drawn from, with the same quasi-identifiers, given and read
        as ``table`` is. Guarantees such as `KMap` need them. The report then also states the risk
        from an attacker who looks rows up in this population.
    strict
        Whether to raise where columns that are released unchanged put a row into a class under k.
    engine
        Where batches are summarized, counted and given their cells: in threads by default, or on a
        cluster. This process reads the table and writes the files.
    ledger
        With the guarantee ``"differential-privacy"``: the budget of the table. The release is
        booked before a row is drawn.
    progress
        Called with what is being done and how far it is.

    Returns
    -------
    Release
        ``.data``, ``.claims``, ``.risk``, ``.utility``; ``.write(out)`` verifies it on disk. With
        differential privacy it is a :class:`PrivateRelease`, without risk and utility.

    Raises
    ------
    SchemaError, HierarchyError
        If the policy and the table don't agree.
    PolicyError
        If the policy has masks and no guarantee: `halfmask.mask` is for those.
    ParameterError
        If ``policy`` isn't a `Policy` but, for example, a path. If both a policy and columns are
        given, or neither. If a parameter doesn't go with differential privacy, or ``ledger`` goes
        with it alone.
    BudgetError
        If the ledger has less left than the release costs. Nothing is drawn then.
    GuaranteeNotMetError
        If the guarantees can't be met, or if ``strict`` and unchanged columns single rows out:
        nothing is returned.

    See Also
    --------
    protect_to : The same, written and verified, for tables larger than memory.
    halfmask.describe : Proposes a policy.
    halfmask.Anonymizer : The classes alone, for scikit-learn.
    halfmask.verify : Counts a written release again.

    Notes
    -----
    **Guarantees.** Every class of the release keeps every guarantee of the policy, counted over all
    its rows. Identifiers are dropped. No column that the policy doesn't name gets a default.

    The table is read twice: once to find the cells (`summarize`, `fit`), once to write the rows.
    Beyond twelve million rows the cells are found on a random sample, which the key draws. All rows
    are counted in them, and cells that then miss a guarantee are merged or suppressed.

    **Edge cases.** One row, fewer rows than k, or a sensitive column with too few values raise
    :class:`~halfmask.GuaranteeNotMetError`.

    Examples
    --------
    >>> import polars as pl
    >>> people = pl.DataFrame({"age": [31, 34, 52, 58], "illness": ["a", "b", "a", "b"]})
    >>> release = protect(people, quasi_identifiers=["age"], sensitive=["illness"], k=2, l=2)
    >>> [claim.model for claim in release.claims], release.data["age"].n_unique()
    (['k-anonymity', 'distinct-l-diversity'], 2)

    With a hierarchy, groups are cut between its branches:

    >>> from halfmask.data import Hierarchy
    >>> towns = Hierarchy.from_rows(
    ...     [("Lyon", "France"), ("Nice", "France"), ("Rome", "Italy"), ("Bari", "Italy")],
    ...     column="town",
    ... )
    >>> people = pl.DataFrame({"town": ["Bari", "Lyon", "Nice", "Rome"]})
    >>> release = protect(people, quasi_identifiers=["town"], k=2, hierarchies={"town": towns})
    >>> sorted(release.data["town"].unique())
    ['{Lyon, Nice}', '{Rome, Bari}']

    The same by a policy, in an order of rows that a key fixes:

    >>> from halfmask.microdata import Policy
    >>> people = pl.DataFrame({"age": [21, 22, 58, 59], "ill": ["flu", "flu", "asthma", "flu"]})
    >>> policy = Policy.from_toml('''
    ... halfmask = 1
    ... [columns.age]
    ... role = "quasi_identifier"
    ... kind = "numeric"
    ... [columns.ill]
    ... role = "sensitive"
    ... kind = "categorical"
    ... [[guarantees]]
    ... model = "k-anonymity"
    ... k = 2
    ... ''')
    >>> release = protect(people, policy, key=bytes(32))
    >>> release.data.sort("age").rows()
    [('[21, 22]', 'flu'), ('[21, 22]', 'flu'), ('[58, 59]', 'asthma'), ('[58, 59]', 'flu')]

    With ``population`` the risk is also that of an attacker who looks people up in it:

    >>> everybody = pl.DataFrame({"age": [21, 22, 23, 57, 58, 59, 60, 61]})
    >>> risk = protect(people, policy, population=everybody).risk

    With ``strict`` a column that is released unchanged and singles people out is an error:

    >>> protect(people, policy, strict=True)
    Traceback (most recent call last):
    halfmask._errors.GuaranteeNotMetError: ...
    """
    need("numba", "scipy", "sklearn", "threadpoolctl")
    progress = progress or silent
    asked = {
        "sensitive": sensitive,
        "label": label,
        "k": k,
        "l": l,
        "person": person,
        "hierarchies": hierarchies,
    }
    policy = policy_of(table, policy, quasi_identifiers, asked)
    sampler = sampler_of(policy)
    if sampler is not None:
        check_unused(key=key, vault=vault, population=population, strict=strict, engine=engine)
        return private_release(table, policy, sampler, ledger=ledger, progress=progress)
    if ledger is not None:
        raise ParameterError(
            "The 'ledger' parameter of protect goes with the guarantee 'differential-privacy'.",
            hint="Other guarantees cost no budget: leave it out.",
        )
    engine = engine or LocalEngine()
    key = key if key is not None else fresh_key()
    check_key(key)
    opened = open_table(table, options=policy.read_options())
    policy.schema().check(opened.columns)
    vault_key = None if vault is None else pseudonym_key(vault)
    behind = MaskedTable.of(
        opened,
        policy.masks,
        policy.table_masks,
        key=key,
        vault_key=vault_key,
        engine=engine,
        ordinal=policy.ordinal_columns,
    )
    source, unmasked = behind.masked, behind.unmasked
    schema = schema_on(policy, source)
    _warn_of_repeated(policy, source)
    people = population_of(population, policy, schema, source)
    protection = protection_of(policy, schema, people)
    summary, sample, searched = _summarized(source, protection, key, engine, progress)
    _check_cuts(policy, summary)
    progress("growing classes")
    fit = fit_classes(source, protection, summary, engine, progress)
    released, class_of_cell = merged_classes(fit.plan, fit.counts.classes)
    placed = protection.placed_people(fit.plan)
    released = with_people(released, class_of_cell, placed, fit.counts)
    extents = cell_extents(fit.plan, fit.counts)
    prepared = Prepared(
        policy=policy,
        schema=schema,
        source=source,
        plan=fit.plan,
        guarantees=released_guarantees(fit.plan.guarantees, released),
        cells=fit.cells,
        n_in=source.n_rows,
        n_out=released.rows,
        key=key,
        engine=engine,
        mask_counts=behind.counts,
        persons=fit.persons,
        people=None if placed is None or people is None else people.people,
        trees={} if placed is None else placed.trees,
    )
    progress("measuring risk and utility")
    columns = released_columns_risk(prepared, released, class_of_cell, sample=searched)
    if strict:
        check_strict(columns)
    label = next((name for name in schema.label if name not in schema.quasi_identifiers), None)
    model = _learn(sample, protection, prepared, unmasked, label)
    return Release(
        claims=make_claims(
            fit.plan.guarantees,
            released,
            fit.plan.released_columns(schema.quasi_identifiers),
        ),
        risk=evaluate_risk(
            fit.raw,
            released,
            rows=_different_rows(summary.rows, policy, schema),
            plan=fit.plan,
            extents=extents,
            class_of_cell=class_of_cell,
            columns=columns,
            population=None if people is None else people.people,
        ),
        utility=evaluate_utility(
            fit.plan,
            released,
            raw_counts=fit.raw_counts,
            counts=fit.counts,
            detail=lambda loss: detail_kept(loss, protection, released, sample=searched),
            measures=class_measures(
                fit.plan,
                fit.counts,
                suppressed=prepared.n_in - prepared.n_out,
                raw_sizes=fit.raw_released,
                labels=label_counts(prepared, label),
            ),
            suppressed=prepared.n_in - prepared.n_out,
            model=model,
            label=label,
        ),
        prepared=prepared,
        original=frame_given(table),
    )


def protect_to(  # noqa: PLR0913 # each says one thing, by its name
    table: object,
    policy: Policy,
    out: str | Path,
    *,
    overwrite: bool = False,
    persons: str | Path | None = None,
    key: bytes | None = None,
    vault: Vault | None = None,
    population: object = None,
    strict: bool = False,
    engine: Engine | None = None,
    ledger: PrivacyLedger | None = None,
    progress: Progress | None = None,
) -> Release:
    """Protect a table and write the release, verified on disk, or nothing.

    The same as ``protect(...).write(out)``; a table that doesn't fit in memory is read and written
    in batches. See :func:`protect` and :meth:`Release.write`.

    Parameters
    ----------
    table, policy
        As of `protect`.
    out, overwrite, persons
        As of `Release.write`.
    key, vault, population, strict, engine, ledger, progress
        As of `protect`.

    See Also
    --------
    protect : Returns the release, to look at before it is written.
    """
    given: object = policy  # a caller may have a path here, which protect refuses
    if isinstance(given, Policy) and given.is_private:
        check_unused(persons=persons)
        check_place(out, overwrite=overwrite)
    # Before hours of work.
    if isinstance(out, str) and is_object_address(out):
        check_object_folder(out, overwrite=overwrite)
    else:
        check_new_folder(out, overwrite=overwrite, marker=MANIFEST_NAME)
    release = protect(
        table,
        policy,
        key=key,
        vault=vault,
        population=population,
        strict=strict,
        engine=engine,
        ledger=ledger,
        progress=progress,
    )
    return release.write(out, overwrite=overwrite, persons=persons, progress=progress)


def _summarized(
    source: Source, protection: Protection, key: bytes, engine: Engine, progress: Progress
) -> tuple[Summary, pl.DataFrame, pl.DataFrame]:
    """Return the table's summary, rows to compare models on, and rows to search columns in."""
    found = summarized(
        source,
        protection,
        sampled=source.n_rows > MAX_ROWS,
        key=key,
        shares=(_learning_share(source, protection), min(1.0, SEARCH_ROWS / source.n_rows)),
        engine=engine,
        progress=progress,
    )
    compared, searched = found.samples
    return found.summary, compared, searched


def _learn(
    sample: pl.DataFrame,
    protection: Protection,
    prepared: Prepared,
    unmasked: Source,
    label: str | None,
) -> ModelUtility | None:
    if label is None or not sample.height:
        return None
    features = [name for name in prepared.columns if name not in prepared.schema.label]
    # Tokens stay in both arms: a new name for each value changes nothing of what can be learnt.
    masks_of = prepared.policy.masks_of
    masked = [
        name
        for name in (*features, label)
        if masks_of(name) and all(mask.is_matchable for mask in masks_of(name))
    ]
    raw = (
        drawn(unmasked, masked, share=_learning_share(unmasked, protection), engine=prepared.engine)
        if masked
        else None
    )
    return learn(sample, protection, features=features, label=label, unmasked=raw)


def _learning_share(source: Source, protection: Protection) -> float:
    return min(1.0, LEARNING_ROWS / source.n_rows) if protection.schema.label else 0.0


def _different_rows(rows: pl.DataFrame, policy: Policy, schema: Schema) -> pl.DataFrame:
    """Return a row for each person and combination of quasi-identifiers, where people have many."""
    if policy.person is None:
        return rows
    return rows.unique([*schema.quasi_identifiers, policy.person])


def _warn_of_repeated(policy: Policy, source: Source) -> None:
    """Warn of identifiers whose values repeat where no person is named: guarantees count rows."""
    if policy.person is not None:
        return
    names = [name for name, column in policy.columns.items() if column.role == "identifier"]
    for name, (distinct, rows) in repeated_identifiers(source, names).items():
        warnings.warn(
            ColumnWarning(
                f"The identifier {name!r} has {distinct:,} different values in {rows:,} rows, and "
                "guarantees count rows: rows of one person pass as different people. If it says "
                "whose row it is, name it as person."
            ),
            stacklevel=3,
        )


def _check_cuts(policy: Policy, summary: Summary) -> None:
    """Raise where relaxed cuts would have to be found again by a plan that can't."""
    if not summary.complete and getattr(policy.method, "strict", True) is False:
        raise PolicyError(
            f"Relaxed Mondrian needs the table in memory; it has {summary.n_rows} rows.",
            hint="Use strict Mondrian, or Guided.",
        )

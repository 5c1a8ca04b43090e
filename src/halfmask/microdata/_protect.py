"""protect, mask, synthesize: from a table and a policy to a release of the kind it asks for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final, TypedDict, Unpack

from halfmask._errors import ParameterError, PolicyError, ReleaseError
from halfmask._progress import Progress, silent
from halfmask.claims import MANIFEST_NAME
from halfmask.claims.manifest import MASKED, SYNTHETIC
from halfmask.data.io.atomic import check_new_folder
from halfmask.data.io.formats import is_object_address
from halfmask.data.io.object_folder import check_object_folder
from halfmask.release import Inputs, Release, kind_named

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from halfmask.book.section import BookSection
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.engines import Engine
    from halfmask.microdata._given_hierarchies import Hierarchies
    from halfmask.microdata._policy import Policy
    from halfmask.microdata.masked import MaskFacts
    from halfmask.microdata.synthetic import SynthesisFacts
    from halfmask.release.booking import Booking
    from halfmask.release.release import ReleasePolicy
    from halfmask.vault import Vault


#: How inputs are had, and what is asked of them: a wrong one would fail far from here.
_OPENED: Final = {
    "vault": ("Open it with halfmask.vault.Vault.", "secret"),
    "engine": ("Make one with halfmask.engines.connect, or leave it out.", "fold", "map"),
    "book": ("Make one with ReleaseBook.booking, or write [book] in the policy.", "leaving"),
    "progress": ("Give a function of what is being done and how far it is.", "__call__"),
}


class Given(TypedDict, total=False):
    """What is given to `protect` besides a table and what the owner wants."""

    key: bytes | None
    vault: Vault | None
    population: object
    strict: bool
    engine: Engine | None
    ledger: PrivacyLedger | None
    book: Booking | None
    progress: Progress | None


def protect(  # noqa: PLR0913 # the short form of a policy for k-anonymity
    table: object,
    policy: ReleasePolicy | None = None,
    *,
    quasi_identifiers: Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    label: str | None = None,
    k: int | None = None,
    l: int | None = None,
    person: str | None = None,
    hierarchies: Hierarchies | None = None,
    method: str | None = None,
    suppression: float | None = None,
    **given: Unpack[Given],
) -> Release[Any]:
    """Protect a table, or a database, by a policy.

    Parameters
    ----------
    table
        A frame of polars, pandas or pyarrow; a file, a folder of files, or ``"-"``; or an opened
        :class:`~halfmask.data.Source`. Of a database: its URL, without a table.
    policy
        What the owner wants; it must name every column of the table. Without one, name
        `quasi_identifiers` and `k`: then a policy is made. Databases have a `DatabasePolicy`,
        tables of counts and sums a `TablesPolicy`.
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
    method, suppression
        Without a policy: the name of a method, by default ``"mondrian"`` or, with a label,
        ``"guided"``; and the share of rows that may be left out, by default 0.02.
    key
        32 secret bytes that fix the order of released rows, tokens, and the random numbers of
        masks and samples. Without one a fresh key is drawn from the operating system and forgotten.
    vault
        The vault with the key of pseudonyms whose scope is ``"vault"``, and with the book that
        ``[book]`` of the policy names.
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
        With differential privacy: the budget of the table. The release is booked before a row is
        drawn.
    book
        How the release is booked, as `ReleaseBook.booking` returns it; by default as ``[book]`` of
        the policy says.
    progress
        Called with what is being done and how far it is.

    Returns
    -------
    Release
        ``.data``, ``.claims``, and ``.risk`` and ``.utility`` of classes, or the ``.assessment`` of
        masked and synthetic rows; ``.write(out)`` verifies it on disk. With differential privacy
        nothing is measured.

    Raises
    ------
    SchemaError, HierarchyError
        If the policy and the table don't agree.
    ParameterError
        If ``policy`` isn't a `Policy` but, for example, a path. If both a policy and columns are
        given, or neither. If a parameter doesn't go with the policy.
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
    asked: dict[str, object] = {"sensitive": sensitive, "label": label, "k": k, "l": l}
    asked |= {"person": person, "hierarchies": hierarchies, "method": method}
    asked["suppression"] = suppression
    is_named = quasi_identifiers is not None or suppression is not None or any(asked.values())
    if policy is None or is_named:
        from halfmask.microdata._made_policy import policy_of  # noqa: PLC0415 # describes a table

        policy = policy_of(table, policy, quasi_identifiers, asked)
    _check_policy(policy, "protect")
    return kind_named(policy.kind).make_release(table, policy, _inputs(given, policy))


def protect_to(
    table: object,
    policy: ReleasePolicy,
    out: str | Path,
    *,
    overwrite: bool = False,
    persons: str | Path | None = None,
    report: str | Path | None = None,
    **given: Unpack[Given],
) -> Release[Any]:
    """Protect a table and write the release, verified on disk, or nothing.

    The same as ``protect(...).write(out)``; a table that doesn't fit in memory is read and written
    in batches. See :func:`protect` and :meth:`Release.write`.

    Parameters
    ----------
    table, policy
        As of `protect`.
    out, overwrite, persons, report
        As of `Release.write`.
    key, vault, population, strict, engine, ledger, book, progress
        As of `protect`.

    See Also
    --------
    protect : Returns the release, to look at before it is written.
    """
    _check_policy(policy, "protect_to")
    kind = kind_named(policy.kind)
    if persons is not None:
        kind.check_input("persons")
    if not kind.has_report_folder:
        _check_out(out, overwrite=overwrite, is_charged=given.get("ledger") is not None)
    release = protect(table, policy, **given)
    progress = given.get("progress")
    return release.write(
        out, overwrite=overwrite, persons=persons, report=report, progress=progress
    )


def _check_out(out: str | Path, *, overwrite: bool, is_charged: bool) -> None:
    """Refuse a folder that can't be made: before hours of work, or a charge."""
    if isinstance(out, str) and is_object_address(out):
        check_object_folder(out, overwrite=overwrite)
    elif is_charged and os.path.lexists(out) and not overwrite:
        raise ReleaseError(
            "The folder exists already, and nothing was charged.",
            hint="Choose another name, or overwrite an earlier release.",
        )
    else:
        check_new_folder(out, overwrite=overwrite, marker=MANIFEST_NAME)


def mask(table: object, policy: Policy, **given: Unpack[Given]) -> Release[MaskFacts]:
    """Mask a table by a policy that has masks and no guarantees.

    Parameters
    ----------
    table, policy
        As of `protect`; the policy must name every column of the table.
    key, vault, population, strict, engine, ledger, book, progress
        As of `protect`, where they go with masks alone. With ``strict`` it is an error if attacks
        find people again: see `MaskingAssessment.warning`.

    Returns
    -------
    Release
        ``.data``, ``.claims``, ``.assessment``; ``.write(out)`` verifies it on disk.

    Raises
    ------
    PolicyError
        If the policy has guarantees: `halfmask.protect` is for those.
    SchemaError
        If the policy and the table don't agree.
    DataError, GuaranteeNotMetError
        If a mask can't process a value of its column. If `strict`, and people are found again, or
        there are too few rows to measure it.

    See Also
    --------
    halfmask.protect : Privacy models over classes, with masks in front of them.
    halfmask.masks : All techniques.

    Notes
    -----
    **Guarantees.** Identifiers are dropped. Whatever can be counted of a technique is claimed and
    counted again on disk. What can't be counted is measured: ``.assessment`` compares attacks
    with a control and a baseline.

    **Edge cases.** Risk and utility of a table of more than 100,000 rows are measured on a random
    part of it.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.microdata import Policy, mask
    >>> policy = Policy.from_toml('''
    ... halfmask = 1
    ... [columns]
    ... name = { role = "identifier" }
    ... pay = { role = "sensitive", kind = "numeric", mask = { name = "round", base = 1000 } }
    ... ''')
    >>> people = pl.DataFrame({"name": ["Ann", "Bob"], "pay": [41_300, 38_900]})
    >>> release = mask(people, policy)
    >>> sorted(release.data["pay"]), [claim.model for claim in release.claims]
    ([39000, 41000], ['released-columns', 'multiples'])
    """
    _check_policy(policy, "mask")
    if policy.kind == SYNTHETIC:
        raise PolicyError(
            "The policy has [synthesis].",
            hint="[[Call halfmask.synthesize|Run halfmask synthesize]].",
        )
    if policy.kind != MASKED:
        raise PolicyError(
            "The policy has [[guarantees]].", hint="[[Call halfmask.protect|Run halfmask protect]]."
        )
    return kind_named(policy.kind).make_release(table, policy, _inputs(given, policy))


def synthesize(table: object, policy: Policy, **given: Unpack[Given]) -> Release[SynthesisFacts]:
    """Draw synthetic rows by a policy that has ``[synthesis]``.

    Parameters
    ----------
    table, policy
        As of `protect`; the policy must name every column of the table, which is read into memory.
    key, vault, population, strict, engine, ledger, book, progress
        As of `protect`, where they go with synthetic rows. A ``ledger`` goes with epsilon, and an
        ``engine`` draws full and hybrid rows without groups from the fitted model.

    Returns
    -------
    Release
        ``.data``, ``.claims``, ``.assessment``; ``.write(out)`` verifies it on disk.

    Raises
    ------
    BudgetError
        If the ledger has less left than the release costs. Nothing is counted then.
    ParameterError
        If there is a ledger and the policy has no epsilon, or they protect different units.
    PolicyError
        If the policy has no ``[synthesis]``, or an engine is given for another kind of rows.
    SchemaError
        If the policy and the table don't agree, or a column can't be synthesized.
    DataError, GuaranteeNotMetError
        If there are no rows, some break a rule, or groups of k rows can't be made.

    See Also
    --------
    halfmask.protect : Privacy models over classes.
    halfmask.synth.Synthesizer : The model alone, for scikit-learn.

    Notes
    -----
    **Guarantees.** Identifiers are dropped before anything is learnt. Every row keeps every rule of
    the policy. A full release whose rows equal original ones more often than chance isn't written.
    A share of the rows is never learnt from: ``.assessment`` compares attacks on the others with
    attacks on these.

    **Edge cases.** No privacy model is guaranteed: rows are drawn from models of people's rows. How
    much they reveal is measured, and what isn't measured isn't known. With ``epsilon`` rows are
    drawn from noisy counts instead, are differentially private, and nothing is measured.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.microdata import Policy, synthesize
    >>> policy = Policy.from_toml('''
    ... halfmask = 1
    ... [columns.age]
    ... role = "quasi_identifier"
    ... kind = "numeric"
    ... [columns.ill]
    ... role = "sensitive"
    ... kind = "categorical"
    ... [synthesis]
    ... kind = "full"
    ... ''')
    >>> people = pl.DataFrame({"age": [21, 58] * 50, "ill": ["flu", "asthma"] * 50})
    >>> release = synthesize(people, policy, key=bytes(32))
    >>> release.data.height, sorted(set(release.data.rows()))
    (100, [(21, 'flu'), (58, 'asthma')])
    """
    _check_policy(policy, "synthesize")
    if policy.kind != SYNTHETIC:
        raise PolicyError(
            "The policy has no [synthesis].",
            hint='Write [synthesis] with kind = "full", or '
            "[[call halfmask.protect|run halfmask protect]].",
        )
    return kind_named(policy.kind).make_release(table, policy, _inputs(given, policy))


def _check_policy(policy: object, verb: str) -> None:
    if not isinstance(getattr(policy, "kind", None), str):
        raise ParameterError(
            f"The 'policy' parameter of {verb} must be a Policy. Got a {type(policy).__name__}.",
            hint="Load it from a file with halfmask.Policy.load(path).",
        )


def _inputs(given: Given, policy: ReleasePolicy) -> Inputs:
    if more := [name for name in given if name not in Given.__annotations__]:
        there = ", ".join(Given.__annotations__)
        raise TypeError(f"There is no parameter {more[0]!r}. What may be given is {there}.")
    for name, (hint, *needed) in _OPENED.items():
        it = given.get(name)
        if it is not None and not all(hasattr(it, each) for each in needed):
            got = type(it).__name__
            raise ParameterError(f"The {name!r} parameter can't be used. Got a {got}.", hint=hint)
    found: dict[str, Any] = {**given, "progress": given.get("progress") or silent}
    section: BookSection | None = getattr(policy, "book", None)
    if section is not None and given.get("book") is None:
        found["book"] = _booking_of(section, given.get("vault"))
    return Inputs(**found)


def _booking_of(section: BookSection, vault: Vault | None) -> Booking:
    """Open the book that a policy names."""
    from halfmask.book import ReleaseBook  # noqa: PLC0415 # most releases aren't booked

    if vault is None:
        raise ParameterError(
            "The policy has [book], and there is no vault.",
            hint="The book lies in the vault: give [[vault=Vault.open(...)|--vault]].",
        )
    return ReleaseBook.open(vault, dataset=section.dataset).booking(section)

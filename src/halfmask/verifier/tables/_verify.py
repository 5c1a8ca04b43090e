"""verify: read the release on disk, and count again what it claims."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import EngineError
from halfmask.claims import read_manifest, table_manifest
from halfmask.claims.table_claims import AREAS_OF_PLACES, StatedSets, stated_sets
from halfmask.verifier._result import IMPORT_CHECK, CheckedRelease, ColumnSetCheck
from halfmask.verifier.checks import VerifiedKind, VerifyInputs
from halfmask.verifier.tables._column_sets import check_sets, misnamed_sets
from halfmask.verifier.tables._files import Files, check_files
from halfmask.verifier.tables._findings import ClaimCheck, Finding, sentence_of, weaknesses_of
from halfmask.verifier.tables._fitting import Bound, open_people
from halfmask.verifier.tables._model_checks import UNKNOWN_MODEL
from halfmask.verifier.tables._outlines import check_outlines
from halfmask.verifier.tables._persons import Persons, read_persons
from halfmask.verifier.tables._recount import Released, recount
from halfmask.verifier.tables.part import (
    READ_ERRORS,
    dictionaries_of,
    different_texts,
    joined_texts,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.claims import ClassClaim, ReleasedColumn, TableManifest
    from halfmask.verifier._workers import Workers
    from halfmask.verifier.checks import HierarchyFiles
    from halfmask.verifier.tables._files import StoredRows
    from halfmask.verifier.tables._fitting import People


def verify(
    folder: str | Path,
    *,
    persons: str | Path | None = None,
    population: object = None,
    hierarchies: HierarchyFiles | None = None,
    engine: Workers | None = None,
) -> CheckedRelease:
    """Count again, from the files on disk, everything that a release claims.

    Parameters
    ----------
    folder
        The release folder: ``manifest.json``, ``data/``, and ``support/`` and ``places/``
        where a claim needs them.
    persons
        The file that says whose rows they are, which the owner kept. Without it, claims about
        persons aren't checked, and the release doesn't hold.
    population
        The people that the table was drawn from, for claims about them: a frame, or a plain file.
        Without it these claims aren't checked.
    hierarchies
        The hierarchies of columns that are written as nodes, for the same claims: a folder with
        ``age.csv``, or a file for each column.
    engine
        Where the data files are read and counted, such as a `halfmask.engines.DaskEngine`; by
        default in this process. Workers need the folder under the same path.

    Returns
    -------
    CheckedRelease
        What was found, each claim as a `ClaimCheck`. Look at ``.holds``, or call
        ``.raise_if_broken()``.

    Raises
    ------
    VerificationError
        If there is no manifest or it isn't one of version 1 or 2, the file of persons isn't of this
        release, or the population can't be read. What the files say is never raised but returned.
    ColumnNotFoundError
        If the population lacks a quasi-identifier.
    EngineError
        If a worker doesn't see the files as this process does, or the cluster fails.

    Notes
    -----
    **Guarantees.** Shares no code with what made the files. ``.holds`` is true only if each data
    file has the stated hash, size, rows and columns; nothing else is in the folder; no identifier
    is released; every quasi-identifier of the table is in every claim; and each claim's guarantee
    is kept both with a missing quasi-identifier as a value of its own and with it as a wildcard
    that agrees with everything, its evidence stating nothing better than was counted. Counts are
    exact: rows are compared cell by cell as the file has them, not by hashes. Where the manifest
    states how many rows are unique over sets of released columns, no more are. Of a range in two
    columns, the lower end is nowhere above the upper one. Fractions (entropy,
    t) may miss their threshold by 1e-9.

    For the models known today the count with wildcards is never the worse one: all rows that are
    compatible with a record are whole classes, and merging classes that keep these guarantees keeps
    them. It is counted all the same, so that a model without that property can't slip through.

    People of a population fit a class by what the files say of it: see
    `halfmask.verifier.tables._fitting.fitting_people`.

    What does not follow: that the manifest gives each column its right role; a column that is
    called insensitive is not counted, and is named in ``.weaknesses``. Neither that people are
    protected from what no claim is about.

    **Edge cases.** A release without rows, or without a claim, never holds. In CSV all cells are
    text, so ``007`` and ``7`` differ. 0.0 and -0.0 differ as quasi-identifiers and are one
    sensitive value. A missing sensitive cell is a value of its own, the last in any order. With an
    engine, this process still reads the files for persons and for unique rows over sets of columns.

    **Cost.** Ten million rows of nine text columns: about 5 s and 1 GB on two cores; memory is
    some 50 bytes a row, 8 more for each set of columns, and the different values of each column.
    """
    given = VerifyInputs(
        persons=persons, population=population, hierarchies=hierarchies, engine=engine
    )
    return _verify(Path(folder), table_manifest(read_manifest(Path(folder))), given)


def _verify(folder: Path, manifest: TableManifest, given: VerifyInputs) -> CheckedRelease:
    where = folder if given.engine is None else folder.absolute()
    whose = None if given.persons is None else read_persons(Path(given.persons), manifest)
    people = None
    if given.population is not None:
        known = (each for each in manifest.columns if each.role == "quasi_identifier")
        names = dict.fromkeys(each.bound_of or each.name for each in known)
        people = open_people(given.population, given.hierarchies, list(names))
    files = check_files(where, manifest, given.engine)
    stated = stated_sets(manifest)
    problems = [*files.problems, *_exposed(manifest)]
    sets: tuple[ColumnSetCheck, ...] = ()
    findings = [Finding() for _ in manifest.claims]
    missing: list[str] = []
    try:
        if files.stored is None or not files.rows:
            _fail(findings, "the data files can't be read as the manifest states")
        else:
            missing = _recount(files.stored, files, manifest, findings, whose, people)
            problems += misplaced_bounds(files.stored, files.schema, manifest)
            if stated is not None:
                sets, faults = _recount_sets(files.stored, files, manifest, stated)
                problems += faults
    except EngineError:
        raise  # of the cluster, not of the release
    except READ_ERRORS:
        # What a reader says of a file that breaks off quotes it.
        problems.append("The data files can't be read to their end.")
        _fail(findings, "the data files can't be read to their end")
    for claim, finding in zip(manifest.claims, findings, strict=True):
        finding.reasons += _left_out(claim, manifest)
    if not manifest.claims:
        problems.append("The manifest claims nothing, so there is nothing to verify.")
    return CheckedRelease(
        kind=manifest.kind,
        claims=tuple(map(_check, manifest.claims, findings)),
        files=files.checks,
        problems=tuple(problems),
        weaknesses=weaknesses_of(
            manifest,
            missing,
            # The first set is of all released columns, the second of the unchanged ones.
            unchanged=sets[1] if stated is not None and stated.unchanged and sets else None,
        ),
        rows=files.rows,
        column_sets=sets,
    )


def _fail(findings: Sequence[Finding], reason: str) -> None:
    for finding in findings:
        finding.reasons.append(reason)


def _recount(
    stored: StoredRows,
    files: Files,
    manifest: TableManifest,
    findings: list[Finding],
    persons: Persons | None,
    people: People | None,
) -> list[str]:
    """Count the claims whose columns are there; return the columns that miss cells."""
    countable = []
    for i, claim in enumerate(manifest.claims):
        named = {*claim.quasi_identifiers, *([] if claim.column is None else [claim.column])}
        if named <= files.schema.keys() and claim.quasi_identifiers:
            if claim.model == AREAS_OF_PLACES:
                findings[i] = check_outlines(claim, stored, files.support)
            else:
                countable.append(i)
        else:
            findings[i].reasons.append("it names no columns, or columns that aren't released")
    claims = [manifest.claims[i] for i in countable]
    wanted = {name for claim in claims for name in (*claim.quasi_identifiers, claim.column)}
    dtypes = {n: t for n, t in files.schema.items() if n in wanted}
    texts = stored.fold(partial(different_texts, dtypes), joined_texts) if dtypes else []
    known = dictionaries_of(texts, dtypes)
    released = Released(
        stored=stored,
        dictionaries=known,
        kinds={each.name: each.kind for each in manifest.columns},
        support=files.support,
        # Numbers of other rows than there are would be given to the wrong ones.
        persons=persons if persons is None or len(persons.of_row) == files.rows else None,
        recodings={each.name: each.recoding for each in manifest.columns},
        bounds=_bounds(manifest),
        is_csv=any(each.format == "csv" for each in manifest.files),
        people=people,
    )
    for i, finding in zip(countable, recount(released, claims), strict=True):
        findings[i] = finding
    return [name for name, each in known.items() if each.has_missing]


def _bounds(manifest: TableManifest) -> dict[str, Bound]:
    """Return the columns of bounds; the least value of a range comes first."""
    found: dict[str, Bound] = {}
    seen: set[str] = set()
    for column in manifest.columns:
        if column.bound_of is not None:
            found[column.name] = Bound(column.bound_of, column.bound_of not in seen)
            seen.add(column.bound_of)
    return found


def _recount_sets(
    stored: StoredRows, files: Files, manifest: TableManifest, stated: StatedSets
) -> tuple[tuple[ColumnSetCheck, ...], list[str]]:
    """Count the sets of columns that the manifest states; return them, and what is wrong."""
    problems = misnamed_sets(stated, manifest)
    if problems:
        return (), problems
    sets = check_sets(stored.whole(), files.schema, stated)
    for each in sets:
        if not each.holds:
            problems.append(
                f"More rows are unique or in classes under k = {each.k} over "
                f"{len(each.columns)} released columns than the manifest states."
            )
    return sets, problems


def _exposed(manifest: TableManifest) -> list[str]:
    """Say which released columns are identifiers: none may be."""
    return [
        f"Column {each.name!r} is released and is an identifier."
        for each in manifest.columns
        if each.role == "identifier"
    ]


def _left_out(claim: ClassClaim, manifest: TableManifest) -> list[str]:
    """Say which quasi-identifiers of the table a claim leaves out: each makes classes smaller."""
    needed = [each.name for each in manifest.columns if each.role == "quasi_identifier"]
    return [
        f"it leaves out the quasi-identifier {name!r}"
        for name in needed
        if name not in claim.quasi_identifiers
    ]


def _check(claim: ClassClaim, finding: Finding) -> ClaimCheck:
    return ClaimCheck(
        claim=claim.stated(),
        stated=claim,
        counted=finding.counted,
        counted_wildcard=finding.wildcard,
        classes=finding.classes,
        smallest_class=finding.smallest,
        holds=not finding.reasons and finding.unchecked is None,
        checked=bool(finding.reasons) or finding.unchecked is None,
        sentence=sentence_of(claim, finding),
        cure=IMPORT_CHECK if UNKNOWN_MODEL in finding.reasons else "",
    )


KIND: Final = VerifiedKind(
    inputs=frozenset({"persons", "population", "hierarchies", "engine"}),
    whole=lambda it: _verify(it.path.parent, table_manifest(it.manifest), it.given),
)


def misplaced_bounds(
    stored: StoredRows, dtypes: Mapping[str, pl.DataType], manifest: TableManifest
) -> list[str]:
    """Say which columns of bounds aren't the two ends of ranges in every row."""
    ends: dict[str, list[ReleasedColumn]] = {}
    for column in manifest.columns:
        if column.bound_of is not None:
            ends.setdefault(column.bound_of, []).append(column)
    names = {column.name for column in manifest.columns}
    problems, ranges = [], {}
    for name, columns in ends.items():
        if len(columns) != 2 or name in names or not {it.name for it in columns} <= dtypes.keys():
            problems.append(f"The bounds of column {name!r} aren't two released columns.")
        else:
            ranges[name] = tuple((it.name, _is_text(it, dtypes[it.name])) for it in columns)
    if ranges:
        wrong = stored.fold(partial(_misplaced, tuple(ranges.values())), _added)
        problems += [
            f"In {n:,} rows the bounds of column {name!r} are no range."
            for name, n in zip(ranges, wrong, strict=True)
            if n
        ]
    return problems


def _misplaced(ranges: Sequence[Sequence[tuple[str, bool]]], table: pl.LazyFrame) -> list[int]:
    """Return in how many rows the lower end of each range isn't below the upper one."""
    found = []
    for ends in ranges:
        # Numbers as text are compared as numbers.
        low, high = (pl.col(n).cast(pl.Float64) if text else pl.col(n) for n, text in ends)
        wrong = (low > high) | (low.is_null() != high.is_null())
        found.append(int(table.select(wrong.sum()).collect(engine="streaming").item()))
    return found


def _added(left: Sequence[int], right: Sequence[int]) -> list[int]:
    return [sum(pair) for pair in zip(left, right, strict=True)]


def _is_text(column: ReleasedColumn, dtype: pl.DataType) -> bool:
    """Return whether a column has numbers as text; dates as text are in their order already."""
    return dtype == pl.String and column.kind != "datetime"

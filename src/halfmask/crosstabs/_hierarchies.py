"""Dimensions of a policy: flat, trees of columns or of a file, and sums over them.

Codes are texts, as they are written: "NA", "01", and names with dots or blanks are like any other.
"""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import HierarchyError, PolicyError, SchemaError
from halfmask.crosstabs._dimension import CodeSum, Dimension, flat_dimension, tree_dimension
from halfmask.crosstabs._policy import DimensionSection
from halfmask.data import natural_order, read_hierarchy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from halfmask.crosstabs._policy import TablesPolicy

#: What ARX calls the code that covers all.
_ROOT: Final = "*"


def read_hrc(
    path: str | Path, *, name: str, total: str = "Total", indent: str = "@", encoding: str = "utf-8"
) -> Dimension:
    r"""Read a tree of codes from an ``.hrc`` file of tau-argus.

    Parameters
    ----------
    path
        The file: a code in each line, after one sign for each level below the first.
    name
        The name of the dimension.
    total
        The code of all together, which such files lack.
    indent
        The sign of a level.
    encoding
        The encoding of the file, such as ``"cp1252"`` for files of older Windows programs.

    Returns
    -------
    Dimension
        The codes in the order of the file.

    Raises
    ------
    HierarchyError
        If the file can't be read, has no code, skips a level, or has a code under two others.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "region.hrc"
    ...     written = file.write_text("north\n@oslo\n@bergen\nsouth\n")
    ...     read_hrc(file, name="region").leaves
    ('oslo', 'bergen', 'south')
    """
    paths: list[tuple[str, ...]] = [()]
    for number, line in enumerate(_text_of(path, name, encoding).splitlines(), start=1):
        written = line.rstrip()
        code = written.lstrip(indent).strip()
        level = len(written) - len(written.lstrip(indent))
        if not written:
            continue
        is_other = not level and written[0].isspace()  # as written by another program
        if not code or is_other or level > len(paths[-1] if paths else ()):
            fault = "has no code" if not code else "skips a level"
            raise HierarchyError(
                f"Line {number} of the .hrc file of dimension {name!r} "
                f"{'starts with a blank' if is_other else fault}.",
                hint=f"Write one {indent!r} for each level before the code, and each code once.",
            )
        paths.append((*paths[-1][:level], code))
    if len(paths) == 1:
        raise HierarchyError(f"The .hrc file of dimension {name!r} has no codes.")
    return tree_dimension(name, paths, total=total)


def columns_of(policy: TablesPolicy, name: str) -> tuple[str, ...]:
    """Return the columns of microdata that a dimension is read from, that of its codes last."""
    section = policy.dimensions.get(name)
    return section.levels if section is not None and section.levels else (name,)


def code_columns(policy: TablesPolicy) -> list[str]:
    """Return the columns of microdata that the codes of all tables are read from."""
    names = dict.fromkeys(name for table in policy.tables for name in table.dimensions)
    return list(dict.fromkeys(each for name in names for each in columns_of(policy, name)))


def build_dimensions(
    policy: TablesPolicy,
    found: Mapping[str, Collection[tuple[str, ...]]],
    *,
    order: Mapping[str, Sequence[str]],
    totals_too: bool = False,
) -> dict[str, Dimension]:
    """Return the dimensions of a policy by their names.

    ``found`` has the distinct paths of codes of each, from the top; ``order`` is that of a type.
    """
    made = {}
    for name, paths in found.items():
        section = policy.dimensions.get(name) or DimensionSection()
        codes = {path[-1] for path in paths}
        ordered = order.get(columns_of(policy, name)[-1], ())
        if not totals_too and section.total in codes:
            raise _report_total(name)
        dimension = _with_sums(_declared(policy, name, section, paths, ordered), section.sums)
        _check_codes(dimension, codes, totals_too=totals_too)
        made[name] = dimension
    return made


def _declared(
    policy: TablesPolicy,
    name: str,
    section: DimensionSection,
    paths: Collection[tuple[str, ...]],
    order: Sequence[str],
) -> Dimension:
    """Return a dimension without the sums that the policy adds."""
    given = [key for key in ("levels", "hierarchy", "codes") if getattr(section, key)]
    if len(given) > 1:
        raise PolicyError(
            f"Dimension {name!r} has {' and '.join(given)}; one of them says what its codes are.",
            hint="Keep one of them; further groups of codes are sums.",
        )
    if section.hierarchy is not None:
        place = (policy.folder or Path()) / section.hierarchy
        return read_tree(place, name=name, total=section.total)
    if section.codes:
        return flat_dimension(name, section.codes, total=section.total)
    if section.levels:
        return tree_dimension(name, _sorted_paths(paths, order), total=section.total)
    codes = {path[-1] for path in paths}.difference(section.sums, [section.total])
    return flat_dimension(name, _sorted_codes(codes, order), total=section.total)


def _sorted_codes(codes: Iterable[str], order: Sequence[str]) -> list[str]:
    """Return codes in the order of their column's type, and others in their natural order."""
    different = set(codes)
    ordered = [code for code in order if code in different]
    others = natural_order(pl.Series(sorted(different.difference(ordered)), dtype=pl.String))
    return [*ordered, *others]


def _sorted_paths(
    paths: Collection[tuple[str, ...]], order: Sequence[str]
) -> list[tuple[str, ...]]:
    """Return paths in the order of the codes of each level; rows of a table have no order."""
    ranks: list[dict[str, int]] = []
    for level in reversed(range(max(map(len, paths)))):
        codes = _sorted_codes({path[level] for path in paths if len(path) > level}, order)
        ranks.insert(0, {code: at for at, code in enumerate(codes)})
        order = ()  # it is that of the column of the last level
    return sorted(paths, key=lambda path: [ranks[at][code] for at, code in enumerate(path)])


def _report_total(name: str) -> SchemaError:
    return SchemaError(
        f"Column {name!r} has rows whose code is that of the total.",
        hint="Rows of microdata must not be totals: leave them out, or name the total otherwise by "
        "total in the policy. Give a table that has totals as a ready one, by [ready].",
    )


def read_tree(path: Path, *, name: str, total: str) -> Dimension:
    """Read a tree from a file: ``.hrc``, ARX's CSV, or CSV of levels from the top with a header.

    ARX's files begin with the code at the bottom: the side that has more codes.
    """
    if path.suffix.lower() == ".hrc":
        return read_hrc(path, name=name, total=total)
    rows, delimiter = _rows_of(path, name)
    first, last = (len({row[side] for row in rows}) for side in (0, -1))
    if first > last or (first == last and (delimiter == ";" or len(rows[0]) == 1)):
        leaves = read_hierarchy(path, column=name, delimiter=delimiter).levels.rows()
        paths = ([code for code in leaf[::-1] if code != _ROOT] for leaf in leaves)
        return tree_dimension(name, paths, total=total)
    return tree_dimension(name, _filled(rows[1:], name), total=total)


def _rows_of(path: Path, name: str) -> tuple[list[list[str]], str]:
    """Return the rows of a CSV file, and the delimiter that gives all of them equal length."""
    text = _text_of(path, name, "utf-8")
    for delimiter in ";,\t|":
        try:
            rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
        except csv.Error:
            continue
        if rows and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            return rows, delimiter
    single = [[line.strip().strip('"')] for line in text.splitlines() if line.strip()]
    if not single:
        raise HierarchyError(f"The hierarchy file of dimension {name!r} is empty.")
    if any("," in row[0] or ";" in row[0] for row in single):
        raise HierarchyError(
            f"The hierarchy file of dimension {name!r} has lines of different lengths.",
            hint="Each line needs as many fields as the first.",
        )
    return single, ";"


def _filled(rows: Iterable[list[str]], name: str) -> Iterator[list[str]]:
    """Yield paths without the empty fields at their ends."""
    for number, path in enumerate(rows, start=2):
        while path and not path[-1]:
            path.pop()
        if not path or "" in path:
            raise HierarchyError(
                f"Line {number} of the hierarchy file of dimension {name!r} has an empty field "
                "before its code.",
                hint="Repeat the code above where a level has none.",
            )
        yield path


def _text_of(path: str | Path, name: str, encoding: str) -> str:
    try:
        return Path(path).read_bytes().decode("utf-8-sig" if encoding == "utf-8" else encoding)
    except UnicodeDecodeError:
        problem, hint = f"is not in {encoding}", "Save it as UTF-8."
    except OSError as error:
        problem = f"can't be read ({type(error).__name__})"
        hint = "Paths in a policy start at the policy's folder."
    raise HierarchyError(f"The hierarchy file of dimension {name!r} {problem}.", hint=hint)


def _with_sums(dimension: Dimension, sums: Mapping[str, Sequence[str]]) -> Dimension:
    """Return a dimension with further codes that are sums of others."""
    codes = dict.fromkeys((*dimension.codes, *sums))
    unknown = sum(part not in codes for parts in sums.values() for part in parts)
    if unknown:
        raise HierarchyError(
            f"The sums of dimension {dimension.name!r} have {unknown} parts that are no codes.",
            hint="Each part must be a code of the table. Declare codes that the table may lack "
            "under codes.",
        )
    more = (CodeSum(code, tuple(parts)) for code, parts in sums.items())
    return replace(dimension, codes=tuple(codes), sums=(*dimension.sums, *more))


def _check_codes(dimension: Dimension, codes: set[str], *, totals_too: bool) -> None:
    """Raise where a table has codes that a dimension lacks, or that are sums of others."""
    unknown = codes.difference(dimension.codes)
    if unknown:
        raise SchemaError(
            f"Column {dimension.name!r} has {len(unknown)} codes that its dimension lacks.",
            hint="Add them to the hierarchy file, or to codes in the policy.",
        )
    inner = codes.difference(dimension.leaves)
    if inner and not totals_too:
        raise SchemaError(
            f"Column {dimension.name!r} has rows of {len(inner)} codes that are sums of others.",
            hint="Each row of microdata needs a code at the bottom of its hierarchy. Give such "
            "rows a code of their own under that sum.",
        )

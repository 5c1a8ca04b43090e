"""The lines on the page of a release that read its rows in Python, R and Stata."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from halfmask.release.page import TextBlock, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.claims import Manifest

#: How R reads one file of a format.
_IN_R: Final = {
    "parquet": "arrow::read_parquet({})",
    "arrow": "arrow::read_feather({})",
    "csv": 'read.csv({}, colClasses = "character", na.strings = "", check.names = FALSE)',
    "jsonl": "jsonlite::stream_in(file({}))",
    "excel": "readxl::read_excel({})",
}
#: Names that R and Stata take unchanged; others would have to be quoted or are renamed.
_PLAIN: Final = re.compile(
    r"(?!(?:if|in|else|for|while|repeat|function|next|break|TRUE|FALSE|NULL|Inf|NaN|NA|using|with|"
    r"byte|int|long|float|double|strL|str\d+)$)[A-Za-z][A-Za-z0-9_]{0,26}"
)
_MOST: Final = 20
_RANGE: Final = r"^\[(.*), (.*)[\])]"


def reading_lines(manifest: Manifest) -> list[TextBlock]:
    """Return how to read the rows of a release; nothing where it has no rows of people."""
    stated = (manifest.details or {}).get("columns")
    columns = (
        [it for it in stated if isinstance(it, Mapping)] if isinstance(stated, Sequence) else []
    )
    if not columns or not manifest.files or manifest.files[0].format not in _IN_R:
        return []
    ranges = [str(it["name"]) for it in columns if _has(it, ranges=True)]
    sets = [str(it["name"]) for it in columns if _has(it, ranges=False)]
    plain = next(filter(_PLAIN.fullmatch, ranges), None)
    about = "In the folder of this page. A suppressed cell is missing, or * where any value fits."
    for words, names in (("ranges", ranges), ("sets of categories", sets)):
        if names:
            more = ", ..." if len(names) > _MOST else ""
            about += (
                f" These columns hold {words}: {', '.join(map(shortened, names[:_MOST]))}{more}."
            )
    drawn = bool(ranges or sets)
    if drawn:
        about += " A regression on the middle of ranges is biased: draw tables of single values."
    form, file = manifest.files[0].format, manifest.files[0].name
    lines = [*_python(drawn=drawn), "", *_r(form, file, len(manifest.files), plain)]
    lines += ["", *_stata(form, file, len(manifest.files), plain)]
    return [TextBlock("Read this table", [about]), TextBlock("", ["\n".join(lines)], "code")]


def _has(column: Mapping[str, Any], *, ranges: bool) -> bool:
    """Return whether a column has ranges, or sets, as texts."""
    is_ordered = column.get("kind") in {"numeric", "datetime"}
    is_text = column.get("dtype") == "String" and column.get("original") != "String"
    return column.get("recoding") == "ranges" and is_text and is_ordered == ranges


def _python(*, drawn: bool) -> Iterator[str]:
    yield "# Python, with halfmask: columns in their original types, ranges as two columns"
    yield "import halfmask as hm"
    yield 'rows = hm.read_release(".")'
    if drawn:
        yield 'tables = hm.impute_release(".")  # run the analysis on each; hm.combine_estimates'


def _r(form: str, file: str, n_files: int, column: str | None) -> Iterator[str]:
    yield "# R"
    quoted = f'"{file}"'
    yield f"rows <- {_IN_R[form].format(quoted)}"
    if n_files > 1:
        yield "# Read the other files alike, and bind their rows."
    if column is not None:
        text = f'sub(" or missing$", "", rows${column})'
        for end, place in (("from", 1), ("to", 2)):
            pattern = _RANGE.replace("\\", "\\\\")
            yield f'rows${column}_{end} <- sub("{pattern}", "\\\\{place}", {text}, perl = TRUE)'


def _stata(form: str, file: str, n_files: int, column: str | None) -> Iterator[str]:
    yield "* Stata"
    if form != "csv":
        yield '* Ask the owner for [output] format = "csv".'
        return
    yield f'import delimited "{file}", varnames(1) case(preserve) stringcols(_all) clear'
    if n_files > 1:
        yield "* Read the other files alike, and append them."
    if column is not None:
        yield f"generate {column}_from = {column}"
        yield f"generate {column}_to = {column}"
        for end, place in (("from", 1), ("to", 2)):
            found = f'ustrregexm({column}, "{_RANGE}")'
            yield f"replace {column}_{end} = ustrregexs({place}) if {found}"

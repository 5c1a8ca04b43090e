"""The labels of columns and of values that a file of SPSS, Stata or SAS has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from halfmask._foreign import need
from halfmask.data.io._statistical import _function
from halfmask.data.io.formats import foreign_format
from halfmask.data.io.places import places_of, reading, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping


class FileLabels(NamedTuple):
    """The label of each column, and of the values of each column."""

    columns: Mapping[str, str]
    values: Mapping[str, Mapping[Any, str]]


def file_labels(where: str | Path) -> FileLabels:
    """Return the labels of a file; none where its format has none."""
    if not Path(where).is_file():
        return FileLabels({}, {})
    place = places_of(where)[0]
    form = foreign_format(start_of(place), Path(where).name, what=place.what)
    if form not in {"spss", "stata", "sas"}:
        return FileLabels({}, {})
    need("pyreadstat")
    with reading(place.what, form), place.local() as path:
        _, about = _function(place, form)(str(path), metadataonly=True, output_format="dict")
    named = {name: text for name, text in about.column_names_to_labels.items() if text}
    return FileLabels(named, about.variable_value_labels)

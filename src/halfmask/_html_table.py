"""A small table as HTML, which notebooks show in the place of a repr."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def html_table(
    title: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[object]],
    notes: Iterable[str] = (),
) -> str:
    """Return a table with a title above and notes below; no text becomes markup.

    Examples
    --------
    >>> html_table("Two", ["a"], [["<1>"], [2]])
    '<div><p><b>Two</b></p><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;1&gt;</td></tr><tr><td>2</td></tr></tbody></table></div>'
    """
    lines = "".join(f"<tr>{_cells('td', row)}</tr>" for row in rows)
    below = "".join(f"<p><small>{escape(note)}</small></p>" for note in notes)
    return (
        f"<div><p><b>{escape(title)}</b></p><table><thead><tr>{_cells('th', heads)}</tr></thead>"
        f"<tbody>{lines}</tbody></table>{below}</div>"
    )


def _cells(tag: str, values: Sequence[object]) -> str:
    return "".join(f"<{tag}>{escape(str(value))}</{tag}>" for value in values)

"""How a table was read, as the section ``[input]`` of a policy that is proposed for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import tomlkit

if TYPE_CHECKING:
    from halfmask.data import ReadOptions

#: The options of reading that a policy repeats, where one was given.
READING: Final = (
    *("missing", "delimiter", "encoding", "header", "skip_rows", "comment"),
    *("column_names", "sheet", "table"),
)


def reading_of(options: ReadOptions) -> dict[str, object]:
    """Return the options of a table that were given, as a policy has them.

    Examples
    --------
    >>> from halfmask.data import ReadOptions
    >>> reading_of(ReadOptions(missing=("?",), encoding="utf-8"))
    {'missing': ['?']}
    """
    usual = type(options)()
    given = {key: getattr(options, key) for key in READING}
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in given.items()
        if value != getattr(usual, key)
    }


def with_reading(text: str, options: ReadOptions) -> str:
    """Return a proposed policy with how the table was read, so that protect reads it alike."""
    section = reading_of(options)
    if not section:
        return text
    written = tomlkit.dumps({"input": section})
    if "\n[input]\n" in text:
        return text.replace("\n[input]\n", f"\n{written}", 1)
    head, version, rest = text.partition("\nhalfmask = 1\n")
    return f"{head}{version}\n{written}{rest}"

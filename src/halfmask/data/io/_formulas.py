"""Texts that a spreadsheet would run as a formula, made harmless."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

# OWASP, "CSV Injection": cells that start so are formulas to a spreadsheet. The wide forms are
# what some of them turn into the narrow ones.
_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"  # noqa: RUF001 - the wide forms are meant
_NUMBER = r"^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with an apostrophe before each text that reads as a formula.

    Texts that are plain numbers, such as ``-5``, stay. A text that has the apostrophe by itself
    gets one more, so that different texts stay different.

    Examples
    --------
    >>> import polars as pl
    >>> guarded(pl.DataFrame({"note": ["=1+1", "'=1+1", "-5", "fine"]}))["note"].to_list()
    ["'=1+1", "''=1+1", '-5', 'fine']
    """
    texts = pl.col(pl.String)
    risky = texts.str.contains(_FORMULA) & ~texts.str.contains(_NUMBER)
    return frame.with_columns(pl.when(risky).then(pl.lit("'") + texts).otherwise(texts).name.keep())


def guarded_names(names: Sequence[str]) -> list[str]:
    """Return names of columns with an apostrophe before each that reads as a formula.

    Different names stay different. To get the names back, remove one apostrophe from names in which
    apostrophes precede a sign.

    Examples
    --------
    >>> guarded_names(["=cmd()", "'=cmd()", "-5", "a=b"])
    ["'=cmd()", "''=cmd()", '-5', 'a=b']
    """
    return guarded(pl.DataFrame({"name": list(names)}, schema={"name": pl.String}))[
        "name"
    ].to_list()

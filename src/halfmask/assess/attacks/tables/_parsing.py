"""Parse a released label: a range of numbers, a set of categories, or nothing.

Labels are read by the usual notations of generalized tables: ``[17, 30]``,
``[17, 30)``, ``17-30``, ``>= 17``, ``17+``, ``{a, b}``, a node of a published hierarchy, ``*``, and
``or missing`` behind any.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.data import Hierarchy

Read: TypeAlias = "Callable[[pl.Series], pl.Series]"

OR_MISSING = " or missing"
#: What stands for everything, in hierarchies and where people suppress by hand.
EVERYTHING = "*"
_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
#: Between ends of any kind stands what stands in no date (dashes that aren't hyphens, too).
RANGES = (
    r"^([\[(\]]?)\s*(.+?)\s*(?:,|\.\.|\x{2013}|\x{2014}|\bto\b|\s-\s)\s*(.+?)\s*([\])\[]?)$",
    rf"^([\[(\]]?)\s*({_NUMBER})\s*-\s*({_NUMBER})\s*([\])\[]?)$",
)
OPENERS, CLOSERS = ("(", "]"), (")", "[")
#: One end: at least, above, at most or below.
BOUND = r"^(>=|=>|\x{2265}|>|<=|=<|\x{2264}|<)\s*(.+)$"
AND_MORE = rf"^({_NUMBER})\s*\+$"
AT_LEAST, AT_MOST = (">=", "=>", "\u2265"), ("<=", "=<", "\u2264")
#: A text in quotes, as in JSON, and a member of a set: quoted, or without comma, quote and brace.
QUOTED = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
MEMBER = re.compile(rf'(?:^|, )({QUOTED.pattern}|[^,"{{}}\[\]\s][^,"{{}}\[\]]*)')
INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}


def split_missing(labels: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Return labels without ``or missing``, and whether it stood there."""
    return labels.str.strip_suffix(OR_MISSING), labels.str.ends_with(OR_MISSING)


def label_ranges(
    labels: pl.Series, read: Read, tree: Hierarchy | None, *, step: float = 0.0
) -> pl.DataFrame:
    """Return ``low`` and ``high`` of each label, as numbers; missing where it gives no number."""
    plain = read(labels)
    readings = [
        pl.DataFrame({"low": plain, "high": plain}),
        *(_between(labels, read, pattern, step) for pattern in RANGES),
        _bounded(labels, read, step),
    ]
    if tree is not None:
        nodes = labels.to_frame("label").join(
            _node_ranges(tree, read), on="label", how="left", maintain_order="left"
        )
        # A day of a hierarchy of days isn't its midnight.
        readings.insert(0, nodes.select("low", "high"))
    found = readings[0]
    for other in readings[1:]:
        found = pl.DataFrame({side: found[side].fill_null(other[side]) for side in found.columns})
    return found


def _between(labels: pl.Series, read: Read, pattern: str, step: float) -> pl.DataFrame:
    """Read labels with two ends; one that is left out lies a step further in."""
    low, high = pl.col("low"), pl.col("high")
    opens, closes = pl.col("opener").is_in(OPENERS), pl.col("closer").is_in(CLOSERS)
    parts = pl.DataFrame(
        {
            "opener": labels.str.extract(pattern, 1),
            "low": _end(labels.str.extract(pattern, 2), read),
            "high": _end(labels.str.extract(pattern, 3), read),
            "closer": labels.str.extract(pattern, 4),
        }
    )
    valid = (low <= high) & (low.is_finite() | high.is_finite())
    # A step that is wider than the range leaves its other end.
    n_open = opens.cast(pl.Int8) + closes.cast(pl.Int8)
    inward = pl.min_horizontal(pl.lit(step), (high - low) / n_open)
    return parts.select(
        low=pl.when(valid & opens).then(low + inward).when(valid).then(low),
        high=pl.when(valid & closes).then(high - inward).when(valid).then(high),
    )


def _bounded(labels: pl.Series, read: Read, step: float) -> pl.DataFrame:
    """Read labels with one end."""
    signed = labels.str.replace(AND_MORE, ">=${1}")
    parts = pl.DataFrame(
        {"sign": signed.str.extract(BOUND, 1), "end": read(signed.str.extract(BOUND, 2))}
    )
    sign, end = pl.col("sign"), pl.col("end")
    valid = end.is_not_null()
    at_least, at_most = sign.is_in(AT_LEAST), sign.is_in(AT_MOST)
    below = at_most | (sign == "<")
    return parts.select(
        low=pl.when(valid & below)
        .then(-math.inf)
        .when(valid & at_least)
        .then(end)
        .when(valid)
        .then(end + step),
        high=pl.when(valid & ~below)
        .then(math.inf)
        .when(valid & at_most)
        .then(end)
        .when(valid)
        .then(end - step),
    )


def _end(texts: pl.Series, read: Read) -> pl.Series:
    """Return the numbers that ends of ranges spell, which may be infinite."""
    infinite = texts.str.to_lowercase().replace_strict(
        list(INFINITE), list(INFINITE.values()), default=None, return_dtype=pl.Float64
    )
    return read(texts).fill_null(infinite)


def label_sets(labels: list[str], known: dict[str, int], tree: Hierarchy | None) -> list[list[int]]:
    """Return the codes of the categories that each label may stand for; may be none."""
    nodes = {} if tree is None else _node_sets(tree, known)
    return [nodes.get(label) or _braced(label, known) for label in labels]


def _braced(label: str, known: dict[str, int]) -> list[int]:
    """Return the codes of ``{a, b}``; none where a member isn't known, or some aren't named."""
    if QUOTED.fullmatch(label):
        # A single value that looks like a set is written in quotes.
        return _codes_of([json.loads(label)], known)
    if not (label.startswith("{") and label.endswith("}")):
        return []
    inside = label[1:-1]
    found = MEMBER.findall(inside)
    if '"' in inside and ", ".join(found) == inside:
        quoted = [json.loads(member) if member[0] == '"' else member for member in found]
        if codes := _codes_of(quoted, known):
            return codes
    return _unquoted(inside, known)


def _codes_of(members: list[str], known: dict[str, int]) -> list[int]:
    return [known[member] for member in members] if known.keys() >= set(members) else []


def _unquoted(inside: str, known: dict[str, int]) -> list[int]:
    codes: list[int] = []
    member = ""
    for part in inside.split(", "):
        # Without quotes, as other software writes, a category may hold the separator itself.
        member = f"{member}, {part}" if member else part
        if member in known:
            codes.append(known[member])
            member = ""
    return [] if member else codes


def _nodes(tree: Hierarchy) -> pl.DataFrame:
    """Return each label above the leaves with each leaf below it, without the root."""
    leaves = tree.levels.to_series(0)
    above = [
        pl.DataFrame({"label": tree.levels.to_series(level), "leaf": leaves})
        for level in range(1, tree.height)
    ]
    if not above:
        return pl.DataFrame(schema={"label": pl.String, "leaf": pl.String})
    return pl.concat(above).unique(maintain_order=True).filter(pl.col("label") != EVERYTHING)


def _node_ranges(tree: Hierarchy, read: Read) -> pl.DataFrame:
    """Return ``low`` and ``high`` of each label above the leaves that is none itself."""
    nodes = _nodes(tree).filter(~pl.col("label").is_in(list(tree.leaves)))
    numbers = read(nodes["leaf"])
    return (
        nodes.with_columns(number=numbers)
        .group_by("label")
        .agg(low=pl.col("number").min(), high=pl.col("number").max())
    )


def _node_sets(tree: Hierarchy, known: dict[str, int]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for label, leaf in _nodes(tree).iter_rows():
        if leaf in known:
            found.setdefault(label, []).append(known[leaf])
    return found

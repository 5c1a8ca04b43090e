"""The hierarchy of a column: made by rules, from a file or by hand; drawn, and counted."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import tomlkit

from halfmask._errors import DataError, HalfmaskError, ParameterError
from halfmask.data import Hierarchy, atomic_file, leaf_text, natural_order
from halfmask.microdata import Policy
from halfmask.plots.svg import without_controls
from halfmask.workbench._history import digest_of
from halfmask.workbench._policy_edits import inline, set_column_key

if TYPE_CHECKING:
    from halfmask.workbench._page import Fields
    from halfmask.workbench._project import Project

UNITS: Final = ("day", "week", "month", "quarter", "year", "decade")
#: Nodes of a tree that a page draws, and levels of it.
_MOST_NODES: Final = 400
_MOST_LEVELS: Final = 16
#: Values that are grouped or put in order by hand.
_MOST_GROUPED: Final = 5_000
MOST_ORDERED: Final = 300
_MOST_BYTES: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class DrawnNode:
    """A group of a hierarchy, or a value, as the page draws it."""

    level: int
    place: int
    label: str
    rows: int
    inner: tuple[DrawnNode, ...]


class CountedTree:
    """A hierarchy, and how many rows of the table are below each of its nodes."""

    def __init__(self, tree: Hierarchy, cells: pl.Series) -> None:
        self.tree = tree
        counts = leaf_text(cells).alias("0").value_counts(name="rows")
        frame = tree.levels.join(counts, on="0", how="left", maintain_order="left")
        self.frame = frame.with_columns(pl.col("rows").fill_null(0)).with_row_index("place")
        self.seen = digest_of("\0".join(tree.leaves).encode())[:16]

    @property
    def groups(self) -> list[str]:
        """The names of the levels between the values and the root, the finest first."""
        top = self.tree.height - (1 if self.frame[str(self.tree.height - 1)].n_unique() == 1 else 0)
        return [str(level) for level in range(1, top)]

    def levels(self) -> Iterator[tuple[int, int, int]]:
        """Yield how many groups each level has, and the rows of the smallest and largest."""
        for level in range(self.tree.height):
            rows = self.frame.group_by(str(level)).agg(pl.col("rows").sum())["rows"]
            rows = rows.filter(rows > 0)
            yield len(rows), int(rows.min() or 0), int(rows.max() or 0)  # type: ignore[arg-type] # counts

    def nodes(self, first: int, size: int) -> tuple[DrawnNode, ...]:
        """Return the tree above some of its leaves, without the root."""
        names = ["0", *self.groups]
        if len(names) > _MOST_LEVELS:
            names = [*names[: _MOST_LEVELS - 1], names[-1]]
        more = [pl.col("rows").sum().over(it).alias(f"rows{it}") for it in names]
        more += [pl.col("place").min().over(it).alias(f"place{it}") for it in names]
        part = self.frame.with_columns(more).slice(first, size).to_dicts()
        return tuple(_nodes(part, names))

    def picked(self, texts: Sequence[str]) -> tuple[int, set[str]]:
        """Return the level and the labels of ticked nodes."""
        if not texts or not all(re.fullmatch(r"\d{1,9}:\d{1,9}", it) for it in texts):
            raise ParameterError("Nothing is ticked.", hint="Tick values, or groups of one level.")
        pairs = [(int(level), int(place)) for level, place in (it.split(":") for it in texts)]
        levels = {level for level, _ in pairs}
        if len(levels) > 1:
            raise ParameterError("Values and groups are ticked.", hint="Tick one level at a time.")
        level = levels.pop()
        if level > len(self.groups) or any(place >= self.frame.height for _, place in pairs):
            raise ParameterError("There is no such group.", hint="Open the page again.")
        return level, {str(self.frame[str(level)][place]) for _, place in pairs}


def _nodes(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Iterator[DrawnNode]:
    *lower, top = names
    for label, below in groupby(rows, lambda row: str(row[top])):
        inner = list(below)
        first = inner[0]
        children = tuple(_nodes(inner, lower)) if lower else ()
        yield DrawnNode(int(top), first[f"place{top}"], label, first[f"rows{top}"], children)


# ---------------------------------------------------------------------- what is shown


def show(project: Project, policy: Policy, name: str, first: str) -> dict[str, Any]:
    """Return the hierarchy in force, its levels, and a part of its tree; or why there is none."""
    section = policy.columns[name].hierarchy
    rule = {} if section is None else section.model_dump(exclude_none=True)
    shown: dict[str, Any] = {
        "rule": rule,
        "words": _in_words(rule),
        "units": UNITS,
        "numbers": _plain(rule.get("intervals", "")),
        "problem": None,
    }
    try:
        counted = _counted(project, policy, name)
    except HalfmaskError as error:
        what, hint = error.at_terminal
        return {**shown, "problem": {"what": what, "hint": hint, "style": "bad"}}
    size = max(_MOST_NODES // min(max(len(counted.groups), 1), _MOST_LEVELS), 20)
    leaves = counted.frame.height
    start = min(int(first), leaves - 1) if first.isdecimal() and len(first) < 10 else 0
    known = [
        label for it in counted.groups for label in counted.frame[it].unique(maintain_order=True)
    ]
    return {
        **shown,
        "levels": list(counted.levels()),
        "nodes": counted.nodes(start, size),
        "first": start,
        "size": size,
        "leaves": leaves,
        "known": [it for it in known if it == without_controls(it)][:_MOST_NODES],
        "seen": counted.seen,
        "depth": len(counted.groups),
        "can_edit": leaves <= _MOST_GROUPED and (not rule or "groups" in rule or "file" in rule),
        "order": _places(counted, rule) if leaves <= MOST_ORDERED else [],
        "numbers": shown["numbers"] or _widths(project.rows()[name]),
    }


def _in_words(rule: Mapping[str, Any]) -> str:
    """Return a rule in few words, without values."""
    if "file" in rule:
        return f"from the file {rule['file']}"
    for key, words in (("groups", "groups with names"), ("order", "an order")):
        if key in rule:
            return words
    return ", ".join(f"{key} {_plain(it)}" for key, it in rule.items())


def _plain(value: Any) -> str:  # noqa: ANN401 # of any key of a rule
    if isinstance(value, tuple):
        return " ".join(map(_plain, value))
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _places(counted: CountedTree, rule: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return the values with the place of each in the order; those of a group share one."""
    tree = counted.frame
    is_grouped = bool(counted.groups) and "order" in rule and not rule.get("sizes")
    key = tree["1"] if is_grouped else tree["0"]
    places = {label: number for number, label in enumerate(dict.fromkeys(key), start=1)}
    return [(leaf, places[label]) for leaf, label in zip(tree["0"], key, strict=True)]


def _widths(cells: pl.Series) -> str:
    """Return widths of intervals that suit the numbers of a column."""
    if not cells.dtype.is_numeric():
        return ""
    low, high = cells.min(), cells.max()
    span = float(high) - float(low) if low is not None and high is not None else 0.0  # type: ignore[arg-type] # numbers
    if not 0 < span < float("inf"):
        return ""
    width = 10.0 ** math.floor(math.log10(span / 10))
    return _plain(tuple(width * times for times in (1, 2, 4)))


def _counted(project: Project, policy: Policy, name: str) -> CountedTree:
    """Return the hierarchy that a policy gives a column, built on the table's values."""
    section = policy.columns[name].hierarchy
    file = None if section is None or section.file is None else project.inside(section.file)
    stamp = file.stat().st_mtime_ns if file is not None and file.is_file() else 0

    def built() -> CountedTree:
        rows = project.rows()
        if name not in rows.columns or rows.schema[name].is_nested():
            raise DataError("The values of the column can't be shown here.")
        cells = rows[name].drop_nulls()
        values = cells.unique(maintain_order=True)
        rule: Any = None if section is None else policy.schema()[name].hierarchy
        if rule is None:
            ordered = (
                natural_order(leaf_text(values))
                if cells.dtype == pl.String
                else leaf_text(values.sort())
            )
            rule = Hierarchy.from_levels(ordered.to_frame(), column=name, root=True)
        tree = rule if isinstance(rule, Hierarchy) else rule.build(values, column=name)
        tree.cover(values, column=name)
        return CountedTree(tree, cells)

    said = policy.columns[name].model_dump_json()
    return project.kept(("tree", name, said, stamp), built)


# ---------------------------------------------------------------------- what is done


def make(project: Project, name: str, fields: Fields) -> str:
    """Make a hierarchy by the rule of a form, or from a file."""
    makers = {"intervals": _intervals, "prefix": _prefix, "dates": _dates}
    how = fields.text("how")
    if how == "file":
        return _import(project, name, fields)
    if how == "order":
        return _put(project, name, _order(_seen(project, name, fields), fields))
    if how not in makers:
        raise ParameterError("There is no such hierarchy.", hint="Choose one of the list.")
    return _put(project, name, makers[how](fields))


def _numbers(fields: Fields, name: str, example: str) -> list[float | int]:
    found: list[float | int] = []
    for text in re.split(r"[\s,;]+", fields.text(name)):
        try:
            found.append(int(text) if text.isdecimal() else float(text))
        except ValueError:
            what = f"The field {name!r} wants numbers with blanks between them."
            raise ParameterError(what, hint=f"Such as {example}.") from None
    return found


def _intervals(fields: Fields) -> dict[str, object]:
    origin = {"origin": fields.number("origin")} if fields.text("origin") else {}
    return {"intervals": _numbers(fields, "widths", "5 10 20"), **origin}


def _prefix(fields: Fields) -> dict[str, object]:
    length = {"length": fields.whole("length")} if fields.text("length") else {}
    return {"prefix": _numbers(fields, "keep", "4 3 2"), **length}


def _dates(fields: Fields) -> dict[str, object]:
    spelt = {"format": fields.text("format")} if fields.text("format") else {}
    return {"dates": fields.all("unit"), **spelt}


def _order(counted: CountedTree, fields: Fields) -> dict[str, object]:
    """Return an order: by the number of each value, the same numbers being a group."""
    places = fields.all("place")
    if len(places) != counted.frame.height or not all(it.strip().isdecimal() for it in places):
        raise ParameterError("Each value wants a whole number.", hint="Give lower ones first.")
    pairs = sorted(zip(map(int, places), range(len(places)), counted.frame["0"], strict=True))
    groups = [[leaf for *_, leaf in same] for _, same in groupby(pairs, lambda it: it[0])]
    if all(len(it) == 1 for it in groups):
        sizes = _numbers(fields, "sizes", "2 4") if fields.text("sizes") else []
        return {"order": [it[0] for it in groups], **({"sizes": sizes} if sizes else {})}
    return {"order": groups}


def _import(project: Project, name: str, fields: Fields) -> str:
    """Keep a hierarchy file under a name of its content, so that undo finds the old one."""
    upload = fields.upload("file")
    if upload is None:
        raise ParameterError("No file was chosen.", hint="Choose a CSV file of ARX.")
    if upload.path.stat().st_size > _MOST_BYTES:
        raise ParameterError("The file is too large for a hierarchy.")
    content = upload.path.read_bytes()
    line = content.partition(b"\n")[0].decode("utf-8", "replace")
    delimiter = max(";,\t|", key=line.count)
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "column"
    stem = f"hierarchies/{slug}-{hashlib.sha256(content).hexdigest()[:12]}"
    file = _free(project, stem, content)
    where = project.inside(file)
    is_new = not where.exists()
    if is_new:
        where.parent.mkdir(exist_ok=True)
        with atomic_file(where, overwrite=False) as written:
            written.write(content)
    try:
        return _put(
            project, name, {"file": file, **({} if delimiter == ";" else {"delimiter": delimiter})}
        )
    except BaseException:
        if is_new:
            where.unlink()
        raise


def _free(project: Project, stem: str, content: bytes) -> str:
    """Return a name that no file has, or one with this content: a file may have been edited."""
    for suffix in ("", *(f"-{number}" for number in range(2, 1_000))):
        where = project.inside(f"{stem}{suffix}.csv")
        if not where.exists() or where.read_bytes() == content:
            break
    return f"{stem}{suffix}.csv"


def group(project: Project, name: str, fields: Fields) -> str:
    """Put what is ticked into a group: one that is there, or another."""
    counted = _seen(project, name, fields)
    level, labels = counted.picked(fields.all("node"))
    to, above = _named(fields), str(level + 1)
    ticked = pl.col(str(level)).is_in(list(labels))
    if above not in counted.groups:
        others = fields.text("others") or "Others"
        frame = counted.frame.with_columns(
            pl.when(ticked).then(pl.lit(to)).otherwise(pl.lit(others)).alias(above)
        )
        return _put_groups(project, name, frame, [*counted.groups, above])
    to = next((it for it in counted.frame[above] if without_controls(it) == to), to)
    target = counted.frame.filter(pl.col(above) == to)
    path = (target if target.height else counted.frame.filter(ticked)).row(0, named=True)
    higher = {it: to if it == above else path[it] for it in counted.groups if int(it) > level}
    frame = counted.frame.with_columns(
        pl.when(ticked).then(pl.lit(label)).otherwise(pl.col(it)).alias(it)
        for it, label in higher.items()
    )
    return _put_groups(project, name, frame, counted.groups)


def rename(project: Project, name: str, fields: Fields) -> str:
    """Give the ticked group another name."""
    counted = _seen(project, name, fields)
    level, labels = counted.picked(fields.all("node"))
    if level == 0 or len(labels) > 1:
        raise ParameterError(
            "Tick the one group that gets another name.", hint="Values keep theirs."
        )
    renamed = pl.when(pl.col(str(level)) == labels.pop()).then(pl.lit(_named(fields)))
    frame = counted.frame.with_columns(renamed.otherwise(pl.col(str(level))).alias(str(level)))
    return _put_groups(project, name, frame, counted.groups)


def _named(fields: Fields) -> str:
    if not fields.text("name"):
        raise ParameterError("The group has no name.", hint="Write one, or choose one of the list.")
    return fields.text("name")


def _seen(project: Project, name: str, fields: Fields) -> CountedTree:
    """Return the hierarchy that the form showed; numbers of its values mean nothing in another."""
    counted = _counted(project, project.policy(), name)
    if fields.text("seen") != counted.seen:
        raise ParameterError(
            "The table has changed since the page was opened.", hint="Choose again."
        )
    return counted


def _put_groups(project: Project, name: str, frame: pl.DataFrame, levels: Sequence[str]) -> str:
    """Write the levels of a frame as groups within groups."""
    if frame.height > _MOST_GROUPED:
        what = f"The column has {frame.height:,} values, too many to group by hand."
        raise ParameterError(what, hint="Take intervals, prefixes, or a file.")
    groups: dict[str, Any] = {}
    for leaf, *path in frame.select("0", *levels).iter_rows():
        inner = groups
        for label in reversed(path[1:]):
            inner = inner.setdefault(label, {})
        inner.setdefault(path[0], []).append(leaf)
    return _put(project, name, {"groups": groups})


def _put(project: Project, name: str, rule: Mapping[str, object]) -> str:
    """Write a hierarchy that fits the table; one that doesn't raises, and the old one stays."""
    document = tomlkit.parse(project.policy_text())
    value: Any = dict(rule)
    set_column_key(document, name, "hierarchy", value if "groups" in rule else inline(rule))
    text = tomlkit.dumps(document)
    try:
        made = _counted(project, Policy.from_toml(text, folder=project.folder), name)
    except HalfmaskError as error:
        what, hint = error.at_terminal
        raise type(error)(f"{what} Nothing was changed.", hint=hint) from None
    project.replace(text, f"{name}: another hierarchy")
    empty = made.frame.filter(pl.col("rows") == 0).height
    more = f" Of its values the table lacks {empty:,}: is one a heading?" if empty else ""
    return f"The hierarchy is in force. The counts of its levels are below.{more}"

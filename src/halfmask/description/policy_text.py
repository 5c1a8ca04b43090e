"""A description as a commented policy file, with masks and l-diversity, for the owner to edit."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import tomlkit

from halfmask.data import Column
from halfmask.data.value_patterns import PATTERNS
from halfmask.description.column_names import words_of
from halfmask.description.proposal import numbers_households, proposed_person

if TYPE_CHECKING:
    from halfmask.description._coordinates import CoordinatePair
    from halfmask.description.proposal import Proposal


WIDTH = 98
PROPOSED_K = 10
#: l is proposed where each group of k can have so many rows that aren't of the l - 1 most
#: frequent values, on average.
ROWS_PER_GROUP = 2
ROLES = {
    "identifier": "dropped",
    "quasi_identifier": "generalized until its groups are large enough",
    "sensitive": "kept; the guarantees say how much of it may be learnt",
    "insensitive": "kept unchanged",
}
HIERARCHIES = {
    "numeric": "hierarchy = { intervals = [5, 10, 20] }",
    "datetime": 'hierarchy = { dates = ["month", "quarter", "year", "decade"] }',
    "ordinal": 'hierarchy = { order = [["lowest", "low"], ["high", "highest"]] }',
    "categorical": 'hierarchy = { file = "hierarchies/this-column.csv" }',
    "geo": "hierarchy = { prefix = [4, 3, 2, 1] }",
    "text": "hierarchy = { prefix = [3, 2, 1] }",
}
POINTS = """\
points = [{x}, {y}]
unit = "{unit}"
hierarchy = {{ cells = [{widths}] }}  # widths in km
# hierarchy = {{ hexagons = [9, 7, 5] }}
# With maps of yours, so that enough people live in each area:
# hierarchy = {{ areas = "counties", people = "population", least = [20000] }}
# hierarchy = {{ quadtree = 1, people = "dwellings", least = [100, 10000] }}
# To move the points instead, give each of both columns a section of its own, as insensitive, and
# [[masks]]
# name = "donut"
# columns = [{x}, {y}]
# radius = [100, 500]
# A moved point next to exact other columns protects nothing: the row is still unique."""
ZIP3 = 'hierarchy = { zip3 = "census-2000" }'
HEXAGONS = "hierarchy = { hexagons = [9, 7, 5] }  # resolutions, that of the values first"
PROPOSED = (
    "A policy that halfmask proposes. It is yours now: read each line, and change what isn't so."
)
MADE = """\
The policy of a release, made from the options of protect and from what describe proposes. Columns
that no option names are dropped where it is unsure what they are."""
HEAD = """\
It holds names of columns, and no data unless groups or orders of values are written into it.

Roles: "identifier" is dropped; "quasi_identifier" points at people together with others and is
generalized; "sensitive" is what nobody may learn of a person; "insensitive" stays unchanged.
Kinds: "numeric", "ordinal", "categorical", "datetime", "geo", "text".
The proposals rest on names, on forms of values and on counting. False negatives are possible: a
column that points at people may stand here as insensitive. Look at each line."""
PERSON = """\
The values of the identifier {column} repeat: {distinct:,} different ones in {rows:,} rows. If it
says whose row it is, name it here. Guarantees then count each person once in a group; without it
they count rows, and the rows of one person pass as as many people.
person = {column}"""
INPUT = """\
How the table is read. Markers of missing values are often "?", "NA" or "-999": where they stay
values, they count as a category of their own.
[input]
missing = ["", "?", "NA"]"""
HOUSEHOLD = """\
The identifier {column} numbers households: {distinct:,} in {rows:,} rows. It is dropped. Name it
under person only to count each household once in a group, which is stricter than each person. The
mask record-swapping and `halfmask assess risk --household` take it."""
DECLARED = """\
How these columns write numbers, dates and times. The release holds plain numbers and ISO dates.
Check that day and month, or decimals and thousands, aren't swapped."""
CENTURIES = """\
first_years: two-digit years lie in the hundred years that start here. Write a later year for
columns with future dates, such as dates of expiry."""
COERCED = """\
coerce: cells of these columns that aren't written like the others become missing. The comment of
the column says how many."""
GUARANTEES = """\
What the release guarantees. It is counted on the file that was written; if it doesn't hold, there
is no release. These numbers are yours to decide:

k    Each person shares all quasi-identifiers with at least k - 1 others, so that a search for
     one person finds k. A higher k protects more and says less. Data that go to a partner under
     a contract often have 5 to 10, published data 10 to 50; 3 and less is a small obstacle.
l    Among those k there are at least l different values of a sensitive column. Without it, a
     group that agrees on the value tells it of each of its members. No more than the column has.
     Other forms: "entropy-l-diversity" (l) and "recursive-cl-diversity" (c, l) also mind how
     often the values occur.
t    The values in each group are spread like those of the whole table, to a distance of t at
     most: 0 lets nothing be learnt, 1 anything. 0.2 is common. For columns with an order use
     distance = "ordered": then near values count as near."""
CLOSENESS = """\
[[guarantees]]
model = "t-closeness"
t = 0.2
column = {column}
distance = "equal\""""
METHOD = """\
How groups are found. "mondrian" cuts the table where its values lie apart. "guided" cuts where
what a model has to predict changes, and keeps more for that model: name the columns to predict.
name = "guided"
split_targets = ["the column to predict"]"""
RECODING = """\
What is written for a group: "ranges", "level" (a node of the hierarchy), "centroid" or
"representative"."""
SUPPRESSION = "The share of rows, 0 to 1, that may be left out because they fit no group."


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the owner asks of a release without a policy."""

    k: int
    diversity: Mapping[str, int] = field(default_factory=dict)
    label: str | None = None
    hierarchies: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    person: str | None = None
    method: str | None = None
    suppression: float | None = None


def policy_text(
    proposals: Sequence[Proposal], wanted: Wanted | None = None, *, findings: str = ""
) -> str:
    """Return the commented TOML of proposals; it is a valid policy as it stands."""
    label = None if wanted is None else wanted.label
    trees = {} if wanted is None else wanted.hierarchies
    guided = any(it.name == label and it.role != "quasi_identifier" for it in proposals)
    asked = wanted or Wanted(k=PROPOSED_K)
    method = asked.method or ("guided" if guided else "mondrian")
    recoding = "level" if method == "full-domain" else "ranges"
    suppression = 0.02 if asked.suppression is None else asked.suppression
    columns = list(_with_places(proposals, {label, *trees}))
    parts = [
        comment_of("\n".join((PROPOSED if wanted is None else MADE, HEAD))),
        "halfmask = 1",
        *_write_person(proposals, wanted),
        comment_of(INPUT),
        *_write_input(proposals),
        *([comment_of(findings)] if findings else []),
        *(
            _write_column(each, is_label=each.name == label, hierarchy=trees.get(each.name))
            for each in columns
        ),
        comment_of(GUARANTEES),
        *_write_guarantees(columns, asked),
        f'{comment_of(METHOD)}\n[method]\nname = "{method}"',
        f'{comment_of(RECODING)}\n[recoding]\nname = "{recoding}"',
        f"{comment_of(SUPPRESSION)}\n[suppression]\nmax_fraction = {suppression}",
        '[output]\nformat = "parquet"',
    ]
    return "\n\n".join(parts) + "\n"


def _with_places(proposals: Sequence[Proposal], apart: set[str | None]) -> Iterator[Proposal]:
    """Yield what a policy has a section of: two columns of points are one place.

    They stay two where one is the label, has a hierarchy of its own, or has another role.
    """
    roles = {each.name: each.role for each in proposals}
    written = set()
    for each in proposals:
        pair = each.pair
        if (
            pair is None
            or not apart.isdisjoint(pair.columns)
            or {roles[name] for name in pair.columns} not in ({"quasi_identifier"}, {"sensitive"})
        ):
            yield replace(each, pair=None)
        elif pair.place not in written:
            written.add(pair.place)
            yield _place_of(each, pair)


def _place_of(proposal: Proposal, pair: CoordinatePair) -> Proposal:
    x, y = map(toml_value, pair.columns)
    counted = {"distinct": pair.distinct, "share_unique": pair.share_unique}
    return replace(
        proposal,
        column=Column(name=pair.place, role=proposal.role, kind="geo"),
        reasons=(
            f"A place, of the points in the columns {x} and {y}: these have no section.",
            *pair.notes,
            *(() if proposal.certain else ("This is uncertain: look at it.",)),
        ),
        evidence=MappingProxyType({**proposal.evidence, **counted}),
    )


def _write_person(proposals: Sequence[Proposal], wanted: Wanted | None) -> Iterator[str]:
    """Yield the identifier that says whose row it is: as asked for, or as a proposal."""
    if wanted is not None:
        if wanted.person is not None:
            yield f"person = {toml_value(wanted.person)}"
        return
    found = proposed_person(proposals)
    if found is not None:
        yield _count_in(PERSON, found)
    for each in proposals:
        if each.role == "identifier" and numbers_households(each.name):
            yield _count_in(HOUSEHOLD, each)


def _count_in(text: str, proposal: Proposal) -> str:
    """Return a comment on an identifier with its values and its rows."""
    evidence = proposal.evidence
    rows = round(evidence["rows"] * (1 - evidence["missing_share"]))
    name, distinct = toml_value(proposal.name), int(evidence["distinct"])
    return comment_of(text.format(column=name, distinct=distinct, rows=rows))


def _write_input(proposals: Sequence[Proposal]) -> Iterator[str]:
    """Yield a section that says how to read texts that are numbers, dates or times, if any are."""
    forms = {it.name: it.form for it in proposals if it.form is not None}
    tables: dict[str, dict[str, str | int | None]] = {
        "date_formats": {name: it.date_format for name, it in forms.items() if it.date_format},
        "first_years": {name: it.first_year for name, it in forms.items() if it.first_year},
        "number_formats": {
            name: it.number_format for name, it in forms.items() if it.number_format
        },
        "dtypes": {
            name: it.dtype for name, it in forms.items() if not (it.date_format or it.number_format)
        },
    }
    lines = []
    for key, table in tables.items():
        if table:
            lines.append(f"{key} = {_inline_table(table)}")
    coerced = [it.name for it in proposals if it.coerced]
    if coerced:
        lines.append(f"coerce = {tomlkit.item(coerced).as_string()}")
    if lines:
        comment = DECLARED + ("\n" + CENTURIES if tables["first_years"] else "")
        comment += "\n" + COERCED if coerced else ""
        yield "\n".join((comment_of(comment), "[input]", *lines))


def _write_column(
    proposal: Proposal, *, is_label: bool, hierarchy: Mapping[str, object] | None
) -> str:
    evidence = proposal.evidence
    counted = (
        f"{evidence['distinct']:,} different values, {evidence['missing_share']:.1%} missing, "
        f"{evidence['share_unique']:.1%} of the rows with a value of their own."
    )
    lines = [
        comment_of("\n".join((*proposal.reasons, counted))),
        f"[columns.{tomlkit.key([proposal.name]).as_string()}]",
        f"role = {toml_value(proposal.role)}  # {ROLES[proposal.role]}",
        f"kind = {toml_value(proposal.kind)}",
    ]
    if is_label:
        lines.append("label = true")
    if proposal.normalize:
        lines.append(f"normalize = {tomlkit.item(list(proposal.normalize)).as_string()}")
    if proposal.pair is not None:
        x, y = map(toml_value, proposal.pair.columns)
        widths = ", ".join(f"{width:g}" for width in proposal.pair.widths)
        lines.append(POINTS.format(x=x, y=y, unit=proposal.pair.unit, widths=widths))
    elif hierarchy is not None:
        lines.append(f"hierarchy = {_inline_table(hierarchy)}")
    elif proposal.role == "quasi_identifier":
        lines.append(f"# {_hierarchy_of(proposal)}")
    if (mask := propose_mask(proposal)) is not None:
        lines.append(f"# {mask}")
    return "\n".join(lines)


def _hierarchy_of(proposal: Proposal) -> str:
    """Return the hierarchy that an owner may want for a column, as a line of TOML."""
    if proposal.evidence.get("looks_like_h3", 0.0) >= PATTERNS["h3"].least:
        return HEXAGONS
    is_zip = any(word.startswith("zip") for word in words_of(proposal.name))
    return ZIP3 if is_zip and proposal.kind == "geo" else HIERARCHIES[proposal.kind]


def _write_guarantees(proposals: Sequence[Proposal], wanted: Wanted) -> Iterator[str]:
    """Yield a section for k, and one for the diversity of each sensitive column."""
    yield f'[[guarantees]]\nmodel = "k-anonymity"\nk = {wanted.k}'
    sensitive = [it for it in proposals if it.role == "sensitive"]
    for proposal in sensitive:
        named = proposal.pair.columns[0] if proposal.pair is not None else proposal.name
        l = wanted.diversity.get(named) or proposed_diversity(proposal, wanted.k)
        if l is None:
            yield comment_of(
                f"No l-diversity is proposed for {toml_value(proposal.name)}: too few rows have "
                "another value than the most frequent one. Each group would need one of them, so "
                "few groups would be left."
            )
        else:
            yield "\n".join(
                (
                    "[[guarantees]]",
                    'model = "distinct-l-diversity"',
                    f"l = {l}",
                    f"column = {toml_value(proposal.name)}",
                )
            )
    if sensitive:
        yield comment_of(CLOSENESS.replace("{column}", toml_value(sensitive[0].name)))


def proposed_diversity(proposal: Proposal, k: int) -> int | None:
    """Return the l that the column's values can carry in groups of k, or ``None``.

    Each group needs a row that has none of the l - 1 most frequent values. Of the n / k groups only
    as many can be as there are such rows; by chance a group misses them unless there are more.
    """
    for l, share in ((3, "share_beyond_two"), (2, "share_beyond_one")):
        if proposal.evidence[share] * k >= ROWS_PER_GROUP:
            return l
    return None


def toml_value(value: object) -> str:
    """Return a value as TOML has it; what can't be seen of a text is escaped."""
    if not isinstance(value, str):
        return tomlkit.item(value).as_string()
    quoted = json.dumps(value, ensure_ascii=False)
    return "".join(it if it.isprintable() else f"\\U{ord(it):08X}" for it in quoted)


def _inline_table(table: Mapping[str, object]) -> str:
    """Return a table as TOML in one line."""
    inline = tomlkit.inline_table()
    inline.update(table)
    return inline.as_string()


def comment_of(text: str) -> str:
    """Return text as comment lines, long ones wrapped; what TOML forbids in them is escaped."""
    text = "".join(
        it if it.isprintable() or it == "\n" else it.encode("unicode_escape").decode("ascii")
        for it in text
    )
    lines: list[str] = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())]
        lines += textwrap.wrap(
            line,
            WIDTH,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    return "\n".join(f"# {line}".rstrip() for line in lines)


#: Fewer different numbers have no tails.
_MANY_NUMBERS: Final = 50
#: Of an identifier that joins tables nearly each row has its own value, or a person has several.
_FEWEST_OF_KEYS: Final = 0.05


def propose_mask(proposal: Proposal) -> str | None:
    """Return the mask that an owner may want for a column, as a line of TOML; else ``None``.

    Notes
    -----
    Proposed are pseudonyms for identifiers that can join tables, coding of the tails of numbers
    that are released, and coarsened dates. Quasi-identifiers get a hierarchy.
    """
    if proposal.role == "identifier":
        return _propose_pseudonym(proposal)
    if proposal.role == "quasi_identifier":
        return None
    if proposal.kind == "datetime":
        return 'mask = { name = "coarsened-dates", to = "month" }'
    if proposal.kind == "numeric" and proposal.evidence["distinct"] >= _MANY_NUMBERS:
        return 'mask = { name = "tails", high_share = 0.01 }'
    return None


def _propose_pseudonym(proposal: Proposal) -> str | None:
    rows = proposal.evidence["rows"] * (1 - proposal.evidence["missing_share"])
    if proposal.kind == "datetime" or proposal.evidence["distinct"] < _FEWEST_OF_KEYS * rows:
        return None
    return 'role = "insensitive", with mask = { name = "token" }: equal values stay equal'

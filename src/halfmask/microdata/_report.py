"""report.html: one page for a privacy officer, released with the data.

The page is one file without script, network, external font or image; its policy (CSP) forbids all
of them. Its chapters follow the order of ISO/IEC 27559:2022: context, data, identifiability
(guarantees and claims, risk, adversarial testing, when to look again), governance; usefulness
stands between the last two.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from halfmask.assess.risk import listed
from halfmask.plots.svg import Anchor, Bar, Chart, Word, without_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jinja2 import Environment

    from halfmask.assess.synthesis import Associations
    from halfmask.assess.utility import Distribution
    from halfmask.microdata._reporting import ColumnFact, GuaranteeFact, ReportFacts, SizeShare


_LINE = 17
_LABEL_LETTERS = 20


def class_size_chart(shares: Sequence[SizeShare], *, name: str) -> Chart:
    """Draw which share of the rows lives in classes of each size, before and after."""
    rows = tuple((share.label, share.before, share.after) for share in shares)
    width, height, floor, top = 720, 210, 168, 24
    step = width / max(len(rows), 1)
    tallest = max((max(before, after) for _, before, after in rows), default=0.0) or 1.0
    bars, words = [], []
    thick = min(step * 0.36, 46.0)
    for place, (label, before, after) in enumerate(rows):
        middle = (place + 0.5) * step
        for series, share, left in (
            ("before", before, middle - thick - 1),
            ("after", after, middle + 1),
        ):
            tall = share / tallest * (floor - top)
            bars.append(_bar(series, left, floor - tall, thick, tall))
            if share >= 0.0005:
                words.append(_word(percent(share), left + thick / 2, floor - tall - 5, "middle"))
        words.append(_word(label, middle, floor + 18, "middle", strong=True))
    words.append(_word("rows that share a class", width / 2, height - 4, "middle"))
    return Chart(
        name=name,
        title="Rows by the size of their class, before and after",
        description="; ".join(
            f"classes of {label}: {percent(before)} of the rows before, {percent(after)} after"
            for label, before, after in rows
        ),
        width=width,
        height=height,
        bars=tuple(bars),
        words=tuple(words),
        baseline=floor,
        outline="",
        rows=rows,
    )


def distribution_chart(column: str, picture: Distribution, *, name: str) -> Chart:
    """Draw a column before and after: upright bars for numbers, lying ones for categories."""
    rows = tuple(zip(picture.labels, picture.before, picture.after, strict=True))
    draw = _histogram if picture.kind == "numeric" else _ranking
    width, height, bars, words, outline = draw(rows)
    return Chart(
        name=name,
        title=f"{column}: shares of rows before and after",
        description=picture.sentence,
        width=width,
        height=height,
        bars=bars,
        words=words,
        baseline=height - 22 if picture.kind == "numeric" else None,
        outline=outline,
        rows=rows,
    )


def association_chart(found: Associations, *, name: str) -> Chart:
    """Draw how much each two columns say of each other: original below, released above.

    The area of a square is the association; squares that mirror each other at the diagonal are of
    the same two columns.
    """
    n, left, top = len(found.columns), 176, 20
    step = min(34.0, 520 / n)
    bars, words = [], []
    for i, column in enumerate(found.columns):
        middle = (i + 0.5) * step
        words.append(_word(f"{shortened(column, 22)} {i + 1}", left - 8, top + middle + 4, "end"))
        words.append(_word(str(i + 1), left + middle, top - 7, "middle"))
        for j in range(n):
            series, value = (
                ("before", found.original[i][j]) if j < i else ("after", found.released[i][j])
            )
            side = sqrt(value) * (step - 2) if i != j else 0.0
            x, y = left + (j + 0.5) * step, top + middle
            bars.append(_bar(series, x - side / 2, y - side / 2, side, side))
    return Chart(
        name=name,
        title="How much each two columns say of each other",
        description=found.sentence,
        width=round(left + n * step) + 8,
        height=round(top + n * step) + 8,
        bars=tuple(bars),
        words=tuple(words),
        baseline=None,
        outline="",
        rows=(),
    )


Rows = tuple[tuple[str, float, float], ...]
Drawing = tuple[int, int, tuple[Bar, ...], tuple[Word, ...], str]


def _histogram(rows: Rows) -> Drawing:
    width, height = 296, 170
    floor, top = height - 22, 18
    step = width / len(rows)
    tallest = max(max(before, after) for _, before, after in rows) or 1.0
    bars, path = [], [f"M0 {floor}"]
    for place, (_, before, after) in enumerate(rows):
        tall = after / tallest * (floor - top)
        bars.append(_bar("after", place * step + 0.75, floor - tall, step - 1.5, tall))
        level = floor - before / tallest * (floor - top)
        path.append(f"L{place * step:.1f} {level:.1f}L{(place + 1) * step:.1f} {level:.1f}")
    path.append(f"L{width} {floor}")
    words = [_word(f"highest bar {percent(tallest)}", width, 11, "end")]
    words.extend(_ticks(rows, step, floor + 15))
    return width, height, tuple(bars), tuple(words), "".join(path)


def _ticks(rows: Rows, step: float, y: float) -> list[Word]:
    """Return the ends of a few bins, the first and last always among them."""
    ends = [label.partition(" to ")[0] for label, *_ in rows]
    ends.append(rows[-1][0].partition(" to ")[2])
    last = len(ends) - 1
    pieces = min(4, last)
    places = sorted({round(last * piece / pieces) for piece in range(pieces + 1)})
    shown = [0]
    for place in places[1:-1]:  # a letter is six units wide; the first and last word lie inside
        half = 3 * len(ends[place]) + 6
        before = 6 * len(ends[0]) if shown == [0] else shown[-1] * step + 3 * len(ends[shown[-1]])
        after = last * step - 6 * len(ends[last])
        if before + half <= place * step <= after - half:
            shown.append(place)
    places = [*shown, last]
    return [
        _word(
            ends[place],
            place * step,
            y,
            "start" if place == 0 else "end" if place == last else "middle",
        )
        for place in places
    ]


def _ranking(rows: Rows) -> Drawing:
    width, left, right = 296, 122, 42
    largest = max(max(before, after) for _, before, after in rows) or 1.0
    bars, words = [], []
    for place, (label, before, after) in enumerate(rows):
        y = 4.0 + place * _LINE
        for series, share, top in (("before", before, y), ("after", after, y + 5.5)):
            bars.append(_bar(series, left, top, share / largest * (width - left - right), 5.0))
        words.append(_word(shortened(label, _LABEL_LETTERS), left - 8, y + 9.5, "end"))
        words.append(_word(percent(after), width, y + 9.5, "end"))
    return width, 6 + len(rows) * _LINE, tuple(bars), tuple(words), ""


def _bar(series: str, x: float, y: float, width: float, height: float) -> Bar:
    return Bar(
        series="before" if series == "before" else "after",
        x=round(x, 1),
        y=round(y, 1),
        width=round(width, 1),
        height=round(height, 1),
    )


def _word(text: str, x: float, y: float, anchor: Anchor, *, strong: bool = False) -> Word:
    return Word(text=text, x=round(x, 1), y=round(y, 1), anchor=anchor, strong=strong)


def percent(share: float) -> str:
    """Return a fraction for readers: never 0 % or 100 % where it is only near."""
    if 0.0 < share < 0.001:
        return "< 0.1%"
    if 0.999 < share < 1.0:
        return "> 99.9%"
    return "100%" if share == 1.0 else "0%" if share == 0.0 else f"{share:.1%}"


def shortened(text: str, letters: int) -> str:
    """Return the text, or its beginning with an ellipsis."""
    return text if len(text) <= letters else text[: letters - 1].rstrip() + "…"


MAX_COLUMNS = 200
MAX_PICTURES = 24
_NAME_LETTERS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number before and after, with the sentence that explains it."""

    name: str
    before: float
    after: float
    sentence: str


def render_report(facts: ReportFacts) -> str:
    """Return the report as one HTML document.

    Notes
    -----
    **Guarantees.** The page holds no script, no address of another page and nothing that a browser
    would fetch. Every text goes through HTML escaping; control and direction characters in names
    are replaced, so a column's name can't rearrange the page. Nothing is shown that ``facts`` don't
    hold, and their pictures show no value of few rows (:mod:`halfmask.assess.utility`).

    **Edge cases.** Of more than 200 columns the first 200 are listed, and of more than 24 pictures
    the 24 of the columns that lost most; the page states how many are missing.
    """
    template = _environment().get_template("report.html.j2")
    pictured = _pictured(facts.columns)
    return template.render(
        facts=facts,
        risk_figures=_risk_figures(facts),
        size_chart=class_size_chart(facts.class_sizes, name="sizes") if facts.class_sizes else None,
        pictures=[_picture(*pair, place) for place, pair in enumerate(pictured)],
        min_count=max((picture.min_count for _, picture in pictured), default=1),
        percent=percent,
        decimal=lambda value: f"{value:.3f}",
        n_pictures_left_out=sum(c.distribution is not None for c in facts.columns) - len(pictured),
        listed=facts.columns[:MAX_COLUMNS],
        n_columns_left_out=max(len(facts.columns) - MAX_COLUMNS, 0),
        quasi_identifiers=[c.name for c in facts.columns if c.role == "quasi_identifier"],
    )


@functools.cache  # it compiles its template once
def _environment() -> Environment:
    """Return a template environment that escapes everything and knows how numbers are read."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 # 30 ms
    from markupsafe import Markup  # noqa: PLC0415 # loads with jinja2

    environment = Environment(
        loader=PackageLoader("halfmask.microdata", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_controls,
    )
    environment.filters.update(
        percent=percent,
        one_in=_one_in,
        name=lambda text: shortened(text, _NAME_LETTERS),
        level=_level,
        svg=lambda chart: Markup(chart.svg()),  # noqa: S704 # its words are escaped there
        parameters=_parameters,
        listed=lambda names: listed([shortened(each, _NAME_LETTERS) for each in names]),
        points=lambda value: f"{value * 100:+.1f}",
    )
    return environment


def _without_controls(value: object) -> object:
    """Return a text with its control and direction characters replaced; anything else unchanged.

    Subclasses of str are what jinja2 already escaped.
    """
    if type(value) is not str:
        return value
    return without_controls(value)


def _one_in(chance: float) -> str:
    """Return a chance as people say it: "1 in 10"."""
    if chance <= 0.0:
        return "none"
    odds = 1.0 / chance
    return f"1 in {odds:,.0f}" if odds >= 9.95 or odds == round(odds) else f"1 in {odds:,.1f}"


def _level(value: float) -> str:
    """Return a counted level: whole numbers whole, others with as many digits as matter."""
    whole = math.isfinite(value) and value == round(value)
    return f"{value:,.0f}" if whole else f"{value:,.4g}"


def _parameters(guarantee: GuaranteeFact) -> str:
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else _level(value)}"
        for name, value in guarantee.parameters.items()
    )


def _risk_figures(facts: ReportFacts) -> list[Figure]:
    """Return the risk numbers, each with its sentence; only those that were counted."""
    before, after = facts.risk_before, facts.risk_after
    persons = (
        " All risks here count persons, each once in a class, and no rows."
        if facts.of_persons
        else ""
    )
    figures = [
        Figure(
            name="Prosecutor, highest",
            before=before.prosecutor_highest,
            after=after.prosecutor_highest,
            sentence="An attacker who knows that a person is in the table, all of their "
            "quasi-identifiers and no other column: the chance to find the row of the person who "
            f"is easiest to find.{persons}",
        ),
        Figure(
            name="Prosecutor, average",
            before=before.prosecutor_average,
            after=after.prosecutor_average,
            sentence="The same attacker: the chance for a person drawn at random from the table.",
        ),
    ]
    if after.journalist_highest is not None and before.journalist_highest is not None:
        figures.append(
            Figure(
                name="Journalist, highest",
                before=before.journalist_highest,
                after=after.journalist_highest,
                sentence="An attacker who picks a row and looks for its quasi-identifiers among "
                f"the {facts.population or 0:,} people of the population: the chance to be right "
                "for the row that is easiest to place.",
            )
        )
    if after.journalist_average is not None and before.journalist_average is not None:
        figures.append(
            Figure(
                name="Journalist, average",
                before=before.journalist_average,
                after=after.journalist_average,
                sentence="The same attacker: the chance for a row drawn at random.",
            )
        )
    return [
        *figures,
        Figure(
            name="Marketer",
            before=before.marketer,
            after=after.marketer,
            sentence="An attacker who matches all rows against a list of everybody in the table by "
            "quasi-identifiers: the share of rows that is expected to be matched right.",
        ),
        Figure(
            name="Unique rows",
            before=before.unique_fraction,
            after=after.unique_fraction,
            sentence="The share of rows that no other row equals on the quasi-identifiers.",
        ),
    ]


def _pictured(columns: tuple[ColumnFact, ...]) -> list[tuple[ColumnFact, Distribution]]:
    """Return the columns whose pictures are shown, in the table's order."""
    having = [(column, column.distribution) for column in columns if column.distribution]
    most = sorted(having, key=lambda pair: -(pair[0].loss.loss if pair[0].loss else 0.0))
    kept = {id(column) for column, _ in most[:MAX_PICTURES]}
    return [pair for pair in having if id(pair[0]) in kept]


def _picture(
    column: ColumnFact, distribution: Distribution, place: int
) -> tuple[ColumnFact, Chart]:
    name = shortened(column.name, _NAME_LETTERS)
    return column, distribution_chart(name, distribution, name=f"picture-{place}")

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
from typing import TYPE_CHECKING

from halfmask.assess.risk import listed
from halfmask.microdata._report_charts import (
    class_size_chart,
    distribution_chart,
    percent,
    shortened,
)
from halfmask.plots.words import without_controls

if TYPE_CHECKING:
    from jinja2 import Environment

    from halfmask.assess.utility import Distribution
    from halfmask.microdata._report_facts import ColumnFact, GuaranteeFact, ReportFacts
    from halfmask.plots.chart import Chart

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

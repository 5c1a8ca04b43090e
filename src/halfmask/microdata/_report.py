"""report.html of classes: one page for a privacy officer, released with the data.

Its chapters follow the order of ISO/IEC 27559:2022: context, data, identifiability (guarantees and
claims, risk, adversarial testing, when to look again), governance; usefulness stands between the
last two.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING

from halfmask._validation import fraction
from halfmask.assess.risk import listed
from halfmask.microdata.charts import (
    class_size_chart,
    class_size_shares,
    distribution_chart,
    place_map,
)
from halfmask.release import BarsBlock, PicturesBlock, TableBlock, TextBlock, html_page
from halfmask.release.briefing import moment
from halfmask.release.page import (
    ChangeBlock,
    ChapterBlock,
    StyledCell,
    checked_blocks,
    percent,
    shortened,
)
from halfmask.release.receiving import reading_lines

if TYPE_CHECKING:
    from halfmask.assess.utility import ModelUtility, Score
    from halfmask.microdata._reporting import ColumnFact, GuaranteeFact, ReportFacts
    from halfmask.plots.svg import Chart
    from halfmask.release.page import AnyBlock

MAX_COLUMNS = 200
MAX_PICTURES = 24
_MOST_NAMED = 12
_MOST_GUARANTEES = 5
_BEFORE_AFTER = ("before", "after")
_CLAIM_COLUMNS = (
    *("Guarantee", "What it means", "Required", "Counted", "Missing as any value", "On disk"),
)
_SCORES = {
    "accuracy": ("Accuracy", "Share of the test rows that are predicted right."),
    "balanced_accuracy": (
        "Balanced accuracy",
        "The same share, every value of the label weighing alike.",
    ),
    "auc": (
        "Area under the ROC curve",
        "Chance that a row with the value is ranked above a row without it; 0.5 is guessing.",
    ),
    "r2": ("R²", "Share of the label's variance that is explained; 0 is always saying the mean."),
}
_RISK_NAMES = {"marketer.linked": "Marketer", "uniqueness.share": "Unique rows"}
_RISKS = {
    "prosecutor.highest": "An attacker who knows that a person is in the table, all of their "
    "quasi-identifiers and no other column: the chance to find the row of the person who is "
    "easiest to find.{persons}",
    "prosecutor.average": "The same attacker: the chance for a person drawn at random from the "
    "table.",
    "journalist.highest": "An attacker who picks a row and looks for its quasi-identifiers among "
    "the {population:,} people of the population: the chance to be right for the row that is "
    "easiest to place.",
    "journalist.average": "The same attacker: the chance for a row drawn at random.",
    "marketer.linked": "An attacker who matches all rows against a list of everybody in the table "
    "by quasi-identifiers: the share of rows that is expected to be matched right.",
    "uniqueness.share": "The share of rows that no other row equals on the quasi-identifiers.",
}


def render_report(facts: ReportFacts) -> str:
    """Return the report as one HTML document.

    Nothing is shown that ``facts`` don't hold, and their pictures show no value of few rows
    (:mod:`halfmask.assess.utility`). Of more than 200 columns the first 200 are listed, and of more
    than 24 pictures the 24 of the columns that lost most; the page states how many are missing.
    """
    software = (f" · {name} {version}" for name, version in facts.manifest.software.items())
    cards = [_claims_card(facts), _risk_card(facts), _model_card(facts), _rows_card(facts)]
    verdict, *warnings = _notices(facts)
    return html_page(
        "Release report",
        [
            verdict,
            *facts.summary,
            *warnings,
            ChapterBlock("", cards, style="cards"),
            ChapterBlock("1. Context", list(_context(facts))),
            ChapterBlock("2. Data", list(_data(facts))),
            ChapterBlock("3. Identifiability", list(_identifiability(facts))),
            ChapterBlock("4. Usefulness", list(_usefulness(facts))),
            ChapterBlock("5. Governance", list(_governance(facts))),
        ],
        about=f"Made {moment(facts.manifest.created)}{''.join(software)}",
        footer="The chapters follow the order of ISO/IEC 27559:2022. This page states what was "
        "counted, under the named models and parameters; it is no legal opinion, and it does not "
        "say that nobody can be found.",
    )


def _notices(facts: ReportFacts) -> Iterator[AnyBlock]:
    asked = len(facts.guarantees) + len(facts.areas)
    missed = sum(not it.holds for it in facts.guarantees)
    if not asked:
        title = "No guarantee was asked for."
        sentence = "This release has no claim that could be counted."
    elif missed:
        title = f"{missed} of {asked} claims could not be verified on disk."
        sentence = "Do not hand this over. The counts below say which claim fails, and by how much."
    else:
        title = f"{'The claim was' if asked == 1 else f'All {asked} claims were'} verified on disk."
        sentence = (
            "A second program, which shares no code with the one that made the files, read them "
            "and counted again."
        )
    yield TextBlock(title, [sentence], "good" if asked and not missed else "bad")
    for warning in (facts.risk.columns.warning, *facts.utility.detail.warnings):
        if warning:
            yield TextBlock("Warning", [warning], "warned")


def _claims_card(facts: ReportFacts) -> ChapterBlock:
    rows = [
        (
            it.model,
            StyledCell(f"{_parameters(it)}{_column(it, ', ')}", "soft"),
            StyledCell(f"{'✓' if it.holds else '✗'} counted {_level(it.worst)}", _style(it)),
        )
        for it in facts.guarantees[:_MOST_GUARANTEES]
    ]
    names = [shortened(it.name) for it in facts.columns if it.role == "quasi_identifier"]
    which = "the quasi-identifier" if len(names) == 1 else f"all {len(names)} quasi-identifiers"
    more = "".join(_more(len(names) - _MOST_NAMED, " and {} more"))
    sentences = [
        *_more(len(facts.guarantees) - len(rows), "and {} more, below."),
        f"A class is the rows that agree in {which}: {', '.join(names[:_MOST_NAMED])}{more}.",
        *facts.areas,
    ]
    table = TableBlock("", (), rows or [("Nothing.",)])
    return ChapterBlock("Claims", [table, TextBlock("", sentences, "soft")])


def _risk_card(facts: ReportFacts) -> ChapterBlock:
    before, after, columns = facts.risk.before, facts.risk.after, facts.risk.columns
    highest, average = after.prosecutor.highest.value, after.prosecutor.average.value
    sentence = (
        "For an attacker who knows all quasi-identifiers of a person in the table and no other "
        f"column: at worst {_one_in(highest)}, on average {_one_in(average)}."
    )
    sentences = [sentence]
    if (same := columns.unchanged) is not None:
        sentences.append(
            f"For an attacker who knows the columns that are {columns.treatment}: "
            f"{percent(same.share_unique)} of the rows are unique, {percent(same.share_under_k)} "
            f"in classes under {columns.k}."
        )
    if facts.places:
        named = ", ".join(shortened(it.column) for it in facts.places[:_MOST_NAMED])
        sentences.append(f"Before: by the finest areas of {named}. Raw places single out more.")
    shares = {
        "average, before": before.prosecutor.average.value,
        "average, after": average,
        "unique rows, before": before.uniqueness.share.value,
        "unique rows, after": after.uniqueness.share.value,
    }
    return ChapterBlock(
        "Chance to find a known person's row, at worst",
        [
            ChangeBlock(percent(before.prosecutor.highest.value), percent(highest)),
            BarsBlock("", shares, _BEFORE_AFTER * 2),
            TextBlock("", sentences, "soft"),
        ],
    )


def _model_card(facts: ReportFacts) -> ChapterBlock:
    model, label, loss = facts.utility.model, facts.utility.label, facts.utility.loss
    if model is None:
        none = "The policy names no label, so no model was trained."
        change = ChangeBlock("", percent(1 - loss.loss), "of the quasi-identifiers' detail")
        text = TextBlock("", [loss.loss_sentence, none], "soft")
        return ChapterBlock("What a learner keeps", [change, text])
    raw, released, least = (getattr(it, model.measure) or 0.0 for it in _scores(model))
    shares = {"trained on raw": raw, "trained on release": released, "without learning": least}
    low, middle, high = (f"{it * 100:+.1f}" for it in (model.low, model.difference, model.high))
    sentence = (
        f"Difference {middle} points, between {low} and {high} with {model.confidence:.0%} "
        f"confidence{'' if label is None else f'; predicting {shortened(label)}'}."
    )
    if model.kept is not None:
        sentence += f" Of what a model of raw rows adds to guessing, {model.kept:.0%} is kept."
    of_labels = model.measure == "accuracy"
    unit = "right on held-out rows" if of_labels else "of the variance explained"
    return ChapterBlock(
        "What a learner keeps",
        [
            ChangeBlock(percent(raw), percent(released), unit),
            BarsBlock(
                "", {it: max(at, 0.0) for it, at in shares.items()}, (*_BEFORE_AFTER, "none")
            ),
            TextBlock("", [sentence], "soft"),
            TextBlock("", model.warnings, "warning"),
        ],
    )


def _rows_card(facts: ReportFacts) -> ChapterBlock:
    sizes, lost = facts.utility.class_sizes, facts.utility.loss.loss
    sentence = (
        f"{sizes.classes:,} classes of {sizes.average_class_size:,.1f} rows on average. A released "
        f"cell covers on average {percent(lost)} of the width that its column had. "
        f"{_dropped(facts, 'column' if facts.n_dropped == 1 else 'columns')}"
    )
    shares = {"rows left out": sizes.suppressed_fraction, "detail given up": lost}
    return ChapterBlock(
        "Rows and detail",
        [
            ChangeBlock(f"{facts.rows_in:,}", f"{facts.rows_out:,}", "rows"),
            BarsBlock("", shares, ("after", "after")),
            TextBlock("", [sentence], "soft"),
        ],
    )


def _context(facts: ReportFacts) -> Iterator[AnyBlock]:
    made = (
        "This folder holds a table of people that was changed before it was handed over. The rows "
        f"were grouped into classes by {facts.method}; {facts.recoding}. "
        f"{facts.left_out_sentence}"
    )
    about = (
        "The classes, and the risk before and after, are about an attacker who knows the "
        "quasi-identifiers of people, has the released files, and knows no other column. The table "
        "of released columns in chapter 3 is about an attacker who knows other columns. halfmask "
        "doesn't know who will receive the files, under which contract and with which safeguards. "
        "The owner judges that."
    )
    yield TextBlock("", [made, about])


def _data(facts: ReportFacts) -> Iterator[AnyBlock]:
    losses = facts.utility.loss.columns
    rows = []
    for it in facts.columns[:MAX_COLUMNS]:
        given_up = StyledCell("not measured", "soft")
        if it.name in losses:
            lost = losses[it.name].loss
            given_up = StyledCell(percent(lost), shares=[(lost, "after")])
        role = it.role.replace("_", "-")
        rows.append((shortened(it.name), role, it.kind, it.treatment, given_up))
    yield TableBlock(
        "",
        ("Column", "Role", "Kind", "What happened", "Detail given up"),
        rows,
        "The released columns, their roles, and what happened to each. " + _dropped(facts, "more"),
    )
    more = _more(len(facts.columns) - len(rows), "{} more columns are listed in manifest.json.")
    sentence = (
        "Detail given up: the width of a released cell by the width that the column had, on "
        "average over all rows. A row that was left out counts as all of it."
    )
    yield TextBlock("", [*more, sentence], "soft")
    yield from reading_lines(facts.manifest)


def _identifiability(facts: ReportFacts) -> Iterator[AnyBlock]:
    yield _guarantees(facts)
    yield _risks(facts)
    yield _known_columns(facts)
    if advice := facts.risk.columns.advice:
        yield TextBlock("", [advice])
    if shares := class_size_shares(facts.risk.before_sizes, facts.risk.after_sizes):
        caption = (
            "Share of the rows by how many rows agree in all quasi-identifiers. A row in a class "
            "of 1 is alone; the further right, the more company."
        )
        yield PicturesBlock(
            "How many people share a class",
            "",
            [("", class_size_chart(shares, name="sizes"), caption)],
            series=_BEFORE_AFTER,
            numbers="Class of",
        )
    attacked = (
        "The numbers above are counts of classes: they say how many rows look alike, not what an "
        "attacker with other knowledge achieves."
    )
    yield TextBlock("Adversarial testing", [facts.attack, attacked])
    weaknesses = facts.manifest.weaknesses or ["No weakness was named."]
    yield TextBlock("What is known not to be stopped", weaknesses, "list")
    if facts.unprotected:
        yield TextBlock("What was not protected against", facts.unprotected, "list")
    again = (
        "When another release of the same people is made, when the receiver gets other data that "
        "could be matched with it, or when the population that it was drawn from changes."
    )
    alone = " Two releases of one table can be compared with each other, and nothing here counts "
    yield from checked_blocks(facts.checked)
    yield TextBlock("When to look again", [again if facts.checked else f"{again}{alone}that."])


def _guarantees(facts: ReportFacts) -> AnyBlock:
    rows = []
    for it in facts.guarantees:
        wildcard = StyledCell("not counted", "soft")
        if it.achieved_wildcard is not None:
            wildcard = StyledCell(_level(it.achieved_wildcard), "is")
        rows.append(
            (
                f"{it.model}\n{_parameters(it)}{_column(it, chr(10))}",
                f"{it.sentence} {it.classes:,} classes, {facts.rows_out:,} rows.",
                f"{it.bound} {_level(it.required)}",
                StyledCell(_level(it.achieved), "is"),
                wildcard,
                StyledCell("✓ confirmed" if it.holds else "✗ not met", _style(it)),
            )
        )
    return TableBlock(
        "Guarantees and claims",
        _CLAIM_COLUMNS,
        rows,
        "Counted in the files on disk. A missing cell is judged twice, as a value of its own and "
        "as if it could be any value; the worse count decides.",
    )


def _risks(facts: ReportFacts) -> AnyBlock:
    people = facts.risk.population_rows
    caption = (
        "No population was given, so journalist risk is not stated, and the marketer's list is the "
        "table itself."
    )
    if people is not None:
        caption = f"Journalist risk is counted in a population of {people:,} people."
    persons = ""
    if facts.of_persons:
        persons = " All risks here count persons, each once in a class, and no rows."
    both = (facts.risk.before, facts.risk.after)
    rows = []
    for place, sentence in _RISKS.items():
        if place.startswith("journalist") and any(it.journalist is None for it in both):
            continue
        before, after = (attrgetter(f"{place}.value")(it) for it in both)
        for share in (before, after):
            fraction(owner="ReportFacts", share=share)
        rows.append(
            (
                _RISK_NAMES.get(place, place.capitalize().replace(".", ", ")),
                StyledCell(percent(before), "was"),
                StyledCell(percent(after), "is"),
                StyledCell("", shares=[(before, "before"), (after, "after")]),
                sentence.format(persons=persons, population=people or 0),
            )
        )
    columns = ("Risk", "Before", "After", "", "What it says")
    return TableBlock("Risk before and after", columns, rows, caption)


def _known_columns(facts: ReportFacts) -> AnyBlock:
    columns = facts.risk.columns
    known = [(f"all {len(columns.every.columns)} released columns", columns.every)]
    if (same := columns.unchanged) is not None:
        known.append((f"the {len(same.columns)} that are {columns.treatment}", same))
    known += [(listed([shortened(name) for name in it.columns]), it) for it in columns.few]
    counted = "Counted over all released rows"
    how = counted if columns.exact else "Estimated on a random part of the classes"
    return TableBlock(
        "Risk for an attacker who knows other columns",
        ("The attacker knows", "Unique rows", f"Rows in classes under k = {columns.k}"),
        [
            (
                name,
                StyledCell(percent(it.share_unique), "is"),
                StyledCell(percent(it.share_under_k), "is"),
            )
            for name, it in known
        ],
        f"No class covers these columns. {how}. A missing cell counts as one more value. The small "
        "sets are the worst that a search found.",
    )


def _usefulness(facts: ReportFacts) -> Iterator[AnyBlock]:
    loss, sizes = facts.utility.loss, facts.utility.class_sizes
    size, left_out = f"{sizes.average_class_size:,.1f}", percent(sizes.suppressed_fraction)
    measures = [
        ("Granularity loss", f"{loss.loss:.3f}", loss.loss_sentence),
        ("Normalized certainty penalty", f"{loss.ncp:.3f}", loss.ncp_sentence),
        ("Discernibility", f"{sizes.discernibility:,}", sizes.discernibility_sentence),
        ("Average class size", size, sizes.average_class_size_sentence),
        *facts.utility.measures.rows,
        *(each.row for each in facts.utility.places),
        ("Rows left out", left_out, facts.left_out_sentence),
    ]
    yield TableBlock(
        "",
        ("Measure", "Value", "What it says"),
        [(name, StyledCell(value, "is"), sentence) for name, value, sentence in measures],
        "What is left to learn from, and how it was measured.",
    )
    if facts.utility.model is not None:
        yield from _model(facts.utility.model)
    yield from _pictures(facts)
    yield from _maps(facts)


def _model(model: ModelUtility) -> Iterator[AnyBlock]:
    yield TextBlock("A model trained on the release", [model.sentence])
    yield TextBlock("", model.warnings, "warning")
    rows = []
    for measure, (name, sentence) in _SCORES.items():
        found = [getattr(it, measure) for it in _scores(model)]
        shown = [
            "" if it is None else percent(it) if "accuracy" in measure else f"{it:.3f}"
            for it in found
        ]
        if found[0] is not None:
            rows.append(
                (name, StyledCell(shown[0], "was"), StyledCell(shown[1], "is"), shown[2], sentence)
            )
    yield TableBlock(
        "",
        ("Score", "Trained on raw", "Trained on release", "Without learning", "What it says"),
        rows,
        f"{model.learner}; {model.train_rows:,} raw or {model.released_rows:,} released rows to "
        f"learn from, {model.test_rows:,} raw rows to be tested on.",
    )


def _pictures(facts: ReportFacts) -> Iterator[AnyBlock]:
    """Yield the pictures of the columns that lost most, in the table's order."""
    found, losses = facts.utility.distributions, facts.utility.loss.columns
    having = [it for it in facts.columns if it.name in found]
    most = sorted(having, key=lambda it: -losses[it.name].loss if it.name in losses else 0.0)
    kept = {it.name for it in most[:MAX_PICTURES]}
    pictures: list[tuple[str, Chart, str]] = []
    for it in (it for it in having if it.name in kept):
        name, picture = shortened(it.name), found[it.name]
        chart = distribution_chart(name, picture, name=f"picture-{len(pictures)}")
        apart = f"{percent(picture.distance)} of the rows would have to change bars to match."
        pictures.append((name, chart, f"{it.treatment}\n{apart}"))
    if pictures:
        yield PicturesBlock(
            "Columns before and after", "", pictures, True, _BEFORE_AFTER, numbers="Value"
        )
        yield _how_pictured(max(found[name].min_count for name in kept))
    without = [it for it in facts.columns if it.name not in kept]
    if without:
        places = {it.column for it in facts.places}
        rows = [
            (shortened(it.name), _why_unpictured(it, found, places)) for it in without[:MAX_COLUMNS]
        ]
        more = "".join(_more(len(without) - len(rows), "{} more columns are not pictured."))
        yield TableBlock("Columns without a picture", ("Column", "Why"), rows, more)


def _why_unpictured(it: ColumnFact, found: Collection[str], places: Collection[str]) -> str:
    if it.name in found:
        return f"Only the {MAX_PICTURES} columns that lost most are pictured."
    if it.name in places:
        return "Its areas are on a map, below."
    if it.role == "quasi_identifier":
        return "Too few rows share a value, or a range of values, for two bars."
    if it.treatment == "released unchanged":
        return "It is released unchanged: both pictures would be of the same cells."
    return "Masks changed it before classes were found. Only quasi-identifiers are compared."


def _how_pictured(least: int) -> TextBlock:
    sentence = (
        "A range is spread evenly over its width, a set evenly over its members. No bar shows "
        f"fewer than {least:,} raw rows: bars of fewer are joined with others or left out, and "
        "counts are rounded, so that a picture shows no single row."
    )
    return TextBlock("", [sentence], "soft")


def _maps(facts: ReportFacts) -> Iterator[AnyBlock]:
    """Yield a map of the areas of each place, which the release has as GeoJSON, too."""
    for number, it in enumerate(facts.places):
        column = shortened(it.column)
        drawn = place_map(column, it.text, name=f"map-{number}")
        nowhere = facts.rows_out - sum(int(area.count or 0) for area in drawn.areas)
        caption = f"{len(drawn.areas):,} areas. Their outlines are in {it.name}."
        caption += "".join(_more(nowhere, " {} rows have no area: their place is * or missing."))
        yield PicturesBlock(f"Areas of {column}", "", [("", drawn, caption)], series=("", ""))


def _governance(facts: ReportFacts) -> Iterator[AnyBlock]:
    sentence = (
        "A recipient of this folder can verify every claim with halfmask verify and the folder's "
        "path. The files and their hashes:"
    )
    yield TextBlock("", [sentence])
    rows = [
        (it.name, f"{it.n_rows:,}", f"{it.n_bytes:,}", StyledCell(it.sha256, "code"))
        for it in facts.manifest.files
    ]
    rows += [
        (it.name, "", f"{len(it.text.encode()):,}", StyledCell(it.sha256, "code"))
        for it in facts.places
    ]
    caption = "The hash changes if one bit of the file does."
    yield TableBlock("", ("File", "Rows", "Bytes", "sha256"), rows, caption)
    yield from facts.record


def _scores(model: ModelUtility) -> tuple[Score, Score, Score]:
    return model.raw, model.released, model.majority


def _more(n: int, sentence: str) -> list[str]:
    return [sentence.format(f"{n:,}")] if n > 0 else []


def _dropped(facts: ReportFacts, noun: str) -> str:
    return f"{facts.n_dropped} {noun} {'was' if facts.n_dropped == 1 else 'were'} dropped."


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


def _column(guarantee: GuaranteeFact, before: str) -> str:
    return "" if guarantee.column is None else f"{before}on {shortened(guarantee.column)}"


def _style(guarantee: GuaranteeFact) -> str:
    return "yes" if guarantee.holds else "no"


def _parameters(guarantee: GuaranteeFact) -> str:
    return ", ".join(
        f"{name} = {value if isinstance(value, str) else _level(value)}"
        for name, value in guarantee.parameters.items()
    )

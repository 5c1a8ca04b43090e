"""The report is one closed, readable page that shows what was counted and nothing else."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from types import SimpleNamespace

import numpy as np
import pytest

from halfmask._errors import ParameterError
from halfmask.assess.risk import ColumnSetRisk, ReleasedColumnsRisk
from halfmask.assess.utility import (
    CellExtents,
    ColumnExtents,
    ModelUtility,
    Score,
    categorical_distribution,
    class_size_utility,
    information_loss,
    numeric_distribution,
)
from halfmask.claims import DataFile, Manifest
from halfmask.microdata._class_measures import ClassMeasures
from halfmask.microdata._detail_kept import DetailKept, GuaranteeCost
from halfmask.microdata._report import render_report
from halfmask.microdata._reporting import ColumnFact, GuaranteeFact, ReportFacts
from halfmask.microdata.evaluation import ReleaseRisk, ReleaseUtility
from halfmask.release import html_page

VOID = {"meta", "br", "link", "img", "input", "hr"}
HOSTILE = "<script>alert('x')</script>\"><img src=http://evil.example onerror=alert(1)>\u202e\x00"
CANARY = "zz-canary-zz"


def guarantee(**changes):
    fields = {
        "model": "k-anonymity",
        "parameters": {"k": 10},
        "column": None,
        "sentence": "Every row agrees with at least 9 others.",
        "required": 10.0,
        "bound": "at least",
        "achieved": 12.0,
        "achieved_wildcard": 11.0,
        "holds": True,
        "classes": 2,
    }
    return GuaranteeFact(**{**fields, **changes})


def model_of(task="classification"):
    raw, released, majority = (
        Score(accuracy=value, balanced_accuracy=value - 0.01, auc=value + 0.02)
        if task == "classification"
        else Score(r2=value)
        for value in (0.871, 0.853, 0.761)
    )
    return ModelUtility(
        task=task,
        learner="HistGradientBoosting",
        train_rows=39_074,
        released_rows=39_043,
        test_rows=9_768,
        raw=raw,
        released=released,
        majority=majority,
        difference=-0.018,
        low=-0.022,
        high=-0.014,
        confidence=0.95,
    )


def released_columns(*, unique=21, under_k=42):
    def counted(*columns, unique, under_k):
        return ColumnSetRisk(columns=columns, rows=42, unique=unique, under_k=under_k)

    return ReleasedColumnsRisk(
        k=10,
        exact=True,
        every=counted("age", "city", "pay", "job", unique=40, under_k=42),
        unchanged=counted("pay", "job", unique=unique, under_k=under_k),
        few=(counted("pay", unique=7, under_k=under_k),) if under_k else (),
    )


def column(name, role, kind, treatment):
    return ColumnFact(name=name, role=role, kind=kind, treatment=treatment)


def risk_of(highest, average, marketer, unique, journalist=None):
    """Return what is shown of a `Reidentification`."""

    def counted(**values):
        return SimpleNamespace(**{it: SimpleNamespace(value=at) for it, at in values.items()})

    return SimpleNamespace(
        prosecutor=counted(highest=highest, average=average),
        marketer=counted(linked=marketer),
        uniqueness=counted(share=unique),
        journalist=journalist and counted(highest=journalist[0], average=journalist[1]),
    )


def facts_of(*, risk=None, utility=None, manifest=None, **changes):
    """Return the facts of a small release, with some fields of them or of their parts changed."""
    sizes = np.array([12, 30])
    raw = np.concatenate([np.repeat(np.arange(20.0, 60.0), 10), [98765.0]])
    age = ColumnExtents(
        low=np.array([20.0, 40.0]),
        high=np.array([39.0, 59.0]),
        domain_low=20,
        domain_high=59,
        categorical=False,
    )
    loss = information_loss(CellExtents(columns={"age": age}, sizes=sizes), suppressed=3)
    city = categorical_distribution(
        {"Bern": 30.0, "Genève": 12.0, CANARY: 3.0},
        {"Bern": 30.0, "Genève": 12.0},
        in_release={"Bern", "Genève"},
        min_count=10,
    )
    age_picture = numeric_distribution(raw, age, sizes, min_count=10)
    risks = {
        "before": risk_of(1.0, 0.63, 0.61, 0.52),
        "after": risk_of(0.0833, 0.047, 0.045, 0.0),
        "before_sizes": np.array([1] * 20 + [25]),
        "after_sizes": sizes,
        "columns": released_columns(),
    }
    used = {
        "loss": loss,
        "class_sizes": class_size_utility(sizes, suppressed=3, k=10),
        "measures": ClassMeasures(
            non_uniform_entropy=0.25, ambiguity=7.5, squared_error=0.125, precision=0.75
        ),
        "distributions": {"age": age_picture, "city": city},
        "detail": DetailKept(average=0.9, columns={"age": 0.9, "city": 0.8}, costs=()),
        "model": model_of(),
        "label": "pay",
    }
    file = DataFile(
        name="data/part-00000.parquet", format="parquet", sha256="cd" * 32, n_bytes=999, n_rows=42
    )
    stated = {
        "kind": "microdata",
        "created": "2026-11-21T09:00:00Z",
        "software": {"halfmask": "0.1.0"},
        "policy_sha256": "ab" * 32,
        "files": (file,),
        "claims": (),
        "weaknesses": ("Homogeneity: what a whole class has in common is not hidden.",),
    }
    fields = {
        "manifest": Manifest(**{**stated, **(manifest or {})}),
        "guarantees": (guarantee(),),
        "rows_in": 45,
        "rows_out": 42,
        "method": "Mondrian, strict",
        "recoding": "for each class the range or set of its values is written",
        "risk": ReleaseRisk(**{**risks, **(risk or {})}),
        "utility": ReleaseUtility(**{**used, **(utility or {})}),
        "columns": (
            column("age", "quasi_identifier", "numeric", "written as ranges"),
            column("city", "quasi_identifier", "categorical", "written as sets"),
            column("pay", "sensitive", "numeric", "released unchanged"),
        ),
        "n_dropped": 2,
        "unprotected": ("Insensitive columns are written as they were.",),
    }
    return ReportFacts(**{**fields, **changes})


class Page(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.words, self.problems = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if len(attrs) != len(dict(attrs)):
            self.problems.append(f"{tag} has an attribute twice")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):  # noqa: ARG002 # the base class calls it so
        self.problems.append(f"{tag} closes itself")

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"{tag} closes what isn't open")

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return re.sub(r"\s+", " ", " ".join(self.words))

    def named(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def html():
    return render_report(facts_of())


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


def test_the_page_is_well_formed(page):
    assert (page.problems, page.open) == ([], [])


def test_element_ids_are_unique_and_every_reference_finds_one(page):
    ids = Counter(attributes["id"] for _, attributes in page.elements if "id" in attributes)
    wanted = {
        name
        for _, attributes in page.elements
        for name in attributes.get("aria-labelledby", "").split()
    }

    assert set(ids.values()) == {1}
    assert wanted <= set(ids)


@pytest.mark.parametrize(
    "forbidden",
    ["<script", "http:", "https:", "javascript:", "@import", "url(", "<iframe", "<link"],
)
def test_the_page_reaches_for_nothing(html, forbidden):
    assert forbidden not in html.lower()


def test_the_page_has_no_handler_and_no_address_but_its_own(page):
    for tag, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on")], tag
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")


def test_the_page_forbids_fetching_by_its_policy(page):
    (policy,) = [
        attributes["content"]
        for attributes in page.named("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]

    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src data:;")


def test_every_chart_says_what_it_shows_to_who_cannot_see_it(page):
    charts = [attributes for attributes in page.named("svg") if "aria-hidden" not in attributes]

    assert len(charts) == 3
    assert all(chart["role"] == "img" and chart["aria-labelledby"] for chart in charts)
    assert page.text.count("The numbers of this picture") == 3


def test_headings_step_down_one_level_at_a_time(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_every_header_cell_says_what_it_heads(page):
    assert all(attributes.get("scope") in {"col", "row"} for attributes in page.named("th"))


def test_the_chapters_follow_iso_27559(page):
    chapters = re.findall(r"\d\. (Context|Data|Identifiability|Usefulness|Governance)", page.text)

    assert chapters == ["Context", "Data", "Identifiability", "Usefulness", "Governance"]


def test_every_utility_number_stands_with_its_sentence(page):
    facts = facts_of()
    sentences = [
        facts.utility.loss.loss_sentence,
        facts.utility.loss.ncp_sentence,
        facts.utility.class_sizes.discernibility_sentence,
        facts.utility.class_sizes.average_class_size_sentence,
        facts.utility.class_sizes.suppressed_sentence,
        facts.utility.model.sentence,
        facts.guarantees[0].sentence,
        *facts.manifest.weaknesses,
        *facts.unprotected,
    ]

    assert [sentence for sentence in sentences if sentence not in page.text] == []


def test_a_measure_that_failed_and_a_column_that_tells_the_label_are_said():
    model = replace(model_of(), raw=Score(accuracy=0.2), giveaways=(("<b>code</b>", 0.998),))
    text = Page(render_report(facts_of(utility={"model": model}))).text
    assert "This measure failed" in text
    assert "Column '<b>code</b>' is released unchanged and gives the label away" in text
    assert "99.8%" in text


def test_every_risk_stands_with_what_it_says(page):
    for shown in ("100%", "8.3%", "63.0%", "4.7%", "61.0%", "4.5%", "52.0%"):
        assert shown in page.text
    for says in ("Prosecutor, highest", "Prosecutor, average", "Marketer", "Unique rows"):
        assert says in page.text
    assert "Journalist, highest" not in page.text
    assert "No population was given" in page.text


def test_journalist_risk_is_shown_where_a_population_was_given():
    one = risk_of(0.1, 0.1, 0.01, 0.0, (0.0123, 0.0077))
    facts = facts_of(risk={"before": one, "after": one, "population_rows": 123_456})

    text = Page(render_report(facts)).text

    assert "Journalist, highest" in text
    assert "1.2%" in text
    assert "123,456 people" in text


def test_columns_that_no_class_covers_are_shown_with_whom_they_are_true_for(page):
    """Shares over all released columns, over unchanged ones, and over the worst small set."""
    risk = released_columns()

    assert "Risk for an attacker who knows other columns" in page.text
    assert "all 4 released columns 95.2% 100%" in page.text
    assert "the 2 that are released unchanged 50.0% 100%" in page.text
    assert "pay 16.7% 100%" in page.text
    assert f"Warning {risk.warning}" in page.text
    assert risk.advice in page.text


def test_no_warning_stands_where_none_is_due():
    text = Page(
        render_report(facts_of(risk={"columns": released_columns(unique=0, under_k=0)}))
    ).text

    assert "Warning" not in text
    assert "the 2 that are released unchanged 0% 0%" in text


def test_what_was_lost_is_a_warning():
    cost = GuaranteeCost(
        model="distinct-l-diversity", parameters={"l": 3}, column="pay", kept=0.1,
        kept_without=0.9, classes=3, classes_without=900, rows=42,
    )  # fmt: skip
    detail = DetailKept(average=0.1, columns={"age": 0.01, "city": 0.2}, costs=(cost,))
    text = Page(render_report(facts_of(utility={"detail": detail}))).text

    assert f"Warning {cost.sentence}" in text
    assert "Warning age keeps less than 5 % of the detail." in text


def test_a_confirmed_release_says_so_and_shows_the_worse_count(page):
    assert "The claim was verified on disk." in page.text
    assert "counted 11" in page.text
    assert "could not be confirmed" not in page.text


def test_a_promise_that_fails_turns_the_page():
    failed = guarantee(model="t-closeness", bound="at most", achieved=0.3, achieved_wildcard=0.4,
                     holds=False)  # fmt: skip

    text = Page(render_report(facts_of(guarantees=(guarantee(), failed)))).text

    assert "1 of 2 claims could not be verified on disk." in text
    assert "Do not hand this over." in text
    assert "verified on disk. A second program" not in text
    assert "counted 0.4" in text
    assert "✗ not met" in text


def test_no_promise_is_not_a_confirmed_one():
    text = Page(render_report(facts_of(guarantees=()))).text

    assert "No guarantee was asked for." in text
    assert "were confirmed" not in text


def test_a_release_without_a_label_says_that_no_model_was_trained():
    text = Page(render_report(facts_of(utility={"model": None, "label": None}))).text

    assert "no model was trained" in text
    assert "A model trained on the release" not in text


def test_a_number_as_label_is_told_by_its_variance():
    page = Page(render_report(facts_of(utility={"model": model_of("regression")})))

    assert page.problems == []
    assert "of the variance explained" in page.text
    assert "Balanced accuracy" not in page.text


def test_hostile_words_stay_words_wherever_they_stand():
    """Every text that comes from outside is hostile at once; the page has no element more."""
    plain = facts_of()
    column, loss = plain.columns[1], plain.utility.loss
    picture = replace(plain.utility.distributions["city"], labels=(HOSTILE, "other"))
    hostile = facts_of(
        method=HOSTILE,
        recoding=HOSTILE,
        unprotected=(HOSTILE,),
        guarantees=(
            guarantee(
                model=HOSTILE, parameters={HOSTILE: HOSTILE}, column=HOSTILE, sentence=HOSTILE
            ),
        ),
        columns=(
            plain.columns[0],
            replace(column, name=HOSTILE, kind=HOSTILE, treatment=HOSTILE),
            plain.columns[2],
        ),
        utility={
            "label": HOSTILE,
            "loss": replace(loss, columns={**loss.columns, HOSTILE: loss.columns["age"]}),
            "distributions": {**plain.utility.distributions, HOSTILE: picture},
        },
        manifest={
            "created": HOSTILE,
            "software": {HOSTILE: HOSTILE},
            "policy_sha256": HOSTILE,
            "weaknesses": (HOSTILE,),
            "files": (DataFile(name=HOSTILE, format="csv", sha256=HOSTILE, n_bytes=1, n_rows=0),),
        },
    )

    html = render_report(hostile)

    page = Page(html)
    assert "<script" not in html
    assert "\u202e" not in html
    assert "\x00" not in html
    assert (page.problems, page.open) == ([], [])
    assert {tag for tag, _ in page.elements} == {
        tag for tag, _ in Page(render_report(plain)).elements
    }
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name == "src"]
    assert html.encode()


def test_what_few_rows_say_is_not_in_the_page(html):
    """Three rows said the canary, one was 98,765: neither the release nor the page may."""
    assert CANARY not in html
    assert "98765" not in html.replace(",", "")
    assert "Bern" in html


def test_ten_thousand_columns_stay_a_page():
    plain = facts_of()
    names = [f"c{place}" for place in range(10_000)]
    used = plain.utility
    loss = replace(used.loss, columns=dict.fromkeys(names, used.loss.columns["age"]))
    pictures = dict.fromkeys(names, used.distributions["age"])
    columns = tuple(replace(plain.columns[0], name=name) for name in names)

    html = render_report(
        facts_of(columns=columns, utility={"loss": loss, "distributions": pictures})
    )

    assert "9,800 more columns are listed" in html
    assert "9,776 more columns are not pictured" in html
    assert len(html) < 400_000


def test_a_name_of_a_megabyte_is_shortened():
    long = "x" * 1_000_000
    column = replace(facts_of().columns[0], name=long)

    for html in (html_page(long, []), render_report(facts_of(columns=(column,)))):
        assert len(html) < 100_000
        assert "x" * 79 + "…" in html


def test_no_word_promises_more_than_was_counted(page):
    words = re.findall(r"[a-z-]+", page.text.lower())

    forbidden = {"anonymous", "anonymised", "anonymized", "safe", "encrypted", "gdpr", "guaranteed"}
    assert forbidden & set(words) == set()


def test_the_page_is_the_same_for_the_same_facts(html):
    assert render_report(facts_of()) == html


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_stands_out_from_its_ground_in(mode):
    """WCAG 2.2 AA: 4.5 to 1 for text, 3 to 1 for bars."""
    css = resources.files("halfmask.release").joinpath("templates/page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", blocks[0 if mode == "light" else 1]))

    for ground in ("paper", "card"):
        for ink in ("ink", "soft", "before", "after", "bad"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
        assert contrast(colours["ink"], colours["wash"]) >= 4.5
        assert contrast(colours["ink"], colours["badwash"]) >= 4.5
    for bar in ("before", "after", "soft"):
        assert contrast(colours[bar], colours["track"]) >= 3.0, bar


def contrast(one, other):
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("wrong", [1.2, -0.1])
@pytest.mark.parametrize("place", range(4))
def test_a_risk_outside_of_zero_and_one_is_refused(place, wrong):
    risks = [0.1, 0.1, 0.1, 0.1]
    risks[place] = wrong
    with pytest.raises(ParameterError, match="share"):
        render_report(facts_of(risk={"after": risk_of(*risks)}))

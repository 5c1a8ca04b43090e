"""protect and crosstab in memory: what is refused, what is said, what is protected."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import halfmask as hm
from halfmask import GuaranteeNotMetError, ParameterError, PolicyError
from halfmask.crosstabs import TablesPolicy
from halfmask.release import html_page

FIRMS = pl.DataFrame(
    {
        "region": ["north"] * 4 + ["south"] * 4 + ["west"] * 4 + ["west", "south"],
        "sector": ["NA", "NA", "NA", "c.d e"] * 3 + ["c.d e"] * 2,
        "firm": [f"f{at}" for at in range(14)],
        "turnover": [20, 21, 22, 50, 30, 31, 32, 60, 25, 26, 27, 70, 63, 10],
    }
)
POLICY = """
halfmask-tables = 1
[[tables]]
name = "turnover"
dimensions = ["region", "sector"]
value = "turnover"
[[rules]]
rule = "p-percent"
p = 10.0
"""


def policy(more="", of=POLICY):
    """Return the policy of turnover with some text before it."""
    return TablesPolicy.from_toml(of.replace("[[tables]]", f"{more}\n[[tables]]", 1))


def states(release, number=0):
    """Return the codes of hidden cells of a table."""
    frame = release.copy(number)
    return set(frame.filter(pl.col("state") == "hidden").select("region", "sector").rows())


def crossed(**more):
    """Return turnover of the firms by region and sector, by the short form."""
    given = {"rows": "region", "columns": "sector", "sum": "turnover", "p_percent": 10, **more}
    return hm.crosstab(FIRMS, **given)


def test_sensitive_cells_are_hidden_and_others_protect_them():
    release = crossed()

    assert ("north", "c.d e") in states(release)
    for region in ("north", "south", "west"):  # two in each line, or none
        assert sum(each[0] == region for each in states(release)) != 1
    assert release.rows == {"out": 12, "hidden": release.data["value"].null_count()}
    assert {it.model for it in release.claims} == {
        "true-values",
        "additive",
        "hidden-intervals",
        "protected-cells",
    }


def test_the_short_form_is_a_policy():
    assert protect_states() == states(crossed())


def protect_states(more=""):
    return states(hm.protect(FIRMS, policy(more)))


def test_it_is_deterministic():
    assert crossed().data.equals(crossed().data)


def test_frames_of_other_libraries_come_back():
    pandas = pytest.importorskip("pandas")
    release = hm.crosstab(
        FIRMS.to_pandas(), rows="region", columns="sector", sum="turnover", p_percent=10
    )

    assert isinstance(release.data, pandas.DataFrame)


def test_means_take_their_counts_along():
    release = crossed(derived=["mean", "share"])

    assert release.copies == 2
    frame = release.data
    assert frame.columns == ["region", "sector", "value", "mean", "share", "state"]
    assert (frame["mean"].is_null() == frame["value"].is_null()).all()
    assert "turnover-counts" in [each.name for each in release.facts.tables]


def test_a_hidden_count_hides_the_mean():
    release = hm.protect(
        FIRMS,
        policy(
            of=POLICY.replace('value = "turnover"', 'value = "turnover"\nderived = ["mean"]')
            + '[[rules]]\nrule = "minimum-frequency"\nn = 2\ntables = ["turnover-counts"]\n'
        ),
    )
    both = release.copy(0).join(release.copy(1), on=["region", "sector"], suffix=" of counts")
    shown = both.filter((pl.col("state") == "published") & (pl.col("state of counts") == "hidden"))

    assert states(release, 1)
    assert shown["mean"].null_count() == shown.height


def test_nothing_sensitive_is_said():
    release = crossed(columns=(), p_percent=0.001)

    assert release.rows["hidden"] == 0
    page = html_page("", release.kind.blocks(release))
    assert "No cell of the sums of turnover is sensitive, so all are published." in page


def test_everything_sensitive_is_said():
    with pytest.raises(GuaranteeNotMetError, match=r"All 12 cells .* are sensitive"):
        crossed(p_percent=10_000)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('[cells]\npublish = [{ region = "north", sector = "c.d e" }]', "contradict"),
        ('[cells]\nhide = [{ region = "west", sector = "NA" }]', "without a margin"),
        ('[protection]\nmethod = "rounding"\nbase = 5.0', "which goes with suppression"),
    ],
)
def test_contradictions_of_a_policy(text, what):
    with pytest.raises(PolicyError, match=what) as caught:
        hm.protect(FIRMS, policy(text))

    assert "c.d e" not in str(caught.value)


def test_cells_to_hide_are_hidden_with_an_interval():
    text = '[cells]\nhide = [{ region = "west", sector = "NA" }]\nmargin = 20.0'
    release = hm.protect(FIRMS, policy(text))

    assert ("west", "NA") in states(release)
    (each,) = {id(it.published): it.published for it in release.facts.tables}.values()
    at = np.flatnonzero((each.cells.value == 78.0) & each.hidden)
    assert (each.audit.upper[at] - each.audit.lower[at] >= 0.4 * 78 - 1e-6).all()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"rows": (), "columns": ()}, "lacks the columns to cross"),
        ({"count": "n"}, "'count' parameter of crosstab is for ready tables"),
        ({"dimensions": ["region"], "value": "turnover"}, "'rows' parameter .* for microdata"),
        ({"p_percent": None}, "needs a rule"),
        ({"dominance": 85}, "must be a pair"),
        ({"hierarchies": "nowhere"}, "must be a folder"),
        ({"hierarchies": {"color": "x.hrc"}}, "about 1 dimensions"),
    ],
)
def test_parameters_that_dont_go_together(given, what):
    with pytest.raises(ParameterError, match=what):
        crossed(**given)


@pytest.mark.parametrize("name", ["value", "state"])
def test_a_dimension_with_the_name_of_a_released_column(name):
    with pytest.raises(PolicyError, match=f"a dimension of the name '{name}'"):
        hm.crosstab(FIRMS.rename({"region": name}), rows=name, sum="turnover", p_percent=10)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"population": FIRMS}, "population"),
        ({"strict": True}, "strict"),
        ({"key": bytes(32)}, "'key' parameter of protect doesn't go with the protection"),
    ],
)
def test_inputs_that_mean_nothing(given, what):
    with pytest.raises(ParameterError, match=what):
        hm.protect(FIRMS, policy(), **given)


def test_cells_without_bounds_stay_hidden():
    """Where contributions may be negative, intervals are infinite: that isn't an exact value."""
    release = crossed(negative=True)

    assert states(release) >= states(crossed(p_percent=10))
    (each,) = {id(it.published): it.published for it in release.facts.tables}.values()
    assert np.isinf(each.audit.upper[each.hidden]).all()


def test_a_lone_cell_that_is_sensitive_leaves_nothing():
    with pytest.raises(GuaranteeNotMetError, match="All 2 cells"):
        hm.crosstab(FIRMS.head(1), rows="region", sum="turnover", p_percent=10)


def test_the_repr_of_a_release_holds_no_value():
    release = crossed()

    for each in (release, release.facts, release.facts.tables[0]):
        assert "array" not in repr(each)
        assert "487" not in repr(each).partition(" at 0x")[0]


@pytest.mark.parametrize("size", [1e-13, 1e-200])
def test_numbers_of_any_size_are_protected_alike(size):
    firms = FIRMS.with_columns(turnover=pl.col("turnover") * size)
    release = hm.crosstab(firms, rows="region", columns="sector", sum="turnover", p_percent=10)

    assert states(release) == states(crossed())


def test_a_small_sensitive_cell_stays_protected_next_to_huge_ones():
    small = [("small", "a", 90), ("small", "a", 5), *[("small", "b", 25)] * 4]
    huge = [("huge", sector, 1e12) for sector in "ab" for _ in range(5)]
    firms = pl.DataFrame(
        [(region, sector, float(value)) for region, sector, value in small + huge],
        schema=["region", "sector", "turnover"],
        orient="row",
    )
    release = hm.crosstab(firms, rows="region", columns="sector", sum="turnover", p_percent=10)

    assert states(release) == {(region, sector) for region in ("small", "huge") for sector in "ab"}


def test_the_data_of_several_ready_tables_are_frames():
    cells = pl.DataFrame({"region": ["n", "s"], "sum": [9, 8], "n": [4, 5]})
    release = hm.crosstab(
        {"one": cells, "two": cells},
        dimensions=["region"],
        value="sum",
        count="n",
        min_frequency=3,
        margin=10,
    )

    assert release.data["value"].to_list() == [17, 9, 8]

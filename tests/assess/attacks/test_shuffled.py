"""Releases in an unknown order: which attacks run, and which control tables are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from halfmask._errors import DataError, ParameterError, SchemaError
from halfmask.assess.attacks import Shuffled, TableTarget, attack, attack_shuffled
from halfmask.assess.attacks._shuffled import _refuse_overlap, check_control
from halfmask.assess.attacks.classes import Homogeneity

KNOWN = ("age", "town", "height")


def people(n: int, seed: int) -> pl.DataFrame:
    """Draw people of one population."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "town": rng.choice(["a", "b", "c", "d"], n),
            "height": rng.normal(170, 10, n).round(1),
            "ill": rng.choice(["CANARY-w", "x", "y", "z"], n),
        }
    )


def shuffled(table: pl.DataFrame, seed: int = 5) -> tuple[pl.DataFrame, np.ndarray]:
    order = np.random.default_rng(seed).permutation(table.height)
    return table[order], order


def release_of(released: pl.DataFrame, original: pl.DataFrame, **others: Any) -> Shuffled:
    settings: dict[str, Any] = {
        "control": people(600, 1),
        "quasi_identifiers": KNOWN,
        "secrets": ("ill",),
        "unchanged": frozenset({"ill"}),
        "hierarchies": {},
    }
    return Shuffled(released=released, original=original, **{**settings, **others})


def coarse(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table in which all people have the same quasi-identifiers."""
    return table.with_columns(age=pl.lit("[18, 89]"), town=pl.lit("*"), height=pl.lit("*"))


@pytest.fixture(scope="module")
def reports():
    """Raw rows and coarse ones, both shuffled, attacked."""
    original = people(600, 0)
    raw, _ = shuffled(original)
    return [attack_shuffled(release_of(each, original)) for each in (raw, coarse(raw))]


@pytest.mark.slow
def test_raw_rows_are_broken_and_coarse_ones_are_not(reports):
    raw, hidden = ({f.outcome.attack: f.verdict for f in report.findings} for report in reports)
    for name in ("tables/singling-out-multivariate", "tables/linkability", "tables/inference"):
        assert raw[name] == "broken"
        assert hidden[name] != "broken"
    assert raw["classes/homogeneity"] == "broken"
    assert hidden["classes/homogeneity"] == "resisted"


@pytest.mark.slow
def test_attacks_that_need_owners_are_named_as_skipped(reports):
    lacking = dict(reports[0].skipped)
    for name in (
        "tables/record-linkage-distance",
        "tables/record-linkage-probabilistic",
        "tables/record-linkage-assignment",
        "classes/downcoding",
        "classes/minimality",
    ):
        assert "original row of each released row" in lacking[name]
    assert "classes/homogeneity" not in lacking


def test_without_a_control_table_only_classes_are_attacked():
    original = people(600, 0)
    report = attack_shuffled(release_of(shuffled(original)[0], original, control=None))
    assert {f.outcome.attack.split("/")[0] for f in report.findings} == {"classes"}
    assert dict(report.skipped)["tables/linkability"] == "a control table"


def test_a_secret_that_was_changed_is_not_looked_up():
    original = people(600, 0)
    report = attack_shuffled(
        release_of(shuffled(original)[0], original, unchanged=frozenset(), control=None)
    )
    assert report.findings == ()
    assert "classes/homogeneity" in dict(report.skipped)


def test_an_attack_on_classes_finds_what_it_finds_with_the_owners():
    original = people(600, 0).with_columns(age=pl.col("age") // 20, height=pl.lit(1.0))
    raw, owners = shuffled(original)
    paired = TableTarget(
        released=raw, original=original, quasi_identifiers=KNOWN, secrets=("ill",), owners=owners
    )
    unpaired = release_of(raw, original).by_class()
    assert unpaired is not None
    (expected,) = Homogeneity().run(paired, random_state=0)
    (found,) = Homogeneity().run(unpaired, random_state=0)
    assert (found.success, found.details) == (expected.success, expected.details)


@pytest.mark.slow
def test_with_owners_rows_are_linked_and_no_attack_runs_twice():
    original = people(300, 0)
    raw, order = shuffled(original)
    linkage = "tables/record-linkage-distance"
    for owners, is_right in ((order, True), (np.roll(order, 1), False)):
        found = attack_shuffled(release_of(raw, original, control=None, owners=owners))
        names = [each.name for each in found.findings]
        assert len(set(names)) == len(names)
        assert any(name.startswith("classes/homogeneity") for name in names)
        linked = [each for each in found.findings if each.outcome.attack == linkage]
        shares = [each.outcome.success.value for each in linked]
        assert shares
        assert min(shares) > 0.9 if is_right else max(shares) < 0.1


def test_an_attack_by_name_says_that_owners_are_missing():
    original = people(300, 0)
    target = TableTarget(released=original[:200], original=original, owners="unknown")
    with pytest.raises(ParameterError, match=r"lacks the original row .* \(owners\)"):
        attack(target, attacks=["tables/record-linkage-distance"])
    with pytest.raises(ParameterError, match="whole numbers"):
        TableTarget(released=original, original=original, owners="unknwon")  # type: ignore[arg-type]


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_control_rows_that_are_in_the_table_are_refused(share):
    original, control = people(600, 0), people(600, 1)
    mixed = pl.concat([original[: int(600 * share)], control[int(600 * share) :]])
    with pytest.raises(DataError, match=r"control rows are in the table") as raised:
        check_control(original, mixed, tuple(original.columns))
    assert "CANARY" not in str(raised.value)


@pytest.mark.parametrize("seed", range(5))
def test_random_halves_are_taken_however_many_rows_are_equal(seed):
    common = people(2_000, seed).select("town", "ill", age=pl.col("age") // 10)
    both = pl.concat([common, people(400, seed).select("town", "ill", age=pl.col("age"))])
    both = both.sample(fraction=1, shuffle=True, seed=seed)
    check_control(both[:1_600], both[1_600:], tuple(both.columns))


def test_a_few_equal_rows_are_chance_and_more_are_not():
    """Of 500 rows 3 pairs of equal ones: each is parted by chance now and then."""
    original = pl.DataFrame({"age": range(450)})
    check_control(original, pl.DataFrame({"age": [1, 2, 3, *range(500, 547)]}), ("age",))
    with pytest.raises(DataError, match="9 of 50 control rows are in the table"):
        check_control(original, pl.DataFrame({"age": [*range(9), *range(500, 541)]}), ("age",))


def test_an_overlap_that_common_values_hide_shows_in_an_identifier():
    original = people(600, 0).with_columns(town=pl.lit("a"), number=pl.int_range(600))
    mixed = pl.concat([original[:300], original[:300].with_columns(number=pl.int_range(600, 900))])
    with pytest.raises(DataError, match="over 5 columns"):
        check_control(original, mixed, ("town",))


def test_a_control_table_of_another_form_is_refused():
    original = people(300, 0)
    with pytest.raises(SchemaError, match="lacks the released column 'ill'"):
        check_control(original, people(300, 1).drop("ill"), tuple(original.columns))
    as_text = people(300, 1).with_columns(pl.col("height").cast(pl.String))
    with pytest.raises(SchemaError, match="Column 'height' is Float64 in the table and String"):
        check_control(original, as_text, tuple(original.columns))


def test_a_release_of_another_table_is_found_by_its_values():
    original = people(600, 0)
    assert release_of(shuffled(original)[0], original).not_in_original() is None
    other = original.with_columns(ill=pl.col("ill").replace("x", "q"))
    assert release_of(other, original).not_in_original() == "ill"
    assert release_of(other, original, unchanged=frozenset()).not_in_original() is None


def test_control_rows_with_other_ids_of_many_digits_are_no_overlap():
    first, second = (
        pl.DataFrame({"id": [2**60 + i for i in range(start, start + 100)]}) for start in (0, 100)
    )

    _refuse_overlap(first, second, ("id",))
    with pytest.raises(DataError, match="100 of 100 control rows"):
        _refuse_overlap(first, first, ("id",))

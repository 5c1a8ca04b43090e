"""Downcoding, on the paper's kind of data and against cells looked up one by one."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import halfmask as hm
from halfmask.anonymize import Level, Ranges
from halfmask.assess.attacks import TableTarget, attack
from halfmask.assess.attacks.classes import Downcoding
from halfmask.assess.attacks.classes._downcoding import ends_of_texts
from halfmask.data import Hierarchy

K, CLUSTERS, COLUMNS = 5, 150, 8


def tree(column: str) -> Hierarchy:
    """Return clusters with two parts each, near its centre and far from it, of four values each."""
    rows = [
        (f"{cluster}{part}{value}", f"{cluster} {part}", f"cluster {cluster}", "*")
        for cluster in range(CLUSTERS)
        for part in ("near", "far")
        for value in "abcd"
    ]
    return Hierarchy.from_rows(rows, column=column)


def clustered(seed: int) -> tuple[pl.DataFrame, dict[str, Hierarchy], np.ndarray]:
    """Return clustered heteroskedastic rows: Cohen 2022, section 4, with a tree for the real line.

    Clusters of k; a record is of large variance with probability 1/k. Those are far from the
    centre in half of the columns, all others near it in each.
    """
    rng = np.random.default_rng(seed)
    n = K * CLUSTERS
    cluster = np.repeat(np.arange(CLUSTERS), K)
    large = rng.random(n) < 1 / K
    columns = {}
    for name in [f"q{i}" for i in range(COLUMNS)]:
        far = large & (rng.random(n) < 0.5)
        parts = np.where(far, "far", "near")
        letters = rng.choice(list("abcd"), n)
        columns[name] = [f"{c}{p}{v}" for c, p, v in zip(cluster, parts, letters, strict=True)]
    return pl.DataFrame(columns), {name: tree(name) for name in columns}, cluster


def minimal(rows: pl.DataFrame, hierarchies, cluster: np.ndarray) -> pl.DataFrame:
    """Write each cluster's lowest common node: what every minimal hierarchical algorithm gives."""
    written = {}
    for name, hierarchy in hierarchies.items():
        codes = hierarchy.codes(rows[name]).to_numpy()
        written[name] = [
            hierarchy.node(int(codes[cluster == c].min()), int(codes[cluster == c].max()))[1]
            for c in cluster
        ]
    return pl.DataFrame(written)


def coarse(rows: pl.DataFrame, hierarchies) -> pl.DataFrame:
    """Write the cluster in each column whether needed or not."""
    return pl.DataFrame([tree.generalize(rows[name], 2) for name, tree in hierarchies.items()])


def target(released: pl.DataFrame, rows: pl.DataFrame, hierarchies=None, **more) -> TableTarget:
    return TableTarget(
        released=released,
        original=rows,
        quasi_identifiers=tuple(rows.columns),
        hierarchies=hierarchies,
        **more,
    )


@pytest.mark.slow
def test_a_minimal_output_is_broken_and_one_that_is_not_resists():
    rows, hierarchies, cluster = clustered(1)
    control = pl.concat([clustered(seed)[0] for seed in range(10, 20)])
    raw = target(rows, rows, hierarchies, control=control)
    least = target(minimal(rows, hierarchies, cluster), rows, hierarchies, control=control)
    whole = target(coarse(rows, hierarchies), rows, hierarchies, control=control)
    broken = attack(least, unprotected=raw, attacks=[Downcoding()])
    resisted = attack(whole, unprotected=raw, attacks=[Downcoding()])

    assert [f.outcome.measure for f in broken.findings] == ["cells restored", "records restored"]
    assert [f.verdict for f in broken.findings] == ["broken"] * 2
    assert [f.verdict for f in resisted.findings] == ["resisted"] * 2
    # Of the clusters with one record of large variance all are restored: a constant share.
    assert broken.findings[1].outcome.success.value > 0.5


@pytest.mark.slow
def test_our_own_levels_are_broken_on_such_data():
    """It is why Level names the weakness."""
    rows, hierarchies, _ = clustered(2)
    protect = hm.Anonymizer(
        guarantees=[hm.KAnonymity(k=K)], recoding=Level(), hierarchies=hierarchies
    )
    of = target(protect.fit_transform(rows), rows, hierarchies)
    raw = target(rows, rows, hierarchies)
    report = attack(of, unprotected=raw, attacks=[Downcoding()], tolerance=0.005)
    assert "downcoding" in Level.weaknesses
    assert report.findings[0].verdict == "broken"
    assert not attack(of, unprotected=raw, attacks=[Downcoding()]).resisted


small = st.lists(
    st.tuples(st.integers(0, 2), st.one_of(st.integers(10, 14), st.none())), min_size=1, max_size=12
)


def written_range(values: list[int | None]) -> str | None:
    known = [v for v in values if v is not None]
    if not known:
        return None
    text = f"[{min(known)}, {max(known)}]" if min(known) < max(known) else str(known[0])
    return text if len(known) == len(values) else f"{text} or missing"


@pytest.mark.slow
@given(small)
def test_ends_of_ranges_agree_with_cells_looked_up_one_by_one(right_of, given_rows):
    groups = {g: [v for other, v in given_rows if other == g] for g, _ in given_rows}
    texts = {g: written_range(values) for g, values in groups.items()}
    rows = pl.DataFrame({"age": [v for _, v in given_rows]}, schema={"age": pl.Int64})
    released = pl.DataFrame({"age": [texts[g] for g, _ in given_rows]}, schema={"age": pl.String})
    classes = {t: [v for g, v in given_rows if texts[g] == t] for t in texts.values()}
    trials = right = 0
    chance = 0.0
    everybody = [v for _, v in given_rows]
    for text, values in classes.items():
        if text and text.startswith("["):
            trials += len(values)
            ends = [int(end) for end in text.removesuffix(" or missing")[1:-1].split(", ")]
            inside = [v for v in everybody if v is not None and ends[0] <= v <= ends[1]]
            for end in ends:
                right += end in values
                chance += 1 - (1 - inside.count(end) / len(inside)) ** len(values)
        elif len(values) == 1:
            trials += 1
            right += text == (None if values[0] is None else str(values[0]))
            chance += max(everybody.count(v) for v in everybody) / len(everybody)

    each = Downcoding()
    of = target(released, rows)
    if not trials:
        assert each.missing_inputs(of) == "general cells"
        return
    (outcome,) = each.run(of, random_state=0)
    assert (right_of(outcome), outcome.success.trials) == (right, trials)
    assert outcome.control.value == pytest.approx(chance / trials)


def test_a_range_gives_its_ends_away_and_an_overstated_one_does_not():
    rng = np.random.default_rng(4)
    rows = pl.DataFrame({"age": rng.permutation(5000)})
    ranges = hm.Anonymizer(guarantees=[hm.KAnonymity(k=10)], recoding=Ranges())
    given_away = target(ranges.fit_transform(rows), rows)
    decade = (pl.col("age") // 20 * 20).cast(pl.Int64)
    fixed = rows.select(age=pl.format("[{}, {}]", decade - 1, decade + 20))
    raw = target(rows, rows)
    assert attack(given_away, unprotected=raw, attacks=[Downcoding()]).findings[0].verdict == (
        "broken"
    )
    assert attack(target(fixed, rows), unprotected=raw, attacks=[Downcoding()]).findings[
        0
    ].verdict == ("resisted")


def test_centroids_have_nothing_to_restore():
    rows = pl.DataFrame({"age": [1.0, 2.0, 3.0, 4.0]})
    released = hm.Anonymizer(guarantees=[hm.KAnonymity(k=2)]).fit_transform(rows)
    assert Downcoding().missing_inputs(target(released, rows)) == "general cells"
    bare = TableTarget(
        released=rows.rename({"age": "x"}), original=rows, quasi_identifiers=("age",)
    )
    assert Downcoding().missing_inputs(bare) == "quasi-identifiers among the released columns"


def test_ends_are_read_of_every_kind_of_column():
    def ends(text: str, population: list[object]) -> list[tuple[str, float]]:
        found = ends_of_texts(pl.Series([text, "plain", None]), pl.Series("c", population))
        return list(zip(found["child"], found["prior"], strict=True))

    assert ends("[17.0, 30.5]", [17.0, 17.0, 30.5, 99.0]) == [("17", 2 / 3), ("30.5", 1 / 3)]
    assert ends("{a, b, c}", ["a", "b", "c", "c"]) == [("a", 0.25), ("c", 0.5)]
    days: list[object] = [dt.date(2020, 1, day) for day in (1, 2)]
    assert ends("[2020-01-01, 2020-01-02]", days) == [("2020-01-01", 0.5), ("2020-01-02", 0.5)]
    assert ends("{false, true} or missing", [True, False]) == [("false", 0.5), ("true", 0.5)]
    assert ends("{a, b, c, d, ... 40 in all}", ["a", "b"]) == []
    assert ends("[1, 9]", [2, 3]) == [("1", 0.0), ("9", 0.0)]


def test_priors_are_those_of_the_control_people():
    released = pl.DataFrame({"age": ["[1, 2]"] * 2})
    rows = pl.DataFrame({"age": [1, 2]})
    control = pl.DataFrame({"age": [1] * 9 + [2]})
    alone = Downcoding().run(target(released, rows), random_state=0)[0]
    informed = Downcoding().run(target(released, rows, control=control), random_state=0)[0]
    assert alone.control.value == pytest.approx((2 * (1 - 0.5**2)) / 2)
    assert informed.control.value == pytest.approx((1 - 0.1**2 + 1 - 0.9**2) / 2)

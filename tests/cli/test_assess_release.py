"""`halfmask assess release`: a release, its table and a control table; and what doesn't fit."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import polars as pl
import pytest

from halfmask.claims import (
    Claim,
    DataFile,
    Manifest,
    MaskedColumn,
    MaskedDetails,
    RowsRead,
    StatedMask,
    released_columns_claim,
    write_manifest,
)

pytestmark = pytest.mark.slow

N = 400
CANARY = "CANARY"


def people(n: int) -> list[str]:
    """Return the lines of a CSV file of n people, for the policy of the desk."""
    rng = random.Random(3)
    return [
        "name,age,town,illness\n",
        *(
            f"CANARY-name{i},{rng.randint(18, 80)},CANARY-town{rng.randint(0, 5)},"
            f"CANARY-ill{rng.randint(0, 4)}\n"
            for i in range(n)
        ),
    ]


@pytest.fixture
def released(desk: Any, run: Any) -> Any:
    """A release of the first 400 of 800 people; the others are the control table."""
    rows = people(2 * N)
    desk.table.write_text("".join(rows[: N + 1]))
    (desk.folder / "control.csv").write_text(rows[0] + "".join(rows[N + 1 :]))
    assert run(*desk.protect()).status == 0
    return desk


def words(desk, *more: object) -> list[object]:
    return ["assess", "release", desk.table, desk.out, *more]


def test_a_release_is_attacked_and_no_cell_is_shown(released, run):
    files = ["--out", released.folder / "found.json", "--picture", released.folder / "found.svg"]
    said = run(*words(released, "--control", released.folder / "control.csv", *files))
    assert said.status == 0, said.err
    told = json.loads((released.folder / "found.json").read_text())
    attacks = {found["attack"] for found in told["findings"]}
    assert {"tables/singling-out-multivariate", "tables/inference"} <= attacks
    assert {"classes/homogeneity", "classes/skewness"} <= attacks
    assert "not run, for want of the original row of each released row" in said.out
    for text in (said.out, said.err, json.dumps(told)):
        assert CANARY not in text
    assert all(len(line.rstrip()) <= 80 for line in said.out.splitlines() if "[" in line)


def test_both_bounds_of_a_range_are_attacked_as_one(released, run):
    """An attack on bounds knows as much as one on texts."""

    def found():
        said = run(*words(released, "--json"))
        assert said.status == 0, said.err
        return {each["attack"]: each.get("risk") for each in said.json["findings"]}

    texts = found()
    more = '[recoding]\nname = "ranges"\nform = "bounds"\n'
    released.policy.write_text(released.policy.read_text() + more)
    assert run(*released.protect("--overwrite")).status == 0

    assert found() == texts


def test_without_a_control_table_classes_are_attacked(released, run):
    said = run(*words(released, "--policy", released.policy, "--json"))
    assert said.status == 0
    assert {f["attack"].split("/")[0] for f in said.json["findings"]} == {"classes"}
    assert {"attack": "tables/inference", "lacks": "a control table"} in said.json["skipped"]


def test_what_does_not_belong_together_is_refused(released, run):
    def refused(*more: object, table: object = released.table) -> str:
        said = run("assess", "release", table, released.out, *more)
        assert said.status in {1, 2}
        assert CANARY not in said.err.replace(str(released.folder), "")
        return str(said.err)

    assert "control rows are in the table, too" in refused("--control", released.table)
    rows = released.table.read_text().splitlines(keepends=True)
    few = released.folder / "few.csv"
    few.write_text("".join(rows[:-1]))
    assert "TABLE has 399 rows, and the release was made of 400" in refused(table=few)
    other = released.folder / "other.csv"
    other.write_text("".join(rows).replace("CANARY-ill3", "CANARY-ill9"))
    assert "'illness' was released unchanged and has values that TABLE" in refused(table=other)
    text = released.folder / "text.csv"
    text.write_text("".join([rows[0], *(f"{row.partition(',')[0]},x,b,c\n" for row in rows[1:])]))
    assert "Column 'age' is numeric in the release and read as String" in refused(table=text)
    assert "leave the other options out" in refused("--policy", released.policy, "--missing", "?")
    changed = released.folder / "changed.toml"
    changed.write_text(released.policy.read_text().replace("k = 4", "k = 5"))
    assert "another policy" in refused("--policy", changed)


def test_a_release_of_masks_alone_is_attacked(released, run, tmp_path):
    """Rounded ages of people in another order: the illness is unchanged."""
    raw = pl.read_csv(released.table)
    sent = raw.select(pl.col("age") // 10 * 10, "illness").sample(fraction=1, shuffle=True, seed=1)
    folder = tmp_path / "masked"
    (folder / "data").mkdir(parents=True)
    sent.write_parquet(folder / "data" / "part-0.parquet")
    written = (folder / "data" / "part-0.parquet").read_bytes()
    roles = {"age": ("quasi_identifier", "numeric"), "illness": ("sensitive", "categorical")}
    columns = [
        MaskedColumn(name=name, role=role, kind=kind, dtype=str(sent[name].dtype))
        for name, (role, kind) in roles.items()
    ]
    multiples = Claim(
        model="multiples",
        parameters={"base": 10},
        about={"columns": ["age"]},
        basis="counted",
        evidence={},
    )
    manifest = Manifest(
        kind="masked",
        created="2026-11-21T09:00:00Z",
        software={},
        policy_sha256="0" * 64,
        files=(
            DataFile(
                name="data/part-0.parquet",
                format="parquet",
                sha256=hashlib.sha256(written).hexdigest(),
                n_bytes=len(written),
                n_rows=sent.height,
            ),
        ),
        claims=(released_columns_claim(columns, sent.height), multiples),
        details=MaskedDetails(
            rows=RowsRead(n_in=N, n_out=sent.height),
            columns=tuple(columns),
            masks=(StatedMask(name="round", columns=("age",), parameters={"base": 10}),),
            risk={},
            utility={},
        ).to_details(),
    )
    write_manifest(manifest, folder)

    said = run("assess", "release", released.table, folder, "--json")

    assert said.status == 0, said.out
    assert {"classes/homogeneity", "classes/skewness"} <= {
        found["attack"] for found in said.json["findings"]
    }


def test_a_release_that_was_changed_is_not_attacked(released, run):
    (part,) = (released.out / "data").iterdir()
    pl.read_parquet(part)[:-1].write_parquet(part)
    said = run(*words(released))
    assert said.status == 1
    assert "doesn't have the hash" in said.err


def test_earlier_releases_are_attacked_together(desk, run):
    """People 0 to 399 and 200 to 599, each month on its own."""
    rows = people(2 * N)
    tables = {"first": rows[1 : N + 1], "second": rows[N // 2 + 1 : N + N // 2 + 1]}
    folders = {}
    for name, month in tables.items():
        folders[name] = desk.folder / name
        (desk.folder / f"{name}.csv").write_text("".join([rows[0], *month]))
        made = run("protect", desk.folder / f"{name}.csv", desk.policy, folders[name])
        assert made.status == 0, made.err
    (desk.folder / "few.csv").write_text("".join(rows[: N // 2 + 1]))
    asked = ["assess", "release", desk.folder / "second.csv", folders["second"]]
    asked += ["--earlier", folders["first"]]
    first = ["--earlier-table", desk.folder / "first.csv"]

    said = run(*asked, *first, "--person", "name", "--json")
    assert said.status == 0, said.err
    assert CANARY not in said.out
    found = [it for it in said.json["findings"] if it["attack"] == "releases/intersection"]
    assert [it["measure"] for it in found] == [
        "illness exposed at confidence 1",
        *(f"illness exposed at confidence 1/{n}" for n in (2, 3, 4)),
    ]
    assert {it["trials"] for it in found} == {N // 2}
    assert found[0]["unprotected"] > 0.5 > found[0]["value"]

    without = run(*asked, *first, "--json")
    again = [it for it in without.json["findings"] if it["attack"] == "releases/intersection"]
    assert again == found, "a name is part of what rows are found by"

    for more, why in (
        ([], "There are 1 --earlier and 0 --earlier-table"),
        ([*first, "--person", "nme"], "Did you mean 'name'"),
        (["--earlier-table", desk.folder / "few.csv"], "Earlier table 1 has 200 rows"),
    ):
        refused = run(*asked, *more)
        assert refused.status in {1, 2}
        assert why in refused.err
    assert "without an --earlier release" in run(*asked[:4], "--person", "name").err

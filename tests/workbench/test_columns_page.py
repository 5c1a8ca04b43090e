"""The page Columns: roles, kinds, hierarchies and masks, each change a version of the policy."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from halfmask.description import describe
from halfmask.masks import MASKS
from halfmask.microdata import Policy
from halfmask.workbench.pages import _columns

AGE, WORKCLASS, EDUCATION, MARITAL, OCCUPATION, SEX, INCOME = 1, 2, 4, 6, 7, 10, 15
IMG = "<img src=x onerror=alert(1)>"
BRACES = "{{7*7}}"
TURNED = "abc\u202edef"
#: Names of columns, and values, that a page must show as spelt, or plainly.
CANARIES = ["a.b.c", 'say "it\'s"', IMG, BRACES, TURNED, "n" * 200, "x=1&column=2#y", "a]b[c"]


def column_of(bench, name):
    return bench.project.policy().columns[name]


def versions_of(bench):
    return [each.why for each in bench.project.history.versions]


def seen_by(bench):
    found = re.search(r'name="seen" value="(\w+)"', bench.html)
    assert found
    return found[1]


def node_of(bench, label):
    found = re.search(rf'value="(\d+:\d+)"[^>]*aria-label="{re.escape(label)}"', bench.html)
    assert found, label
    return found[1]


def group(bench, number, ticked, name, action="group", **more):
    """Tick nodes of a column's tree by their labels, as a browser does, and post the form."""
    bench.get(f"/columns?column={number}")
    nodes = [node_of(bench, label) for label in ticked]
    fields = {"number": number, "seen": seen_by(bench), "node": nodes, "name": name}
    return bench.post(f"/columns/{action}", **fields, **{"at-column": str(number)}, **more)


# ---------------------------------------------------------------------- proposing


def test_without_a_policy_roles_are_explained_and_one_click_proposes_one(bench, adult_table):
    bench.project.open(str(adult_table))
    assert "Quasi-identifiers" in bench.get("/columns")
    assert bench.html.count("<button") == 1
    words = bench.post("/columns/propose")
    assert bench.project.policy().columns["age"].role == "quasi_identifier"
    assert "Its name speaks of age" in words
    assert "look at each line" in words


def test_a_proposal_without_a_quasi_identifier_asks_for_one(bench, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("u,v\n" + "1,2\n" * 50, encoding="utf-8")
    bench.project.open(str(table))
    words = bench.post("/columns/propose")
    assert "No column seems to point at people" in words
    assert "What could others know" in words
    assert not bench.project.has_policy
    bench.post("/columns/propose", known="2")
    assert {it: each.role for it, each in bench.project.policy().columns.items()} == {
        "u": "insensitive",
        "v": "quasi_identifier",
    }


def test_a_proposal_repeats_how_the_table_is_read(bench, adult_table):
    bench.project.open(str(adult_table), {"missing": ["?", "Private"]})
    bench.post("/columns/propose")
    assert bench.project.policy().input.missing == ("?", "Private")
    bench.post("/columns/propose")  # and so does one that replaces it
    assert bench.project.policy().input.missing == ("?", "Private")


# ---------------------------------------------------------------------- roles and kinds


def test_a_click_changes_the_role_and_undo_goes_back(adult_bench):
    before = adult_bench.project.policy_text()
    adult_bench.get("/columns")
    adult_bench.post("/columns/role", number=SEX, role="insensitive", kind="categorical")
    assert column_of(adult_bench, "sex").role == "insensitive"
    assert versions_of(adult_bench)[-1].startswith("sex: insensitive")
    adult_bench.post("/columns/undo")
    assert adult_bench.project.policy_text() == before


def test_a_column_may_be_named_and_a_kind_is_changed_alone(adult_bench):
    adult_bench.post("/columns/kind", column="sex", kind="text")
    assert (column_of(adult_bench, "sex").role, column_of(adult_bench, "sex").kind) == (
        "quasi_identifier",
        "text",
    )


def test_the_kind_of_a_sensitive_column_is_a_version_without_advice(adult_bench):
    fields = {"number": OCCUPATION, "role": "sensitive", "kind": "text"}
    assert "Choose a guarantee" not in adult_bench.post("/columns/role", **fields)
    assert versions_of(adult_bench)[-1] == "occupation: text"
    adult_bench.post("/columns/role", **fields)
    assert len(versions_of(adult_bench)) == 2


def test_a_dropped_column_gets_the_kind_that_is_proposed_with_its_role(adult_bench):
    assert column_of(adult_bench, "fnlwgt").kind is None
    adult_bench.post("/columns/role", number=3, role="quasi_identifier", kind="")
    assert column_of(adult_bench, "fnlwgt").kind == "numeric"


def test_what_a_role_cannot_have_goes_with_it_and_is_named(adult_bench):
    words = adult_bench.post("/columns/role", number=EDUCATION, role="insensitive")
    assert "Removed with it: its hierarchy. Undo brings it back." in words
    assert column_of(adult_bench, "education").hierarchy is None
    words = adult_bench.post("/columns/role", number=OCCUPATION, role="insensitive")
    assert "the guarantee distinct-l-diversity" in words
    models = [each.named for each in adult_bench.project.policy().guarantee_sections]
    assert models == ["k-anonymity"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"number": SEX, "role": "secret"}, "no such role"),
        ({"number": SEX, "kind": "colour"}, "no such kind"),
        ({"number": 99, "role": "sensitive"}, "no column of this number"),
        ({"column": "sexx", "role": "sensitive"}, "no such column"),
        ({"number": INCOME, "role": "identifier"}, "split_targets"),
    ],
)
def test_what_fails_is_said_and_the_policy_stays(adult_bench, fields, said):
    before = adult_bench.project.policy_text()
    assert said in adult_bench.post("/columns/role", **fields)
    assert adult_bench.project.policy_text() == before


def test_the_last_quasi_identifier_stays_with_a_way_out(bench, tmp_path):
    (tmp_path / "t.csv").write_text("age,pay\n30,1\n31,2\n", encoding="utf-8")
    text = 'halfmask = 1\n[columns.age]\nrole = "quasi_identifier"\nkind = "numeric"\n'
    text += '[columns.pay]\nrole = "insensitive"\nkind = "numeric"\n'
    text += '[[guarantees]]\nmodel = "k-anonymity"\nk = 2\n'
    (tmp_path / "policy.toml").write_text(text, encoding="utf-8")
    bench.project.open(str(tmp_path / "t.csv"))
    words = bench.post("/columns/role", number=1, role="insensitive")
    assert "No column is a quasi_identifier" in words
    assert "Give that role to columns" in words
    assert bench.project.policy_text() == text


def test_the_share_of_unique_rows_follows_the_roles(adult_bench):
    def unique():
        found = re.search(r"together, ([\d.]+)% of 2,000 rows", adult_bench.get("/columns"))
        assert found
        return float(found[1])

    rows = adult_bench.project.rows()
    known = adult_bench.project.policy().schema().quasi_identifiers
    counted = rows.select(known).is_unique().mean() * 100
    assert unique() == pytest.approx(counted, abs=0.06)
    adult_bench.post("/columns/role", number=AGE, role="identifier")
    left = [name for name in known if name != "age"]
    assert unique() == pytest.approx(rows.select(left).is_unique().mean() * 100, abs=0.06)


def test_guesses_missing_cells_and_sets_are_shown(described_bench):
    words = described_bench.get("/columns")
    assert "A ? is a guess" in words
    assert "age, hours-per-week 19.1%" in words
    assert 'title="a guess"' in described_bench.html


def test_missing_cells_are_counted_as_the_policy_reads_them(adult_bench):
    share = adult_bench.project.rows()["workclass"].is_null().mean()
    assert share > 0
    assert f"{share:.1%}" in adult_bench.get("/columns")


def test_points_are_part_of_a_place_that_has_a_tree(bench, tmp_path):
    lines = "".join(f"{52 + i / 97:.4f},{13 + i % 9 / 50:.4f},{i % 50}\n" for i in range(200))
    (tmp_path / "t.csv").write_text("latitude,longitude,age\n" + lines, encoding="utf-8")
    bench.project.open(str(tmp_path / "t.csv"))
    words = bench.post("/columns/propose")
    place = next(it for it in bench.project.policy().columns if it not in ("age", "latitude"))
    assert words.count(f"part of {place}") == 2
    words = bench.get("/columns?column=4")
    assert "In force: cells" in words
    assert re.search(r"0, the values \d+ \d+ \d+ 1 \d+", words)
    assert "has no role yet" in bench.get("/columns?column=1")


def test_a_policy_of_tables_of_counts_has_no_columns(bench, adult_table, tmp_path):
    stored = Path(__file__).parents[1] / "contracts" / "stored" / "policies" / "tables.toml"
    (tmp_path / "policy.toml").write_bytes(stored.read_bytes())
    bench.project.open(str(adult_table))
    assert "about tables of counts" in bench.get("/columns")
    assert "has no role" not in bench.post("/columns/role", number=1, role="sensitive")
    assert (tmp_path / "policy.toml").read_bytes() == stored.read_bytes()


def test_settings_are_written_and_taken_back(adult_bench):
    fields = {"number": AGE, "missing": "suppress", "label": "on"}
    adult_bench.post("/columns/more", **fields, least_level="1", greatest_level="")
    age = column_of(adult_bench, "age")
    assert (age.missing, age.label, age.least_level) == ("suppress", True, 1)
    adult_bench.post("/columns/more", number=AGE, missing="value", least_level="")
    assert "missing" not in adult_bench.project.policy_text().partition("[columns.age]")[2][:60]
    age = column_of(adult_bench, "age")
    assert (age.missing, age.label, age.least_level) == ("value", False, None)
    words = adult_bench.post("/columns/more", number=AGE, missing="value", least_level="one")
    assert "wants a number" in words


def test_the_person_is_chosen_and_left_out_again(adult_bench):
    adult_bench.post("/columns/more", number=3, person="on")
    assert adult_bench.project.policy().person == "fnlwgt"
    adult_bench.post("/columns/more", number=3)
    assert adult_bench.project.policy().person is None


def test_columns_that_the_table_lacks_and_that_the_policy_lacks(adult_bench, adult_table):
    rows = list(csv.reader(io.StringIO(adult_table.read_text(encoding="utf-8"))))
    rows[0][rows[0].index("sex")] = "gender"
    with adult_table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    words = adult_bench.get("/columns")
    assert "no role yet" in words
    assert "The table has no such column" in words
    adult_bench.post("/columns/role", number=SEX, role="quasi_identifier", kind="")
    assert column_of(adult_bench, "gender").kind == "categorical"
    last = len(rows[0]) + 1
    adult_bench.post("/columns/forget", number=last)
    assert "sex" not in adult_bench.project.policy().columns
    assert "The table has no such column" not in adult_bench.get("/columns")


# ---------------------------------------------------------------------- hierarchies


def test_intervals_are_made_and_each_level_is_counted(adult_bench):
    words = adult_bench.post(
        "/columns/hierarchy", number=AGE, how="intervals", widths="10 20", **{"at-column": "1"}
    )
    assert adult_bench.path == "/columns"
    assert column_of(adult_bench, "age").hierarchy.intervals == (10, 20)
    ages = adult_bench.project.rows()["age"]
    decades = (ages // 10).value_counts()["count"]
    row = f"1 {len(decades)} {decades.min()} {decades.max()} "
    assert "In force: intervals 10 20" in words
    assert row in words.replace(",", "")


def test_a_hierarchy_that_fails_leaves_the_old_one_in_force_and_says_so(adult_bench):
    adult_bench.post("/columns/hierarchy", number=AGE, how="intervals", widths="10 20")
    before = adult_bench.project.policy_text()
    words = adult_bench.post(
        "/columns/hierarchy", number=AGE, how="intervals", widths="10 25", **{"at-column": "1"}
    )
    assert "Nothing was changed" in words
    assert "In force: intervals 10 20" in words
    assert adult_bench.project.policy_text() == before
    words = adult_bench.post("/columns/hierarchy", number=AGE, how="intervals", widths="ten")
    assert "wants numbers" in words
    assert adult_bench.project.policy_text() == before


def test_prefixes_dates_and_their_faults(bench, tmp_path):
    lines = "".join(f"1{i:04},2021-{i % 12 + 1:02}-01\n" for i in range(40))
    (tmp_path / "t.csv").write_text("zip,day\n" + lines, encoding="utf-8")
    bench.project.open(str(tmp_path / "t.csv"))
    bench.post("/columns/propose", known=["1", "2"])
    bench.post("/columns/hierarchy", number=1, how="prefix", keep="4 2", length="5")
    assert column_of(bench, "zip").hierarchy.prefix == (4, 2)
    bench.post("/columns/hierarchy", number=2, how="dates", unit=["quarter", "year"])
    assert column_of(bench, "day").hierarchy.dates == ("quarter", "year")
    words = bench.get("/columns?column=2")
    assert "2021-Q3" in words
    said = bench.post("/columns/hierarchy", number=2, how="dates", unit=["week", "year"])
    assert "weeks don't nest" in said
    said = bench.post("/columns/hierarchy", number=2, how="dates", unit=["fortnight"])
    assert "fortnight" not in said
    assert column_of(bench, "day").hierarchy.dates == ("quarter", "year")


def test_an_order_is_made_by_numbers(adult_bench):
    adult_bench.post("/columns/kind", number=SEX, kind="ordinal")
    adult_bench.get(f"/columns?column={SEX}")
    fields = {"number": SEX, "how": "order", "seen": seen_by(adult_bench)}
    adult_bench.post("/columns/hierarchy", **fields, place=["2", "1"])
    assert column_of(adult_bench, "sex").hierarchy.order == ("Male", "Female")
    adult_bench.get(f"/columns?column={EDUCATION}")
    places = re.findall(r'name="place"[^>]*value="(\d+)"', adult_bench.html)
    assert len(places) == 16
    assert sorted(set(places), key=int) == ["1", "2", "3", "4", "5", "6"]
    fields = {"number": EDUCATION, "how": "order", "seen": seen_by(adult_bench)}
    before = column_of(adult_bench, "education").hierarchy
    adult_bench.post("/columns/hierarchy", **fields, place=places)
    assert column_of(adult_bench, "education").hierarchy == before
    words = adult_bench.post("/columns/hierarchy", **fields, place=places[:-1])
    assert "Each value wants a whole number" in words


def test_groups_are_made_extended_and_renamed_in_place(adult_bench):
    group(adult_bench, WORKCLASS, ["Private"], "Private sector", others="Public")
    group(adult_bench, WORKCLASS, ["Self-emp-inc", "Self-emp-not-inc"], "Self-employed")
    words = group(adult_bench, WORKCLASS, ["Public"], "The state", action="rename")
    assert "The state" in words
    groups = column_of(adult_bench, "workclass").hierarchy.groups
    assert groups["Private sector"] == ["Private"]
    assert groups["Self-employed"] == ["Self-emp-inc", "Self-emp-not-inc"]
    assert set(groups) == {"Private sector", "Self-employed", "The state"}
    group(adult_bench, WORKCLASS, ["Self-employed", "Private sector"], "Not the state")
    groups = column_of(adult_bench, "workclass").hierarchy.groups
    assert set(groups) == {"Not the state", "Others"}
    assert set(groups["Not the state"]) == {"Private sector", "Self-employed"}
    group(adult_bench, WORKCLASS, ["Without-pay"], "Self-employed")  # to a group that is there
    groups = column_of(adult_bench, "workclass").hierarchy.groups
    assert "Without-pay" in groups["Not the state"]["Self-employed"]
    assert versions_of(adult_bench)[-1] == "workclass: another hierarchy"


def test_a_tree_from_a_file_is_edited_as_groups(adult_bench):
    file = adult_bench.folder / "hierarchies" / "marital-status.csv"
    before = file.read_bytes()
    group(adult_bench, MARITAL, ["Separated"], "marriage ended")
    groups = column_of(adult_bench, "marital-status").hierarchy.groups
    ended = groups["has been married"]["marriage ended"]
    assert "Separated" in ended
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("ticked", "name", "action", "said"),
    [
        ([], "x", "group", "Nothing is ticked"),
        (["Private"], "", "group", "has no name"),
        (["Private"], "x", "rename", "Tick the one group"),
    ],
)
def test_what_cannot_be_grouped_is_said(adult_bench, ticked, name, action, said):
    before = adult_bench.project.policy_text()
    assert said in group(adult_bench, WORKCLASS, ticked, name, action=action)
    assert adult_bench.project.policy_text() == before


def test_a_form_of_another_table_is_refused(adult_bench, adult_table):
    adult_bench.get(f"/columns?column={WORKCLASS}")
    seen, node = seen_by(adult_bench), node_of(adult_bench, "Private")
    text = adult_table.read_text(encoding="utf-8").replace("Local-gov", "A-gov")
    adult_table.write_text(text, encoding="utf-8")
    fields = {"number": WORKCLASS, "seen": seen, "node": node, "name": "x"}
    assert "The table has changed" in adult_bench.post("/columns/group", **fields)
    assert column_of(adult_bench, "workclass").hierarchy is None


def test_a_file_is_imported_and_one_that_lacks_a_value_is_not(adult_bench):
    values = adult_bench.project.rows()["sex"].unique().to_list()
    whole = "".join(f"{it};person\n" for it in values).encode()
    fields = {"number": SEX, "how": "file"}
    adult_bench.post("/columns/hierarchy", files={"file": ("x.csv", whole)}, **fields)
    first = column_of(adult_bench, "sex").hierarchy.file
    assert (adult_bench.folder / first).read_bytes() == whole
    before = adult_bench.project.policy_text()
    part = f"{values[0]};person\n".encode()
    words = adult_bench.post("/columns/hierarchy", files={"file": ("x.csv", part)}, **fields)
    assert "lacks 1 value" in words
    assert "Add a row for each" in words
    assert values[1] not in re.findall(r'class="notice bad">(.*?)</p>', adult_bench.html)[0]
    assert adult_bench.project.policy_text() == before
    assert len(list((adult_bench.folder / "hierarchies").glob("sex-*"))) == 1
    titled = b"sex;all\n" + whole
    words = adult_bench.post("/columns/hierarchy", files={"file": ("x.csv", titled)}, **fields)
    assert "Of its values the table lacks 1: is one a heading?" in words
    adult_bench.post("/columns/undo")
    commas = whole.replace(b";", b",")
    adult_bench.post("/columns/hierarchy", files={"file": ("../x.csv", commas)}, **fields)
    assert column_of(adult_bench, "sex").hierarchy.delimiter == ","
    adult_bench.post("/columns/undo")
    assert column_of(adult_bench, "sex").hierarchy.file == first  # and it is still there
    assert f"In force: from the file {first}" in adult_bench.get(f"/columns?column={SEX}")
    assert "No file was chosen" in adult_bench.post("/columns/hierarchy", **fields)


def test_a_hierarchy_that_the_table_outgrew_is_said_and_can_be_removed(adult_bench, adult_table):
    with adult_table.open("a", encoding="utf-8") as file:
        line = adult_table.read_text(encoding="utf-8").splitlines()[1]
        file.write(line.replace("Never-married", "Engaged", 1) + "\n")
    words = adult_bench.get(f"/columns?column={MARITAL}")
    assert "lacks 1 value" in words
    assert "Engaged" not in words
    adult_bench.post("/columns/no-hierarchy", number=MARITAL)
    assert column_of(adult_bench, "marital-status").hierarchy is None


def test_long_trees_come_in_pages(bench, tmp_path):
    lines = "".join(f"v{i:04},{i % 7}\n" for i in range(3_000))
    (tmp_path / "t.csv").write_text("code,n\n" + lines, encoding="utf-8")
    bench.project.open(str(tmp_path / "t.csv"))
    bench.post("/columns/propose", known=["1", "2"])
    words = bench.get("/columns?column=1")
    assert "Values 1 to 400 of 3,000" in words
    assert bench.html.count('id="node-0-') == 400
    assert "v0400" in bench.get("/columns?column=1&first=400")
    bench.post("/columns/hierarchy", number=1, how="prefix", keep="4 3 2")
    bench.get("/columns?column=1&first=2900")
    assert 0 < bench.html.count("<small>") < 400  # values and the groups above them
    for first in ("x", "-1", "99999999999"):
        bench.get(f"/columns?column=1&first={first}")


@pytest.mark.parametrize("number", ["0", "99", "x", "1e1", "²", "-1", "age"])
def test_no_other_column_is_asked_for(adult_bench, number):
    assert "There is no column" in adult_bench.get(f"/columns?column={number}", status=422)


# ---------------------------------------------------------------------- masks


def test_a_mask_is_made_by_the_fields_of_its_parameters(adult_bench):
    words = adult_bench.get(f"/columns?column={INCOME}")
    assert "Known weaknesses" in words
    fields = {"number": INCOME, "mask": "token", "scope": "vault", "digits": "20"}
    words = adult_bench.post("/columns/mask", **fields, **{"at-column": str(INCOME)})
    mask = column_of(adult_bench, "income").mask
    assert (mask.name, mask.scope, mask.digits) == ("token", "vault", 20)
    assert "token is in force" in words
    assert 'mask = {name = "token", scope = "vault", digits = 20}' in (
        adult_bench.project.policy_text()
    )
    adult_bench.post("/columns/no-mask", number=INCOME)
    assert column_of(adult_bench, "income").mask is None


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"mask": "magic"}, "no such mask"),
        ({"mask": "noise", "law": "laplace"}, "needs a value for 'scale'"),
        (
            {"mask": "noise", "law": "cauchy", "scale": "1", "decimals": "0"},
            "can't have that 'law'",
        ),
        ({"mask": "token", "digits": "many"}, "wants a number"),
        ({"mask": "round", "base": "-1"}, "base"),
        ({"mask": "round", "base": "5"}, "income"),  # texts have no multiples
    ],
)
def test_a_mask_that_does_not_fit_is_said_and_the_policy_stays(adult_bench, fields, said):
    before = adult_bench.project.policy_text()
    assert said in adult_bench.post("/columns/mask", number=INCOME, **fields)
    assert adult_bench.project.policy_text() == before


def test_every_mask_has_a_form_whose_fields_are_its_parameters(adult_bench):
    adult_bench.get(f"/columns?column={INCOME}")
    for name in MASKS:
        assert f'id="choose-{name}"' in adult_bench.html
    assert 'id="tails-high_share"' in adult_bench.html
    assert 'id="pram-matrix"' not in adult_bench.html  # of each value: in the file
    ids = re.findall(r' id="([^"]+)"', adult_bench.html)
    assert len(ids) == len(set(ids))


# ---------------------------------------------------------------------- unusual names and values


@pytest.fixture
def odd_bench(bench, tmp_path):
    """A table whose columns and values are canaries."""
    with (tmp_path / "odd.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*CANARIES, "age"])
        for i in range(80):
            writer.writerow([*[CANARIES[(i + j) % 8] for j in range(8)], 20 + i % 40])
    bench.project.open(str(tmp_path / "odd.csv"), {"header": True})
    bench.post("/columns/propose", known=[str(i) for i in range(1, 10)])
    return bench


def check_page(bench):
    """No canary is markup, a template, a direction mark, or in the address or title."""
    assert IMG not in bench.html
    assert "<img" not in bench.html
    assert "49" not in re.sub(r"[0-9a-f]{16}|\d+\.\d%", "", bench.html)
    assert "\u202e" not in re.sub(r"<(input|option)[^>]*>", "", bench.html)
    title = re.search(r"<title>(.*?)</title>", bench.html)
    assert title
    assert title[1] == "Columns - halfmask"


@pytest.mark.parametrize("number", range(1, 9))
def test_canaries_go_through_each_change(odd_bench, number):
    name = CANARIES[number - 1]
    odd_bench.post("/columns/role", number=number, role="sensitive", kind="categorical")
    check_page(odd_bench)
    assert column_of(odd_bench, name).role == "sensitive"
    odd_bench.get(f"/columns?column={number}")
    check_page(odd_bench)
    nodes = re.findall(r'name="node" value="(0:\d+)"', odd_bench.html)
    assert len(nodes) == 8
    for to in ("some", IMG, BRACES, TURNED):
        fields = {"number": number, "seen": seen_by(odd_bench), "node": nodes[:3], "name": to}
        odd_bench.post("/columns/group", **fields, **{"at-column": str(number)})
        check_page(odd_bench)
        groups = column_of(odd_bench, name).hierarchy.groups
        assert len(groups[to]) == 3
        assert {it for each in groups.values() for it in each} == set(CANARIES)
    odd_bench.post("/columns/no-hierarchy", number=number)
    odd_bench.post("/columns/mask", number=number, mask="redact", text=IMG)
    odd_bench.get(f"/columns?column={number}")
    check_page(odd_bench)
    assert column_of(odd_bench, name).mask.text == IMG
    assert Policy.from_toml(odd_bench.project.policy_text()) == odd_bench.project.policy()


def test_every_control_has_a_name_for_a_screen_reader(adult_bench):
    for path in ("/columns", f"/columns?column={AGE}", f"/columns?column={INCOME}"):
        adult_bench.get(path)
        labelled = set(re.findall(r'<label for="([^"]+)"', adult_bench.html))
        for tag in re.findall(r"<(?:input|select|textarea)[^>]*>", adult_bench.html):
            if 'type="hidden"' not in tag:
                own = re.search(r' id="([^"]+)"', tag)
                assert own, tag
                assert own[1] in labelled or "aria-label" in tag, tag
        assert "style=" not in adult_bench.html
        assert not re.search(r"<[^>]* on\w+=", adult_bench.html)


def test_the_description_is_counted_once(adult_bench, monkeypatch):
    asked = []

    def described(*given, **more):
        asked.append(1)
        return describe(*given, **more)

    monkeypatch.setattr(_columns, "describe", described)
    for _ in range(3):
        adult_bench.get("/columns")
        adult_bench.post("/columns/kind", number=SEX, kind="text")
    assert len(asked) == 1


def test_comments_stay_above_their_columns(described_bench):
    described_bench.post("/columns/hierarchy", number=AGE, how="intervals", widths="10")
    text = described_bench.project.policy_text()
    assert re.search(r"\[columns\.age\]\nrole[^\n]*\nkind[^\n]*\nhierarchy = ", text)
    assert "a value of their own.\n[columns.workclass]" in text.replace("\n\n[", "\n[")


def test_policies_of_other_shapes_are_edited(bench, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n2,y\n1,x\n", encoding="utf-8")
    text = """halfmask = 1
columns.a = { role = "quasi_identifier", kind = "numeric" }
columns.b.role = "insensitive"
columns.b.kind = "categorical"
[[guarantees]]
model = "k-anonymity"
k = 2
"""
    apart = """halfmask = 1
[columns.a]
role = "quasi_identifier"
kind = "numeric"
[[guarantees]]
model = "k-anonymity"
k = 2
[columns.b]
role = "insensitive"
kind = "categorical"
"""
    bench.project.open(str(tmp_path / "t.csv"))
    for each in (text, apart):
        (tmp_path / "policy.toml").write_text(each, encoding="utf-8")
        bench.post("/columns/hierarchy", number=1, how="intervals", widths="10")
        bench.post("/columns/role", number=2, role="quasi_identifier")
        assert column_of(bench, "a").hierarchy.intervals == (10,)
        assert column_of(bench, "b").role == "quasi_identifier"


def test_an_import_is_in_force_though_its_copy_was_edited(adult_bench):
    values = adult_bench.project.rows()["sex"].unique().to_list()
    whole = "".join(f"{it};person\n" for it in values).encode()
    fields = {"number": SEX, "how": "file"}
    adult_bench.post("/columns/hierarchy", files={"file": ("x.csv", whole)}, **fields)
    first = adult_bench.folder / column_of(adult_bench, "sex").hierarchy.file
    first.write_bytes(whole.replace(b"person", b"edited"))

    adult_bench.post("/columns/hierarchy", files={"file": ("x.csv", whole)}, **fields)

    second = adult_bench.folder / column_of(adult_bench, "sex").hierarchy.file
    assert second.read_bytes() == whole
    assert b"edited" in first.read_bytes()
    assert f"In force: from the file hierarchies/{second.name}" in adult_bench.get(
        f"/columns?column={SEX}"
    )


def test_a_mask_of_a_guarded_column_makes_a_release_of_masks_in_one_step(adult_bench):
    fields = {"number": OCCUPATION, "mask": "pram", "keep": "0.8"}
    before = adult_bench.project.policy_text()
    assert "guarantee" in adult_bench.post("/columns/mask", **fields)
    assert adult_bench.project.policy_text() == before
    adult_bench.get(f"/columns?column={OCCUPATION}")
    assert 'id="pram-invariant"' not in adult_bench.html  # it needs a matrix
    assert 'name="keep" id="pram-keep"' in adult_bench.html

    words = adult_bench.post("/columns/mask", masks="", **fields)

    assert adult_bench.project.policy().kind == "masked"
    assert "Left out: guarantees" in words
    words = adult_bench.get("/columns")
    assert "quasi-identifier: stays, unless a mask changes it" in words
    assert "is made coarser" not in words


def test_comments_stay_when_sections_are_written_again(described_bench):
    project = described_bench.project
    kept = [line for line in project.policy_text().splitlines() if line.startswith("# ")]
    for label in ("A", "B"):
        described_bench.get(f"/columns?column={WORKCLASS}")
        fields = {"number": WORKCLASS, "seen": seen_by(described_bench), "name": label}
        described_bench.post("/columns/group", node="0:1", **fields)
    described_bench.post("/protect/section", section="method", name="full-domain", whole="1")

    written = project.policy_text().splitlines()
    assert [line for line in kept if line not in written] == []

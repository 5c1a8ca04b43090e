"""The page Data: files that are dropped, how they are read, and what is shown of them."""

from __future__ import annotations

import gzip
import io
import os
import re
import sqlite3
import stat
import zipfile
from html.parser import HTMLParser

import polars as pl
import pytest

from halfmask.workbench.pages import _data, _table_files
from halfmask.workbench.pages._column_profile import profile
from halfmask.workbench.pages._table_files import clean_name

PEOPLE = "age,town\n30,Ulm\n31,Bonn\n30,\n42,Ulm\n"
MARKUP = "<img src=x onerror=alert(1)>"
TEMPLATE = "{{7*7}}"
TURNED = "\u202egnp.exe"


def drop(bench, name, content, **more):
    """Drop a file on the page, and return the words of the page after."""
    content = content.encode() if isinstance(content, str) else content
    return bench.post("/data/open", files={"file": (name, content)}, **more)


def found_in(pattern, html):
    """Return the first match on a page, which must have one."""
    found = re.search(pattern, html, re.DOTALL)
    assert found is not None
    return found


def files_of(bench):
    return sorted(each.name for each in bench.folder.iterdir() if each.name != ".halfmask")


class _Controls(HTMLParser):
    """Gathers the controls of a page, the ids, and what labels are for."""

    def __init__(self):
        super().__init__()
        self.ids, self.labelled, self.controls, self.tags = [], set(), [], []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "label" and "for" in found:
            self.labelled.add(found["for"])
        if tag in {"input", "select", "textarea"} and found.get("type") != "hidden":
            self.controls.append(found)


def controls_of(html):
    reader = _Controls()
    reader.feed(html)
    return reader


# ---------------------------------------------------------------------- files


def test_the_first_page_says_what_to_do(bench):
    words = bench.get("/data")
    assert "Open the table to protect" in words
    assert "Drop a file here, or choose one" in words


def test_a_dropped_table_is_kept_for_its_owner_and_described(bench):
    words = drop(bench, "people.csv", PEOPLE)
    assert "Read 4 rows and 2 columns." in words
    assert files_of(bench) == ["people.csv"]
    kept = bench.folder / "people.csv"
    assert kept.read_text() == PEOPLE
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert "Whole number, 3 different. None missing." in words
    assert "Text, 2 different. 1 missing (25.0%)." in words
    assert not [each for each in bench.project.hidden.iterdir() if "upload" in each.name]


def test_another_file_of_the_same_name_replaces_nothing(bench):
    drop(bench, "people.csv", PEOPLE)
    drop(bench, "people.csv", PEOPLE)
    assert files_of(bench) == ["people.csv"]
    drop(bench, "people.csv", PEOPLE + "50,Bonn\n")
    assert files_of(bench) == ["people-2.csv", "people.csv"]
    assert (bench.folder / "people.csv").read_text() == PEOPLE
    assert bench.project.rows().height == 5


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("../../x/people.csv", "people.csv"),
        ("..\\..\\people.csv", "people.csv"),
        (".._people.csv.gz", "people.csv.gz"),
        ("a\0b.csv", "a_b.csv"),
        (TURNED, "_gnp.exe".lstrip("_")),
        ("", "table"),
        ("..", "table"),
        ("a" * 300 + ".csv", "a" * 160 + ".csv"),
        ("a." + "b" * 300, "a." + "b" * 158),
        ("\U0001f600" * 100 + ".csv", "\U0001f600" * 40 + ".csv"),
    ],
)
def test_names_of_files_lead_nowhere(name, kept):
    assert clean_name(name) == kept


def test_a_file_with_a_path_for_its_name_lands_in_the_folder(bench):
    drop(bench, "../../people.csv", PEOPLE)
    assert files_of(bench) == ["people.csv"]
    drop(bench, ".halfmask\\..\\..\\_x.csv", PEOPLE + "1,Ulm\n")
    assert files_of(bench) == ["people.csv", "x.csv"]


def test_a_file_does_not_replace_the_policy_or_a_link(bench, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "secret.csv"
    outside.write_text("secret\n1\n")
    (bench.folder / "people.csv").symlink_to(outside)
    drop(bench, "people.csv", PEOPLE)
    assert files_of(bench) == ["people-2.csv", "people.csv"]
    assert outside.read_text() == "secret\n1\n"
    assert "is a policy or another settings file" in drop(bench, "policy.toml", "halfmask = 1\n")
    assert not bench.project.has_policy


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "is empty"),
        ("blank.csv", b"\n\n", "is empty"),
        ("paper.pdf", b"%PDF-1.7 x", "is a PDF document"),
        ("people.xlsx", b"PK\x03\x04 broken", ""),
        ("nul.csv", b"a,b\n\0,1\n", "NUL"),
        ("cut.csv.gz", gzip.compress(PEOPLE.encode(), mtime=0)[:-9], "cut off"),
        ("ragged.csv", b"a,b\n1,2,3\n", "has 3 cells"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_open_table_stays(bench, name, content, words):
    drop(bench, "people.csv", PEOPLE)
    after = drop(bench, name, content)
    assert words in after
    assert "people.csv" in after
    assert bench.project.rows().height == 4
    assert files_of(bench) == ["people.csv"]
    if not content or name.endswith(".pdf"):  # no setting can help
        assert "How is" not in after
        assert not (bench.project.hidden / "waiting").exists()
        return
    assert f"How is {name} read?" in after
    waiting = bench.project.waiting.path
    assert stat.S_IMODE(waiting.stat().st_mode) == 0o600
    bench.post("/data/forget")
    assert bench.project.waiting is None
    assert not waiting.exists()


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(bench, monkeypatch):
    monkeypatch.setattr(_table_files, "_UNPACKED", 1 << 12)
    bomb = gzip.compress(b"a,b\n" + b"1,1\n" * 100_000)
    assert "unpacks to more than" in drop(bench, "bomb.csv.gz", bomb)
    assert bench.project.table is None
    monkeypatch.setattr(_table_files, "_TIMES", 10_000)
    assert "Read 100,000 rows" in drop(bench, "bomb.csv.gz", bomb)


def test_a_file_waits_until_it_is_said_how_it_is_read(bench):
    words = drop(bench, "orte.csv", "alter;ort\n30;M\xfcnchen\n".encode("latin-1"))
    assert "has bytes that are not utf-8" in words
    assert "Say its encoding, such as latin-1 or utf-16." in words
    assert '<option value="cp1252" selected>' in bench.html
    assert files_of(bench) == []
    words = bench.post(
        "/data/read", encoding="latin-1", delimiter="", header="", marks="", empty="on"
    )
    assert "Read 1 row and 2 columns." in words
    assert "München" in words
    assert files_of(bench) == ["orte.csv"]
    assert bench.project.waiting is None
    assert bench.project.reading == {"encoding": "latin-1"}


def test_a_sheet_with_a_title_is_read_below_it(bench):
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        for name in ("Mitarbeiter", "Hinweise"):
            sheet = book.add_worksheet(name)
            for number, row in enumerate((["Staff"], [], ["age", "town"], [30, "Ulm"])):
                sheet.write_row(number, 0, row)
    words = drop(bench, "staff.xlsx", file.getvalue())
    assert "has 2 sheets" in words
    assert re.findall(r'<option value="(\w+)">\1', bench.html) == ["Mitarbeiter", "Hinweise"]
    words = bench.post("/data/read", sheet="Hinweise", skip_rows="0", marks="", empty="on")
    assert "skip the lines above the names" in words
    words = bench.post("/data/read", sheet="Hinweise", skip_rows="2", marks="", empty="on")
    assert "Read 1 row and 2 columns." in words
    assert bench.project.rows().columns == ["age", "town"]


# ---------------------------------------------------------------------- the folder


def test_tables_of_the_folder_are_listed_and_chosen(bench):
    (bench.folder / "people.csv").write_text(PEOPLE)
    (bench.folder / "notes.md").write_text("x")
    (bench.folder / "_part.csv").write_text(PEOPLE)
    parts = bench.folder / "parts"
    parts.mkdir()
    pl.DataFrame({"x": [1, 2]}).write_parquet(parts / "1.parquet")
    pl.DataFrame({"x": [3]}).write_parquet(parts / "2.parquet")
    bench.get("/data")
    assert set(re.findall(r'<option value="([^"]+)">', bench.html)) == {"people.csv", "parts"}
    assert "Read 3 rows and 1 column." in bench.post("/data/choose", name="parts")
    assert "Read 4 rows" in bench.post("/data/choose", name="people.csv")


@pytest.mark.parametrize(
    "name", ["secret.csv", "folder", "inner", "../outside/secret.csv", ".halfmask", "x\0y.csv", ""]
)
def test_links_that_lead_outside_are_not_listed_and_not_opened(tmp_path, name, bench_in):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.csv").write_text("secret\n1\n")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "secret.csv").symlink_to(outside / "secret.csv")
    (inside / "folder").symlink_to(outside)
    (inside / "broken.csv").symlink_to(outside / "none")
    (inside / "inner").mkdir()
    (inside / "inner" / "secret.csv").symlink_to(outside / "secret.csv")
    bench = bench_in(inside)
    bench.get("/data")
    assert "looks like a table" in bench.html
    bench.post("/data/choose", name=name)
    assert bench.project.table is None
    bench.post("/data/connect", url=f"sqlite:///{outside / 'secret.csv'}")
    assert bench.project.table is None


def test_a_table_of_a_database_file_is_opened_by_its_address(bench):
    with sqlite3.connect(bench.folder / "shop.db") as base:
        base.execute("CREATE TABLE people (age INTEGER)")
        base.execute("CREATE TABLE others (x TEXT)")
        base.execute("INSERT INTO people VALUES (30), (31)")
        base.execute("INSERT INTO others VALUES ('a')")
    base.close()
    words = bench.post("/data/connect", url="sqlite:///shop.db")
    assert "How is shop.db read?" in words
    assert re.findall(r'<option value="(\w+)">\1', bench.html) == ["others", "people"]
    words = bench.post("/data/read", table="people", marks="", empty="on")
    assert "Read 2 rows and 1 column." in words
    assert bench.project.reading == {"table": "people"}
    assert "Read 1 row" in bench.post("/data/connect", url="sqlite:///shop.db?table=others")


def test_a_file_of_the_hidden_folder_is_no_database(bench):
    (bench.project.hidden / "shop.db").write_bytes(b"SQLite format 3\0")
    words = bench.post("/data/connect", url="sqlite:///.halfmask/shop.db?table=x")
    assert "no such database file" in words
    assert bench.project.waiting is None


def test_a_table_outside_of_the_folder_says_where_it_is(bench_in, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "people.csv").write_text(PEOPLE)
    bench_in(tmp_path / "work", table=str(tmp_path / "people.csv"))
    assert f"in {tmp_path}." in bench_in(tmp_path / "work").get("/data")


def test_the_address_of_a_database_is_not_kept_on_disk(bench, monkeypatch):
    url = "postgresql://me:canary@127.0.0.1:1/shop?table=people"
    words = bench.post("/data/connect", url=url)
    assert bench.project.table is None
    assert "canary" not in words
    monkeypatch.setattr(bench.project, "table", url)
    bench.get("/data")
    assert "canary" not in bench.html
    for each in bench.folder.rglob("*"):
        assert each.is_dir() or b"canary" not in each.read_bytes()


# ---------------------------------------------------------------------- how it is read


def test_the_dialect_is_seen_and_can_be_changed(bench):
    drop(bench, "people.csv", "A title\nage;town|x\n?;a|b\n31;Ulm|c\n")
    words = bench.post("/data/read", skip_rows="1", delimiter="", header="", marks="?", empty="on")
    assert "Seen: semicolon (;) between cells" in words
    assert bench.project.rows().columns == ["age", "town|x"]
    assert bench.project.rows().to_series(0).null_count() == 1
    assert bench.project.reading == {"skip_rows": 1, "missing": ["", "?"]}
    bench.post("/data/read", skip_rows="1", delimiter=str(ord("|")), header="", marks="")
    assert bench.project.rows().columns == ["age;town", "x"]
    bench.post("/data/read", skip_rows="1", delimiter=str(ord("|")), header="no", marks="")
    assert bench.project.rows().columns == ["column_1", "column_2"]
    assert bench.project.rows().height == 3


def test_a_change_that_does_not_fit_leaves_how_it_was_read(bench):
    drop(bench, "people.csv", PEOPLE)
    words = bench.post("/data/read", encoding="utf-16", delimiter="", header="", marks="")
    assert "people.csv" in words
    assert bench.project.reading == {}
    assert bench.project.rows().height == 4
    assert "wants a whole number" in bench.post("/data/read", skip_rows="1.5")


def test_texts_that_stand_for_missing_cells_are_offered(bench):
    words = drop(bench, "people.csv", "age,town\n30,?\n31,Ulm\n?,NA\n")
    assert "? is missing (2 cells)" in words
    bench.post("/data/mark", marker="?")
    assert bench.project.reading == {"missing": ["", "?"]}
    words = bench.post("/data/mark", marker="NA")
    assert bench.project.reading == {"missing": ["", "?", "NA"]}
    assert "Do these texts mean" not in words
    assert bench.project.rows().schema["age"] == pl.Int64


def test_a_reading_goes_into_the_policy_and_undo_takes_it_back(adult_bench):
    before = adult_bench.project.policy_text()
    adult_bench.get("/data")
    fields = {"delimiter": "", "header": "", "encoding": "utf-8", "skip_rows": "0"}
    adult_bench.post("/data/read", marks="?\nPrivate", empty="on", **fields)
    assert adult_bench.project.read_options().missing == ("", "?", "Private")
    assert "# Adult writes a missing cell" in adult_bench.project.policy_text()
    adult_bench.post("/data/undo")
    assert adult_bench.project.policy_text() == before
    assert adult_bench.project.reading == {}


def test_another_table_may_get_a_policy_of_its_own(adult_bench):
    words = drop(adult_bench, "people.csv", PEOPLE)
    assert "The policy names 15 columns that this table doesn't have: workclass," in words
    before = adult_bench.project.policy_text()
    adult_bench.post("/data/read", new="1", delimiter="", header="", marks="")
    assert not adult_bench.project.has_policy
    assert adult_bench.project.policy_file.name == "people.policy.toml"
    assert (adult_bench.folder / "policy.toml").read_text() == before
    assert "columns that this table doesn't have" not in adult_bench.get("/data")


# ---------------------------------------------------------------------- columns


def test_a_column_that_is_nearly_numbers_says_how_many_cells_are_not():
    numbers = [str(it) for it in range(97)]
    rows = pl.DataFrame(
        {
            "pay": [*numbers, "none", "none", "??"],
            "day": ["2020-01-01"] * 99 + ["1.1.2020"],
            "town": ["Ulm", "Bonn"] * 50,
        }
    )
    pay, day, town = profile(rows).columns
    assert (pay.misfits, pay.expected, pay.shown_misfits) == (3, "numbers", ("none", "??"))
    assert (day.misfits, day.expected) == (1, "dates")
    assert (town.misfits, town.top) == (0, (("Ulm", 0.5), ("Bonn", 0.5)))


def test_numbers_and_dates_as_other_countries_write_them_are_named():
    rows = pl.DataFrame(
        {
            "pay": ["1.234,5", "-12,25", "7", None],
            "day": ["31.12.1999", "1.2.2020", "03.04.2021", None],
            "host": ["192.168.0.1", "10.0.0.7", "8.8.8.8", "1.1.1.1"],
        }
    )
    pay, day, host = profile(rows).columns
    assert (pay.expected, pay.misfits) == ("numbers with a comma", 0)
    assert (day.expected, day.misfits) == ("dates such as 31.12.1999", 0)
    assert host.expected == ""


def test_long_numbers_have_separators_and_no_exponents():
    rows = pl.DataFrame(
        {"income": [3377, 99_962_044], "pay": [2_897.48, 1e8], "year": [1990, 2024]}
    )
    assert [it.ends for it in profile(rows).columns] == [
        ("3377", "99,962,044"),
        ("2,897.48", "100,000,000"),
        ("1990", "2024"),
    ]


def test_a_release_that_is_dropped_is_sent_to_its_page(bench):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("adult/manifest.json", "{}")
    assert "Drop it on the page Verify." in drop(bench, "adult.zip", file.getvalue())
    assert files_of(bench) == []


def test_a_search_in_a_column_that_is_gone_is_dropped(bench):
    drop(bench, "people.csv", PEOPLE)
    bench.post("/data/search", column="1", text="ulm")
    (bench.folder / "people.csv").write_text("age\n30\n")
    assert "Rows 1 to 1 of 1" in bench.get("/data")


def test_a_pipe_is_no_table(bench):
    os.mkfifo(bench.folder / "pipe.csv")
    assert "pipe.csv" not in bench.get("/data")


def test_bars_count_every_cell_once():
    values = [0, 1, 1, 2, 3, 3, 3, 10, None]
    column = profile(pl.DataFrame({"count": values})).columns[0]
    assert column.distinct == 5
    assert column.missing == 1
    assert column.ends == ("0", "10")
    # Five bins of width 2: 0 1 1 | 2 3 3 3 | | | 10.
    assert column.bars == (0.75, 1.0, 0.0, 0.0, 0.25)


def test_columns_of_every_type_are_described():
    rows = pl.DataFrame(
        {
            "whole": [1, 2, None],
            "infinite": [1.0, float("inf"), 3.0],
            "none": pl.Series([None, None, None], dtype=pl.Float64),
            "same": [7, 7, 7],
            "true": [True, False, None],
            "set": [["a", "b"], ["a"], None],
            "class": pl.Series(["a", "b", None], dtype=pl.Categorical),
            "empty": pl.Series([None, None, None], dtype=pl.String),
        }
    ).with_columns(
        day=pl.date(2020, 1, pl.int_range(1, 4)),
        time=pl.datetime(2020, 1, 1, pl.int_range(3)),
        clock=pl.time(pl.int_range(3)),
    )
    found = {it.name: it for it in profile(rows).columns}
    assert found["infinite"].ends == ("1", "3")
    assert found["infinite"].bars
    assert found["none"].bars == ()
    assert found["none"].share_missing == 1
    assert found["same"].bars == (1.0,)
    assert found["set"].top == (("a|b", 0.5), ("a", 0.5))
    assert found["day"].ends == ("2020-01-01", "2020-01-03")
    assert [it.type for it in found.values()] == [
        *("Whole number", "Number", "Number", "Whole number", "True or false", "Set", "Category"),
        *("Text", "Date", "Date and time", "Time of day"),
    ]


def test_many_columns_are_folded(bench):
    names = ",".join(f"c{number}" for number in range(61))
    drop(bench, "wide.csv", f"{names}\n{','.join(['x'] * 61)}\n")
    assert bench.html.count('<details id="column-') == 61
    drop(bench, "narrow.csv", PEOPLE)
    assert '<details id="column-' not in bench.html


# ---------------------------------------------------------------------- rows


@pytest.fixture
def long_bench(bench):
    """A workbench with 250 rows: 1 to 250 by number, and a town that repeats."""
    rows = "".join(f"{250 - number},{'Ulm' if number % 3 else ''}\n" for number in range(250))
    drop(bench, "long.csv", "number,town\n" + rows)
    return bench


def first_cells(bench):
    return re.findall(r'<th scope="row" class="num">([\d,]+)</th>\s*<td>(.*?)</td>', bench.html)


def test_rows_are_paged(long_bench):
    long_bench.get("/data")
    assert first_cells(long_bench)[0] == ("1", "250")
    assert len(first_cells(long_bench)) == 100
    assert '<table aria-rowcount="251">' in long_bench.html
    long_bench.get("/data?first=200")
    assert len(first_cells(long_bench)) == 50
    assert first_cells(long_bench)[-1] == ("250", "1")
    assert '<tr aria-rowindex="251">' in long_bench.html


@pytest.mark.parametrize("query", ["first=-1", "first=x", "sort=9", "first=9" * 30, "down=<b>"])
def test_addresses_that_mean_nothing_show_rows(long_bench, query):
    long_bench.get(f"/data?{query}")
    assert first_cells(long_bench)


def test_rows_are_sorted_by_the_number_of_a_column(long_bench):
    long_bench.get("/data?sort=0")
    assert first_cells(long_bench)[0] == ("250", "1")
    assert 'aria-sort="ascending"' in long_bench.html
    assert 'href="/data?sort=0&amp;down=1#rows"' in long_bench.html
    long_bench.get("/data?sort=0&down=1&first=100")
    assert first_cells(long_bench)[0] == ("101", "150")
    assert 'aria-sort="descending"' in long_bench.html
    assert re.search(
        r'rel="next" href="/data\?sort=0&amp;down=1&amp;first=200#rows"', long_bench.html
    )
    long_bench.get("/data?sort=1&first=200")  # the missing ones are last
    assert '<span class="soft">missing</span>' in long_bench.html


def test_rows_are_searched_without_a_cell_in_the_address(long_bench):
    long_bench.post("/data/search", column="1", text="uLM")
    assert long_bench.path == "/data"
    assert "Rows 1 to 100 of 166" in long_bench.get("/data")
    long_bench.get("/data?sort=0")
    assert first_cells(long_bench)[0] == ("249", "2")
    long_bench.post("/data/search", column="0", text="25")
    assert [it for _, it in first_cells(long_bench)] == ["250", "225", "125", "25"]
    assert "No row has this text" in long_bench.post("/data/search", column="1", text=".*")
    long_bench.post("/data/search", column="1", text="")
    assert "of 250" in long_bench.get("/data")
    assert "no such column" in long_bench.post("/data/search", column="2", text="x")


def test_very_wide_tables_show_fewer_rows(bench, monkeypatch):
    monkeypatch.setattr(_data, "_CELLS", 30)
    drop(bench, "people.csv", "a,b\n" + "1,2\n" * 40)
    assert len(first_cells(bench)) == 15


# ---------------------------------------------------------------------- hostile tables


@pytest.mark.parametrize("canary", [MARKUP, TEMPLATE, TURNED, "x" * 300, "</script>", "a\tb"])
def test_names_and_cells_are_text_and_stay_on_the_page(bench, canary):
    table = pl.DataFrame({canary: ["1", canary, None], "other": [canary, "2", f"Z{canary}"]})
    file = io.BytesIO()
    table.write_parquet(file)
    drop(bench, "people.parquet", file.getvalue())
    assert bench.project.rows().columns[0] == canary
    for path in ("/data?sort=0", "/data?sort=1&down=1", "/data?first=1"):
        bench.get(path)
        html = bench.html
        tags = controls_of(html).tags
        assert "<img" not in html
        assert not [tag for tag, found in tags if "onerror" in found or "style" in found]
        assert [found.get("src") for tag, found in tags if tag == "script"] == [
            "/static/workbench.js"
        ]
        assert "49" not in re.findall(r"<td>(.*?)</td>", html)
        assert "\u202e" not in html
        title = found_in(r"<title>(.*?)</title>", html)[1]
        addresses = [found[it] for _, found in tags for it in ("href", "action") if it in found]
        for each in (title, *addresses):
            assert canary[:20] not in each
    bench.post("/data/search", column="0", text=canary)
    notices = found_in(r'<div id="notices".*?</div>', bench.html)[0]
    assert canary[:20] not in notices


def test_no_cell_is_in_an_error(bench):
    words = drop(bench, "people.csv", "a,b\n1,2\ncanary,2,3\n")
    notices = found_in(r'<div id="notices".*?</div>', bench.html)[0]
    assert "has 3 cells" in words
    assert "canary" not in notices


def test_long_cells_are_cut(bench):
    drop(bench, "people.csv", "a,b\n1," + "y" * 100_000 + "\n")
    assert "y" * 200 in bench.html
    assert "y" * 201 not in bench.html


@pytest.mark.parametrize("content", [PEOPLE, "age,town\n30,?\n31,\n"])
def test_each_control_has_an_id_and_a_label(bench, content):
    bench.get("/data")
    pages = [bench.html]
    drop(bench, "people.csv", content)
    pages.append(bench.html)
    drop(bench, "broken.csv", b"a,b\n1,2,3\n")
    pages.append(bench.html)
    for html in pages:
        found = controls_of(html)
        assert len(found.ids) == len(set(found.ids))
        for control in found.controls:
            assert control["id"] in found.labelled or control.get("type") == "checkbox"


def test_get_changes_nothing(bench):
    drop(bench, "people.csv", PEOPLE)
    before = {each: each.read_bytes() for each in bench.folder.rglob("*") if each.is_file()}
    for path in ("/data", "/data?sort=1&down=1", "/data?first=1"):
        bench.get(path)
    after = {each: each.read_bytes() for each in bench.folder.rglob("*") if each.is_file()}
    assert after == before


def test_too_many_files_of_a_name_are_refused(bench, monkeypatch):
    monkeypatch.setattr(_table_files, "_MOST_ALIKE", 2)
    drop(bench, "x.csv", "a\n1\n")
    assert "too many files of this name" in drop(bench, "x.csv", "a\n2\n")
    assert files_of(bench) == ["x.csv"]
    assert bench.project.rows().item() == 1

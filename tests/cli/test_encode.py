"""``halfmask encode`` and ``halfmask decode``: a codec in a vault, rows out, answers home."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import halfmask.encode._plan_bytes as plan_bytes
from halfmask.encode import Codec
from halfmask.vault import KeyFile, Vault


def people(n=300, seed=0):
    """Return rows in which every text is a canary."""
    rng = np.random.default_rng(seed)
    age = rng.integers(17, 90, n)
    town = rng.choice(["CANARY-Bree", "CANARY-Dale", "CANARY-Ost"], n, p=[0.6, 0.3, 0.1])
    pays = np.where(age + 20 * (town == "CANARY-Bree") > 60, "CANARY-yes", "CANARY-no")
    return pl.DataFrame(
        {"age": age, "wage": rng.normal(30_000, 9_000, n), "town": town, "pays": pays}
    )


class Home:
    """A folder with a vault and a table, and the words that name them."""

    def __init__(self, folder: Path):
        self.folder = folder / "CANARY-folder"
        self.folder.mkdir()
        self.where, self.key = self.folder / "vault", self.folder / "key"
        self.vault = Vault.create(self.where, lock=KeyFile.create(self.key))
        self.rows = people()
        self.rows.write_parquet(self / "people.parquet")

    def __truediv__(self, name):
        return self.folder / name

    def sealed(self, codec="adult"):
        return ["--vault", self.where, "--codec", codec, "--key-file", self.key]

    def fit(self, *more, codec="adult", table="people.parquet", learner="trees"):
        words = ["encode", "fit", self / table, "--learner", learner, *self.sealed(codec)]
        return [*words, *more]

    def apply(self, out, *more, codec="adult", table="people.parquet"):
        return ["encode", "apply", self / table, self / out, *self.sealed(codec), *more]

    def decode(self, encoded, out, *more, codec="adult"):
        return ["decode", self / encoded, self / out, *self.sealed(codec), *more]

    def names(self):
        return {path.name for path in self.folder.iterdir()}


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path)


@pytest.fixture
def fitted(home, run):
    """A home whose vault holds the codec `adult`."""
    assert run(*home.fit("--target", "pays")).status == 0
    return home


def test_there_and_back(run, home):
    """Fit, apply, decode: the rows that left come back, and nothing said holds a cell."""
    made = run(*home.fit("--target", "pays"))
    sent = run(*home.apply("sent.parquet", "--number", 3))
    back = run(*home.decode("sent.parquet", "back.parquet", "--number", 3, "--expect-rows", 300))

    assert [made.status, sent.status, back.status] == [0, 0, 0], made.err + sent.err + back.err
    assert pl.read_parquet(home / "back.parquet").equals(home.rows)
    assert b"CANARY" not in (home / "sent.parquet").read_bytes()
    for answer in (made, sent, back):
        assert answer.out == ""
        assert "CANARY" not in answer.err
    assert "order-leaking" in made.err
    assert "300 rows" in sent.err
    sealed = b"".join(it.read_bytes() for it in home.where.rglob("*") if it.is_file())
    assert b"CANARY" not in sealed
    assert {stat.S_IMODE(it.stat().st_mode) for it in home.where.rglob("*") if it.is_file()} == {
        0o600
    }


def test_programs_get_one_object(run, home):
    made = run(*home.fit("--target", "pays", "--json"))
    sent = run(*home.apply("sent.parquet", "--json"))
    back = run(*home.decode("sent.parquet", "back.parquet", "--json"))

    codec = Codec.from_bytes(home.vault.unseal("codec/adult", context="codec/adult"))
    assert made.json["claims"][0] == {
        "learner": codec.claims[0].learner,
        "scope": codec.claims[0].scope,
        "condition": codec.claims[0].condition,
    }
    assert [it["name"] for it in made.json["weaknesses"]] == [it.name for it in codec.weaknesses]
    assert (made.json["features"], made.json["columns_sent"]) == (3, 3)
    codes = [it.token for it in codec.plan_.codes]
    assert len(codes) == 1
    assert sent.json == {"ok": True, "rows": 300, "features": 3, "number": 0, "codes": codes}
    assert back.json == {"ok": True, "rows": 300, "predictions": False, "number": 0}


def test_what_is_no_number_is_said(run, home):
    """A learner elsewhere has to be told which columns are codes; the target isn't one of them."""
    assert run(*home.fit("--target", "pays", "--categorical", "age")).status == 0
    sent = run(*home.apply("sent.parquet"))

    codec = Codec.from_bytes(home.vault.unseal("codec/adult", context="codec/adult"))
    (said,) = re.findall(r"^Codes of categories, not numbers: (.+)$", sent.err, re.MULTILINE)
    columns = pl.read_parquet_schema(home / "sent.parquet")
    assert set(said.split(", ")) == {it.token for it in codec.plan_.codes}
    assert said.split(", ") == [name for name in columns if name in said]
    assert len(said.split(", ")) == 2


def test_what_holds_of_many_columns_is_said_once(run, home):
    """Weaknesses that are alike are one line, with the number or the names of their columns."""
    home.rows.with_columns(home.rows["town"].alias("seat")).write_parquet(home / "two.parquet")

    few = run(*home.fit("--target", "pays", table="two.parquet"))
    named = run(*home.fit("--target", "pays", "-v", table="two.parquet", codec="other"))

    (number,) = re.findall(r"^- equality-leaking \((\d+)\): .* its code", few.err, re.MULTILINE)
    (names,) = re.findall(r"^- equality-leaking \((.+)\): .* its code", named.err, re.MULTILINE)
    assert names.startswith("town, seat")
    assert int(number) == len(names.split(", "))


def _answered(home, run, *more, learner="trees", target="pays"):
    """Encode other rows without their target, and answer for each what its first column says."""
    rest = people(seed=1)
    rest.drop(target).write_parquet(home / "rest.parquet")
    assert run(*home.fit("--target", target, *more, learner=learner)).status == 0
    assert run(*home.apply("asked.parquet", "--number", 7, table="rest.parquet")).status == 0
    codec = Codec.from_bytes(home.vault.unseal("codec/adult", context="codec/adult"))
    codes = codec.encode_target(rest, batch=7 << 32)[codec.target_name_]
    return rest, codec, codes


def test_classes_come_home(run, home):
    rest, _, codes = _answered(home, run)
    pl.DataFrame({"row": np.arange(300), "answer": codes}).write_csv(home / "answer.csv")

    words = ("--predictions", "--column", "answer", "--number", 7)
    done = run(*home.decode("answer.csv", "said.csv", *words))

    assert done.status == 0, done.err
    assert pl.read_csv(home / "said.csv")["pays"].equals(rest["pays"])
    assert "CANARY" not in done.out + done.err


def test_probabilities_come_home(run, home):
    rest, codec, codes = _answered(home, run, learner="distances")
    certain = np.eye(2)[codes.to_numpy()]
    pl.DataFrame(certain, schema=["0", "1"]).write_parquet(home / "answer.parquet")

    words = ("--predictions", "--number", 7, "--json")
    done = run(*home.decode("answer.parquet", "said.parquet", *words))

    assert done.json["predictions"]
    said = pl.read_parquet(home / "said.parquet")
    assert said.columns == codec.classes_
    assert (said["CANARY-yes"] == (rest["pays"] == "CANARY-yes").cast(pl.Float64)).all()


def test_predictions_come_home_without_a_number(run, home):
    """The vault's receipt says which file they are of; what isn't certain is said."""
    rest, _, codes = _answered(home, run)
    pl.DataFrame({"answer": codes}).write_csv(home / "answer.csv")
    assert run(*home.apply("train.parquet")).status == 0  # as many rows, another order

    either = run(*home.decode("answer.csv", "x.csv", "--predictions", "--json"))
    wrong = run(*home.decode("answer.csv", "x.csv", "--predictions", "--number", 2, "--json"))
    assert [it.json["code"] for it in (either, wrong)] == ["data", "data"]
    assert "2 tables of 300 rows were encoded" in either.json["error"]
    assert not (home / "x.csv").exists()

    rest[:200].drop("pays").write_parquet(home / "few.parquet")
    assert run(*home.apply("few.csv", "--number", 8, table="few.parquet")).status == 0
    codec = Codec.from_bytes(home.vault.unseal("codec/adult", context="codec/adult"))
    few = codec.encode_target(rest[:200], batch=8 << 32)[codec.target_name_]
    pl.DataFrame({"answer": few}).write_csv(home / "few answer.csv")
    done = run(*home.decode("few answer.csv", "said.csv", "--predictions"))

    assert done.status == 0, done.err
    assert "200 predictions of the file with number 8" in done.err
    assert "Encode with --ids" in done.err
    assert pl.read_csv(home / "said.csv")["pays"].equals(rest["pays"][:200])


def test_predictions_with_ids_come_home_in_any_order(run, home):
    rest, codec, codes = _answered(home, run)
    assert (
        run(*home.apply("asked.parquet", "--ids", "--overwrite", table="rest.parquet")).status == 0
    )
    sent = pl.read_parquet(home / "asked.parquet")
    codes = codec.encode_target(rest, batch=0)[codec.target_name_]
    some = sent.with_columns(answer=codes).sample(120, seed=1, shuffle=True)
    some.select("row_id", "answer").write_csv(home / "answer.csv")

    done = run(*home.decode("answer.csv", "said.csv", "--predictions"))

    assert done.status == 0, done.err
    assert "--ids" not in done.err
    said = pl.read_csv(home / "said.csv")
    assert said.columns == ["row", "pays"]
    assert said["pays"].equals(rest["pays"].gather(said["row"]))


def test_receipts_of_a_codec_are_not_those_of_another_one_of_its_name(run, fitted):
    assert run(*fitted.apply("sent.parquet", "--number", 4)).status == 0
    fitted.vault.destroy("codec/adult")
    people(seed=9).write_parquet(fitted / "others.parquet")
    assert run(*fitted.fit("--target", "pays", table="others.parquet")).status == 0
    pl.DataFrame({"answer": [0] * 300}).write_csv(fitted / "answer.csv")

    lost = run(*fitted.decode("answer.csv", "x.csv", "--predictions", "--json"))

    assert "knows of no encoded table" in lost.json["error"]
    assert "--number" in lost.json["hint"] or "number" in lost.json["hint"]


def test_regressions_come_home(run, home):
    rest, _, numbers = _answered(home, run, learner="linear", target="wage")
    pl.DataFrame({"answer": numbers}).write_parquet(home / "answer.parquet")

    done = run(*home.decode("answer.parquet", "said.csv", "--predictions", "--number", 7))

    assert done.status == 0, done.err
    assert np.allclose(pl.read_csv(home / "said.csv")["wage"], rest["wage"], rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["csv", "arrow", "parquet"])
def test_the_end_of_a_name_says_the_format(run, fitted, end):
    out = f"sent.{end}"
    assert run(*fitted.apply(out)).status == 0
    assert run(*fitted.decode(out, f"back.{end}")).status == 0

    read = {"csv": pl.read_csv, "arrow": pl.read_ipc, "parquet": pl.read_parquet}[end]
    assert read(fitted / f"back.{end}").equals(fitted.rows)


def test_a_name_that_ends_in_a_slash_is_a_folder(run, home):
    engine = ["--engine", "local"]
    made = run(*home.fit("--target", "pays", *engine))
    words = ["encode", "apply", home / "people.parquet", f"{home / 'sent'}/", *home.sealed()]
    sent = run(*words, "--leave-out", "wage", *engine)
    assert (made.status, sent.status) == (0, 1)  # the codec has that column
    sent, again, csv = run(*words, *engine), run(*words), run(*words, "--out-format", "csv")
    back = run(*home.decode("sent", "back.parquet"))

    assert [sent.status, again.status, csv.status, back.status] == [0, 1, 2, 0]
    assert [path.name for path in (home / "sent").iterdir()] == ["part-000000.parquet"]
    assert pl.read_parquet(home / "back.parquet").equals(home.rows)


def test_a_text_file_is_read_with_the_types_of_the_fit(run, fitted):
    """Wages that happen to be whole are wages."""
    few = fitted.rows.head(5).with_columns(pl.col("wage").round(0))
    few.with_columns(pl.col("wage").cast(pl.Int64)).write_csv(fitted / "few.csv")

    sent = run(*fitted.apply("few.parquet", table="few.csv"))
    assert run(*fitted.apply("sent.parquet")).status == 0

    assert sent.status == 0, sent.err
    assert pl.read_parquet(fitted / "few.parquet").schema == (
        pl.read_parquet(fitted / "sent.parquet").schema
    )


def test_leading_zeros_of_a_later_file_are_refused(run, home):
    (home / "fit.csv").write_text("zip,n\n10001,1\n2116,2\n60601,3\n")
    (home / "later.csv").write_text("zip,n\n10001,1\n02116,2\n")
    (home / "plain.csv").write_text("zip,n\n10001,1\n2116.0,2\n,3\n")
    assert (
        run(*home.fit("--missing-cells", "hidden", table="fit.csv", learner="linear")).status == 0
    )

    answer = run(*home.apply("x.parquet", "--json", table="later.csv"))

    assert (answer.status, answer.json["code"]) == (1, "schema")
    assert "'zip' held Int64 at the fit" in answer.json["error"]
    assert "2116" not in answer.out + answer.err
    assert not (home / "x.parquet").exists()
    assert run(*home.apply("y.parquet", table="plain.csv")).status == 0
    assert run(*home.decode("y.parquet", "back.parquet")).status == 0
    assert pl.read_parquet(home / "back.parquet")["zip"].to_list() == [10001, 2116, None]


def test_columns_are_left_out_and_numbers_called_categories(run, home):
    rows = home.rows.with_columns(
        pl.Series("name", [f"CANARY{i}" for i in range(300)]), pl.col("age") // 20
    )
    rows.write_csv(home / "people.csv")
    words = ("--leave-out", "name", "--categorical", "age")

    made = run(*home.fit(*words, "--json", table="people.csv"))
    sent = run(*home.apply("sent.parquet", "--leave-out", "name", table="people.csv"))
    whole = run(*home.apply("all.parquet", "--json", table="people.csv"))

    assert made.json["features"] == 4
    codec = Codec.from_bytes(home.vault.unseal("codec/adult", context="codec/adult"))
    assert {it.name for it in codec.plan_.codes} == {"age", "town", "pays"}
    assert sent.status == 0
    assert run(*home.decode("sent.parquet", "back.csv")).status == 0
    assert pl.read_csv(home / "back.csv").equals(rows.drop("name"))
    assert (whole.json["code"], "'name'" in whole.json["error"]) == ("schema", True)
    for option in ("--leave-out", "--categorical"):
        lost = run(*home.fit(option, "nmae", "--json", codec="other", table="people.csv"))
        assert (lost.status, lost.json["code"]) == (1, "column-not-found")


@pytest.mark.slow
@pytest.mark.parametrize("word", ["visible", "hidden"])
def test_the_old_words_of_missing_are_refused(run, home, word):
    """As markers of missing cells they did nothing, and the codec was another one than asked."""
    answer = run(*home.fit("--missing", "?", "--missing", word, "--json"))

    assert (answer.status, answer.json["code"]) == (2, "usage")
    assert f"--missing-cells {word}" in answer.json["hint"]
    assert home.vault.names() == ()


def test_every_setting_reaches_the_codec(run, home):
    words = ["--missing-cells", "hidden", "--unseen", "reserve", "--out-of-range", "error"]
    words += ["--rows", "kept", "--strength", "0.5", "--by", "town", "--split"]
    words += ["--min-sibling-rows", "20"]

    assert run(*home.fit(*words, learner="networks")).status == 0

    codec = Codec.from_bytes(home.vault.unseal("codec/adult", context="codec/adult"))
    assert (codec.learner, codec.missing, codec.unseen) == ("networks", "hidden", "reserve")
    assert (codec.out_of_range, codec.rows, codec.strength) == ("error", "kept", 0.5)
    assert (codec.by, codec.split, codec.min_sibling_rows) == ("town", True, 20)


def test_a_name_that_is_taken_stays_what_it_is(run, fitted):
    """What it encoded can't be decoded by another one."""
    before = fitted.vault.unseal("codec/adult", context="codec/adult")

    again = run(*fitted.fit("--json", learner="linear"))

    assert (again.status, again.json["code"]) == (1, "vault")
    assert fitted.vault.unseal("codec/adult", context="codec/adult") == before


def test_two_fits_share_no_key(run, fitted):
    assert run(*fitted.fit("--target", "pays", codec="other")).status == 0

    for name in ("adult", "other"):
        assert run(*fitted.apply(f"{name}.parquet", codec=name)).status == 0

    one, two = (pl.read_parquet(fitted / f"{it}.parquet") for it in ("adult", "other"))
    assert not set(one.columns) & set(two.columns)


def _flip(path):
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))


def _wrong_key(home, _):
    home.key.unlink()
    KeyFile.create(home.key)


def _tampered(home, _):
    _flip(max(home.where.rglob("*.sealed"), key=lambda it: it.stat().st_size))


def _another_codec(home, run):
    people(seed=9).write_parquet(home / "others.parquet")
    home.vault.destroy("codec/adult")
    assert run(*home.fit("--target", "pays", table="others.parquet")).status == 0


def _another_version(home, _):
    plan = home.vault.unseal("codec/adult", context="codec/adult")
    now = str(plan_bytes.PLAN_VERSION).encode()
    old = plan.replace(b'"version": ' + now, b'"version": 0', 1)
    old = old.replace(b'"version":' + now, b'"version":0', 1)
    assert old != plan
    home.vault.seal("codec/adult", old, context="codec/adult", overwrite=True)


def _swapped(home, run):
    assert run(*home.fit(codec="other")).status == 0
    other = home.vault.unseal("codec/other", context="codec/other")
    home.vault.seal("codec/adult", other, context="codec/other", overwrite=True)


def _absent(home, _):
    home.vault.destroy("codec/adult")


SPOILS = {
    "wrong key": (_wrong_key, "key-mismatch"),
    "tampered byte": (_tampered, "integrity"),
    "another dataset's codec": (_another_codec, "key-mismatch"),
    "another version": (_another_version, "data"),
    "swapped codecs": (_swapped, "key-mismatch"),
    "no codec": (_absent, "vault"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("spoil", "code"), SPOILS.values(), ids=SPOILS)
def test_nothing_is_written_by_a_codec_that_is_not_the_one(run, fitted, spoil, code):
    """An error before any output, for rows, predictions, and rows on their way out."""
    assert run(*fitted.apply("sent.parquet")).status == 0
    spoil(fitted, run)
    before = fitted.names()

    answers = [run(*fitted.decode("sent.parquet", "back.parquet", "--json"))]
    answers.append(run(*fitted.decode("sent.parquet", "-")))
    if spoil is not _another_codec:
        answers.append(run(*fitted.decode("sent.parquet", "x.csv", "--predictions", "--json")))
        answers.append(run(*fitted.apply("x.parquet", "--json")))

    assert fitted.names() == before
    assert [it.status for it in answers] == [1] * len(answers)
    assert {it.json["code"] for it in answers if it.out} == {code}
    assert answers[1].out == ""
    for answer in answers:
        assert "CANARY" not in answer.out + answer.err


def test_rows_that_do_not_fit_are_named_by_column(run, fitted):
    """An unseen category, a retyped column, a missing one: no file, and no cell in what is said."""
    changes = {
        "unseen": fitted.rows.with_columns(pl.lit("CANARY-Mordor").alias("town")),
        "retyped": fitted.rows.with_columns(pl.col("age") / 2),
        "gone": fitted.rows.drop("age"),
        "new": fitted.rows.with_columns(pl.lit(1).alias("more")),
    }
    for name, rows in changes.items():
        rows.write_parquet(fitted / f"{name}.parquet")
        answer = run(*fitted.apply("x.parquet", "--json", table=f"{name}.parquet"))

        assert answer.status == 1, name
        assert answer.json["code"] in {"schema", "column-not-found"}
        assert re.search(r"'(town|age|more)'", answer.json["error"])
        assert "CANARY" not in answer.out + answer.err
        assert "x.parquet" not in fitted.names()


def test_a_fit_that_fails_leaves_the_vault_as_it_was(run, home):
    before = home.vault.names()
    home.rows.with_columns(pl.lit(float("inf")).alias("wage")).write_parquet(home / "bad.parquet")

    answer = run(*home.fit("--json", table="bad.parquet"))

    assert (answer.status, answer.json["code"]) == (1, "schema")
    assert home.vault.names() == before


def test_an_older_file_stays_unless_it_may_go(run, fitted):
    (fitted / "sent.parquet").write_bytes(b"mine")
    (fitted / "back.csv").write_bytes(b"mine")

    assert run(*fitted.apply("sent.parquet")).status == 1
    assert (fitted / "sent.parquet").read_bytes() == b"mine"
    assert run(*fitted.apply("sent.parquet", "--overwrite")).status == 0
    assert run(*fitted.decode("sent.parquet", "back.csv")).status == 1
    assert (fitted / "back.csv").read_bytes() == b"mine"
    assert run(*fitted.decode("sent.parquet", "back.csv", "--overwrite")).status == 0


def test_answers_that_are_fewer_than_the_questions(run, fitted):
    assert run(*fitted.apply("sent.parquet")).status == 0
    pl.DataFrame({"answer": [0, 1]}).write_parquet(fitted / "answer.parquet")
    words = fitted.decode("answer.parquet", "said.csv", "--predictions", "--json")

    few = run(*words, "--expect-rows", 300)
    lost = run(*words, "--column", "anwser")
    free = run(*words, "--unordered")

    assert (few.status, few.json["code"]) == (1, "data")
    assert (lost.status, lost.json["code"]) == (1, "column-not-found")
    assert free.status == 0
    assert pl.read_csv(fitted / "said.csv")["pays"].to_list() == ["CANARY-no", "CANARY-yes"]


MISUSES = {
    "no lock": lambda home: ["encode", "apply", home / "a", home / "b.csv", *home.sealed()[:4]],
    "two locks": lambda home: [*home.fit(), "--keyring"],
    "no format": lambda home: home.apply("sent.dat"),
    "two outputs": lambda home: [*home.apply("x")[:3], "-", *home.sealed()],
    "no learner": lambda home: ["encode", "fit", home / "people.parquet", *home.sealed()],
    "columns of rows": lambda home: home.decode("a.csv", "b.csv", "--column", "x"),
    "two inputs": lambda home: [
        "decode", "-", home / "b.csv", *home.sealed()[:4], "--passphrase-file", "-",
    ],
    "nothing": lambda _: ["encode", "fit"],
}  # fmt: skip


@pytest.mark.parametrize("words", MISUSES.values(), ids=MISUSES)
def test_wrong_usage(run, home, words, monkeypatch):
    monkeypatch.setattr("sys.stdin.isatty", lambda: False)
    answer = run(*words(home), "--json")

    assert (answer.status, answer.json["code"]) == (2, "usage")
    assert "CANARY" not in answer.out + answer.err


def test_alone_it_helps(run):
    answer = run("encode")

    assert answer.status == 2
    for command in ("fit", "apply"):
        assert re.search(rf"^  {command} +[A-Z].*[a-z]\.$", answer.out, re.MULTILINE)


@pytest.mark.mostly_slow
@pytest.mark.parametrize("command", ["encode fit", "encode apply", "decode"])
def test_help_explains_every_option_and_loads_nothing_heavy(start, command):
    code = (
        "import sys; from halfmask.cli import main; main();"
        "sys.stderr.write('\\n' + ' '.join({name.split('.')[0] for name in sys.modules}))"
    )
    answer = start(*command.split(), "--help", code=code)

    assert f"Usage: halfmask {command} [OPTIONS]" in answer.out
    for block in re.split(r"\n  (?=-)", answer.out)[1:]:
        _, *rest = re.split(r"\s{2,}", block, maxsplit=1)
        assert rest
    loaded = set(answer.err.split())
    assert "typer" in loaded
    assert not loaded & {"cryptography", "polars", "pyarrow", "numpy", "numba", "sklearn"}


@pytest.mark.slow
def test_numbers_beside_a_marker_are_said_and_read_by_options(run, home):
    """One NA makes names of all numbers; --categorical of another column must not silence that."""
    rows = ["age,town", "NA,CANARY-x", *(f"{i},CANARY-{i % 3}" for i in range(60))]
    (home / "mixed.csv").write_text("\n".join(rows))
    said = ["--dtype", "age=integer", "--coerce", "age"]

    silent = run(*home.fit("--categorical", "town", table="mixed.csv"))
    read = run(*home.fit(*said, codec="b", table="mixed.csv"))
    sent = run(*home.apply("sent.parquet", *said, codec="b", table="mixed.csv"))
    back = run(*home.decode("sent.parquet", "back.csv", codec="b"))

    assert [each.status for each in (silent, read, sent, back)] == [0, 0, 0, 0]
    assert "Warning: Column 'age' looks like numbers" in silent.err
    assert "1 of 61 cells" in read.err
    assert "looks like" not in read.err
    assert (home / "back.csv").read_text().splitlines() == ["age,town", ",CANARY-x", *rows[2:]]


def _said_for_a_program(answer):
    """Return whether an answer speaks of parameters of Python."""
    return re.search(r"""\w=["'\w]|'\w+' parameter|\w+\(|=(None|True|False)""", answer.err)


def test_errors_speak_of_options(run, home):
    """`task="classification"` was told where the option is `--task`."""
    rows = home.rows.with_columns(
        ratio=pl.Series([1e15, *np.random.default_rng(0).uniform(0.04, 0.06, 299)]),
        gap=pl.lit(1.5),
    )
    rows.write_parquet(home / "people.parquet")
    rows.with_columns(
        gap=pl.lit(None, pl.Float64), town=pl.lit("CANARY-Mordor"), age=pl.lit(10**6)
    ).write_parquet(home / "later.parquet")
    rows.with_columns(gap=pl.lit(None, pl.Float64)).write_parquet(home / "gap.parquet")
    cases = {
        "--task classification or --task regression": home.fit("--target", "age"),
        "--precision column": home.fit(learner="linear"),
        "--learner networks": home.fit("--strength", 1, learner="linear"),
        "--strength bends columns": home.fit("--strength", 1, learner="linear"),
        "--by needs a matrix": home.fit("--by", "town"),
    }
    for said, words in cases.items():
        answer = run(*words)
        assert answer.status == 1, said
        assert said in " ".join(answer.err.split())
        assert not _said_for_a_program(answer), answer.err

    words = ("--precision", "column", "--out-of-range", "error")
    assert run(*home.fit(*words, learner="linear")).status == 0
    assert run(*home.fit(codec="ranks")).status == 0
    answers = {
        "--missing-cells hidden": run(*home.apply("x.parquet", table="gap.parquet")),
        "--unseen reserve": run(*home.apply("x.parquet", table="later.parquet", codec="ranks")),
    }
    pl.DataFrame({"answer": [0.5]}).write_csv(home / "answer.csv")
    assert run(*home.apply("sent.parquet")).status == 0
    answers["--ids"] = run(*home.decode("answer.csv", "x.csv"))
    for said, answer in answers.items():
        assert answer.status == 1, said
        assert not _said_for_a_program(answer), answer.err
        if said != "--ids":
            assert said in " ".join(answer.err.split())

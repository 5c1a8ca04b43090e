"""Files through a codec: the same rows come back, of any length, in any format."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

from encode.any_table import (  # type: ignore[import-not-found] # beside, not in a package
    CELLS,
    NARROW,
    SECRET,
    is_back,
    tables,
)
from halfmask import (
    ColumnWarning,
    DataError,
    KeyMismatchError,
    ParameterError,
    ReleaseError,
    SchemaError,
)
from halfmask.data import ReadOptions, open_table, write_table
from halfmask.encode import (
    PLAN_VERSION,
    Codec,
    FileCount,
    Task,
    _files,
    decode_file,
    decode_predictions_file,
    encode_file,
    fit_file,
)
from halfmask.encode._codes import Codes

LEARNERS = ("trees", "distances", "linear", "networks")
FORMATS = ("parquet", "csv", "arrow")
FEW = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def short_batches(monkeypatch):
    """Cut files into batches of 64 rows, so that few rows have many."""
    monkeypatch.setattr(_files, "_MAX_ROWS", 64)


@pytest.fixture
def codec(table, secret):
    """A codec that knows a target of classes."""
    return Codec(learner="trees", secret=secret).fit(table.drop_nulls(), target="town")


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("settings", [{}, {"missing": "hidden"}, {"rows": "kept"}])
def test_a_file_of_many_batches_comes_back(table, secret, tmp_path, learner, form, settings):
    write_table(table, tmp_path / "rows.parquet")
    codec = fit_file(
        Codec(learner=learner, secret=secret, **settings), tmp_path / "rows.parquet",
        target="member",
    )  # fmt: skip

    sent = encode_file(codec, tmp_path / "rows.parquet", tmp_path / "sent", format=form)
    came = decode_file(codec, tmp_path / "sent", tmp_path / "back.parquet")

    assert sent == came == FileCount(rows=400, batches=7)
    assert is_back(pl.read_parquet(tmp_path / "back.parquet").select(table.columns), table)
    assert _names(tmp_path) == ["back.parquet", "rows.parquet", "sent"]


@pytest.mark.slow
@FEW
@given(
    table=tables(CELLS),
    missing=st.sampled_from(["visible", "hidden"]),
    form=st.sampled_from(FORMATS),
    size=st.integers(1, 7),
    number=st.integers(0, 2**31),
)
def test_any_table_comes_back_bit_by_bit_from_trees_in_any_format(
    table, missing, form, size, number
):
    codec = Codec(learner="trees", secret=SECRET, missing=missing).fit(table)

    assert _there_and_back(codec, table, form, size, number).equals(table)


@pytest.mark.slow
@FEW
@given(
    table=tables(NARROW),
    learner=st.sampled_from(LEARNERS[1:]),
    missing=st.sampled_from(["visible", "hidden"]),
    form=st.sampled_from(FORMATS),
    size=st.integers(1, 7),
    number=st.integers(0, 2**31),
)
def test_any_table_comes_back_from_a_matrix_in_any_format(
    table, learner, missing, form, size, number
):
    codec = Codec(learner=learner, secret=SECRET, missing=missing).fit(table)

    assert is_back(_there_and_back(codec, table, form, size, number), table)


def _there_and_back(codec, table, form, size, number):
    """Return the rows that a file of batches of some size decodes to."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(_files, "_MAX_ROWS", size)
        sent, back = Path(folder) / "sent", Path(folder) / "back.arrow"
        encode_file(codec, table, sent, format=form, number=number)
        decode_file(codec, sent, back, number=number)
        return pl.read_ipc(back.read_bytes())


@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_file_holds_what_the_codec_makes_of_each_batch(table, secret, tmp_path, learner):
    codec = Codec(learner=learner, secret=secret).fit(table, target="member")

    encode_file(codec, table, tmp_path / "sent.parquet", number=3)

    sent = pl.read_parquet(tmp_path / "sent.parquet")
    for place, batch in enumerate(table.iter_slices(64)):
        same = codec.encode(batch, batch=3 * 2**32 + place)
        assert sent[64 * place :][: batch.height].equals(same)


@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("rows", [1, 63, 64, 65, 128, 256, 257])
def test_rows_at_the_edges_of_batches_come_back(secret, tmp_path, rows):
    table = pl.DataFrame({"n": range(rows), "odd": [n % 2 == 1 for n in range(rows)]})
    codec = fit_file(Codec(learner="distances", secret=secret), table)

    count = encode_file(codec, table, tmp_path / "sent.parquet")
    decode_file(codec, tmp_path / "sent.parquet", tmp_path / "back.parquet")

    assert count == FileCount(rows=rows, batches=-(-rows // 64))
    assert pl.read_parquet(tmp_path / "back.parquet").equals(table)


def test_the_cuts_of_files_belong_to_the_version_of_plans(table, secret):
    """Whoever moves a cut can't decode the files of before: raise the version with it."""
    few = Codec(learner="trees", secret=secret).fit(table).plan_
    many = pl.DataFrame({f"c{i}": [1, 2] for i in range(100)})
    wide = Codec(learner="trees", secret=secret).fit(many).plan_

    cuts = [_files.batch_rows(few), _files.batch_rows(wide), _files.batch_number(2, 3)]

    assert (PLAN_VERSION, cuts) == (1, [262_144, 167_772, 2 * 2**32 + 3])


@pytest.mark.usefixtures("short_batches")
def test_files_of_other_numbers_are_ordered_differently_and_decoded_by_them(secret, tmp_path):
    table = pl.DataFrame({"n": range(200)})
    codec = Codec(learner="trees", secret=secret).fit(table)
    for number in (0, 1):
        encode_file(codec, table, tmp_path / f"{number}.parquet", number=number)
    first, second = (pl.read_parquet(tmp_path / f"{number}.parquet") for number in (0, 1))

    decode_file(codec, second, tmp_path / "right.parquet", number=1)
    decode_file(codec, second, tmp_path / "found.parquet")
    with pytest.raises(DataError, match="don't belong to the table"):
        decode_file(codec, second, tmp_path / "wrong.parquet", number=0)
    decode_file(codec, second, tmp_path / "as sent.parquet", number=None)

    assert not first.equals(second)
    for name in ("right", "found"):
        assert pl.read_parquet(tmp_path / f"{name}.parquet").equals(table)
    other = pl.read_parquet(tmp_path / "as sent.parquet")
    assert not other.equals(table)
    assert other.sort("n").equals(table)


@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("learner", LEARNERS)
def test_a_fit_to_a_file_is_a_fit_to_its_rows(table, secret, tmp_path, monkeypatch, learner):
    write_table(table, tmp_path / "rows.parquet")
    whole = Codec(learner=learner, secret=secret).fit(table)
    monkeypatch.setattr("halfmask.data.io._source._MAX_ROWS", 37)

    parts = fit_file(Codec(learner=learner, secret=secret), tmp_path / "rows.parquet")

    one, other = whole.encode(table), parts.encode(table)
    assert one.columns == other.columns
    assert np.allclose(one.to_numpy(), other.to_numpy(), atol=1e-9, equal_nan=True)


@pytest.mark.slow
@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("form", FORMATS)
def test_predicted_classes_and_numbers_come_home(table, secret, tmp_path, form):
    """A model that predicts what it was trained on: its file decodes to the target."""
    rows = table.drop_nulls()
    tasks: list[tuple[str, Task | None]] = [
        ("town", None), ("age", "regression"), ("income", None),
    ]  # fmt: skip
    for target, task in tasks:
        codec = Codec(learner="networks", secret=secret).fit(rows, target=target, task=task)
        encode_file(codec, rows, tmp_path / "sent.parquet", overwrite=True)
        sent = pl.read_parquet(tmp_path / "sent.parquet")
        answers = sent.select(
            pl.col(codec.target_name_).alias("answer"), row=pl.int_range(pl.len())
        )
        write_table(answers, tmp_path / "answers", format=form, overwrite=True)

        decode_predictions_file(
            codec, tmp_path / "answers", tmp_path / "home.parquet", columns=["answer"],
            rows=rows.height, overwrite=True,
        )  # fmt: skip

        home = pl.read_parquet(tmp_path / "home.parquet")
        assert home.columns == [target]
        if target == "town":
            assert home["town"].equals(rows["town"])
        else:
            assert np.allclose(home[target], rows[target].cast(pl.Float64), rtol=1e-12)


@pytest.mark.usefixtures("short_batches")
def test_probabilities_of_split_classes_come_home_added_up(table, secret, tmp_path):
    rows = table.drop_nulls()
    codec = Codec(learner="trees", secret=secret, split=True, min_sibling_rows=5).fit(
        rows, target="town"
    )
    encode_file(codec, rows, tmp_path / "sent.parquet")
    code = pl.read_parquet(tmp_path / "sent.parquet")[codec.target_name_].to_numpy()
    assert isinstance(codec.plan_.target, Codes)
    n_codes = len(codec.plan_.target.value_of)
    sure = pl.DataFrame((code[:, None] == np.arange(n_codes)).astype(float))

    decode_predictions_file(codec, sure, tmp_path / "home.csv")

    home = pl.read_csv(tmp_path / "home.csv")
    assert home.columns == codec.classes_
    assert n_codes > len(codec.classes_)
    likeliest = [codec.classes_[i] for i in home.to_numpy().argmax(axis=1)]
    assert likeliest == rows["town"].to_list()


def test_a_text_file_is_read_as_the_fit_was(secret, tmp_path):
    """Whole numbers where decimals were, an empty column, other times: the file says no types."""
    rows = pl.DataFrame(
        {
            "x": [1.5, 2.0, None],
            "y": [1, None, 3],
            "at": [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2), None],  # noqa: DTZ001 # naive is a case
            "w": [True, False, None],
        }
    )
    codec = Codec(learner="distances", secret=secret).fit(rows)
    (tmp_path / "new.csv").write_text(
        "x,y,at,w\n2,,2020-01-02 00:00:00,\n1,,2020-01-01 00:00:00,\n"
    )

    encode_file(codec, tmp_path / "new.csv", tmp_path / "sent.parquet")
    decode_file(codec, tmp_path / "sent.parquet", tmp_path / "back.parquet")

    back = pl.read_parquet(tmp_path / "back.parquet")
    assert back.dtypes == rows.dtypes
    assert back["x"].to_list() == [2.0, 1.0]
    assert back["y"].to_list() == [None, None]
    (tmp_path / "bad.csv").write_text("x,y,at,w\n2,1.5,2020-01-02 00:00:00,true\n")
    with pytest.raises(SchemaError, match="'y' held Int64 at the fit and holds Float64"):
        encode_file(codec, tmp_path / "bad.csv", tmp_path / "bad.parquet")
    marked = ReadOptions(missing=("?",))
    (tmp_path / "marked.csv").write_text("x,y,at,w\n2,?,2020-01-02 00:00:00,true\n")
    count = encode_file(codec, tmp_path / "marked.csv", tmp_path / "m.parquet", options=marked)
    assert count.rows == 1


@pytest.mark.slow
@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("change", ["unseen", "far", "dropped", "new", "retyped", "infinite"])
def test_what_can_not_be_encoded_leaves_no_file(table, secret, tmp_path, learner, change):
    """The row that is wrong is in the last batch, behind many that were right."""
    codec = Codec(learner=learner, secret=secret, out_of_range="error").fit(table)
    last = pl.int_range(pl.len()) == table.height - 1
    changed = {
        "unseen": table.with_columns(town=pl.when(last).then(pl.lit("Canary")).otherwise("town")),
        "far": table.with_columns(age=pl.when(last).then(987_654).otherwise("age")),
        "dropped": table.drop("age"),
        "new": table.with_columns(canary=1),
        "retyped": table.with_columns(pl.col("age") / 2),
        "infinite": table.with_columns(income=pl.when(last).then(np.inf).otherwise("income")),
    }[change]

    with pytest.raises(SchemaError) as caught:
        encode_file(codec, changed, tmp_path / "sent.parquet")

    assert _names(tmp_path) == []
    assert "Canary" not in str(caught.value)
    assert "987" not in str(caught.value)


@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("learner", LEARNERS)
def test_policies_hold_in_every_batch(table, secret, tmp_path, learner):
    rows = table.drop_nulls()
    codec = Codec(learner=learner, secret=secret, unseen="reserve", rows="kept").fit(rows)
    new = rows.with_columns(town=pl.lit("Canary"), age=pl.col("age") + 100)

    encode_file(codec, new, tmp_path / "sent.parquet")

    sent = pl.read_parquet(tmp_path / "sent.parquet")
    token = next(it.token for it in codec.plan_.codes if it.name == "town")
    assert sent[token].n_unique() == 1
    back = tmp_path / "back.parquet"
    if learner == "trees":  # codes of a number's order say nothing of values beyond the fit
        with pytest.raises(DataError, match="were not there at the fit"):
            decode_file(codec, sent, back)
        assert _names(tmp_path) == ["sent.parquet"]
        return
    with pytest.warns(ColumnWarning, match=f"'town': {rows.height:,} cells"):
        decode_file(codec, sent, back)
    returned = pl.read_parquet(back)
    assert returned["town"].null_count() == rows.height
    assert is_back(returned.drop("town"), new.drop("town"))


@pytest.mark.usefixtures("short_batches")
def test_columns_may_come_in_another_order(table, secret, tmp_path):
    codec = Codec(learner="linear", secret=secret).fit(table)
    encode_file(codec, table, tmp_path / "one.parquet")
    encode_file(codec, table.select(table.columns[::-1]), tmp_path / "other.parquet")

    sent = pl.read_parquet(tmp_path / "one.parquet")
    assert sent.equals(pl.read_parquet(tmp_path / "other.parquet"))
    turned = sent.select(sent.columns[::-1]).with_columns(more=1)
    decode_file(codec, turned, tmp_path / "back.parquet")
    assert is_back(pl.read_parquet(tmp_path / "back.parquet"), table)


@pytest.mark.parametrize("learner", LEARNERS)
def test_another_codecs_file_is_refused_before_any_output(table, secret, tmp_path, learner):
    one = Codec(learner=learner, secret=secret).fit(table)
    other = Codec(learner=learner, secret=secret).fit(table[1:])
    encode_file(one, table, tmp_path / "sent.parquet")

    with pytest.raises(KeyMismatchError):
        decode_file(other, tmp_path / "sent.parquet", tmp_path / "back.parquet")
    with pytest.raises(SchemaError, match="encoded columns are not in the table"):
        decode_file(one, one.encode(table)[:, 1:], tmp_path / "back.parquet")
    text = one.encode(table).with_columns(pl.first().cast(pl.String) + " canary")
    with pytest.raises(SchemaError, match="hold no numbers") as caught:
        decode_file(one, text, tmp_path / "back.parquet")

    assert "canary" not in str(caught.value)
    assert _names(tmp_path) == ["sent.parquet"]


def test_rows_that_were_taken_out_are_told_where_they_are_counted(codec, table, tmp_path):
    sent = codec.encode(table.drop_nulls())

    with pytest.raises(DataError, match=f"{sent.height - 1} rows where {sent.height} were"):
        decode_file(codec, sent[1:], tmp_path / "back.parquet", rows=sent.height)
    with pytest.raises(DataError, match="3 rows where 9 were"):
        decode_predictions_file(
            codec, pl.DataFrame({"a": [0, 1, 0]}), tmp_path / "home.csv", rows=9
        )

    assert _names(tmp_path) == []


def test_files_without_rows_and_wrong_arguments_are_refused(codec, table, tmp_path):
    (tmp_path / "rows.csv").write_text(",".join(table.columns) + "\n")
    (tmp_path / "empty.csv").write_text("")
    for name in ("rows.csv", "empty.csv"):
        for use in (encode_file, decode_file, decode_predictions_file):
            with pytest.raises(DataError, match=r"has no rows|is empty"):
                use(codec, tmp_path / name, tmp_path / "out.parquet")
        with pytest.raises(DataError, match=r"has no rows|is empty"):
            fit_file(codec, tmp_path / name)
    with pytest.raises(ParameterError, match="'format'"):
        encode_file(codec, table, tmp_path / "out", format="xlsx")  # type: ignore[arg-type] # on purpose
    with pytest.raises(ParameterError, match="'number'"):
        encode_file(codec, table, tmp_path / "out", number=-1)
    with pytest.raises(ParameterError, match="isn't fitted"):
        encode_file(Codec(learner="trees"), table, tmp_path / "out")
    with pytest.raises(ReleaseError, match="exists"):
        encode_file(codec, table.drop_nulls(), tmp_path / "rows.csv")

    assert _names(tmp_path) == ["empty.csv", "rows.csv"]


@pytest.mark.usefixtures("short_batches")
def test_a_file_may_be_encoded_in_its_own_place(secret, tmp_path):
    table = pl.DataFrame({"n": range(300)})
    write_table(table, tmp_path / "rows.parquet")
    codec = fit_file(Codec(learner="trees", secret=secret), tmp_path / "rows.parquet")

    encode_file(codec, tmp_path / "rows.parquet", tmp_path / "rows.parquet", overwrite=True)
    decode_file(codec, tmp_path / "rows.parquet", tmp_path / "rows.parquet", overwrite=True)

    assert open_table(tmp_path / "rows.parquet").read().equals(table)


@pytest.mark.usefixtures("short_batches")
def test_progress_is_told_and_ends(codec, table, tmp_path):
    told = []
    rows = table.drop_nulls()

    fit_file(Codec(learner="trees"), rows, progress=lambda *said: told.append(said))
    encode_file(codec, rows, tmp_path / "a.parquet", progress=lambda *said: told.append(said))
    decode_file(
        codec, tmp_path / "a.parquet", tmp_path / "b.parquet",
        progress=lambda *said: told.append(said),
    )  # fmt: skip

    for stage in ("fitting", "encoding", "decoding"):
        shares = [share for word, share in told if word == stage]
        assert shares == sorted(shares)
        assert shares[-1] == 1.0

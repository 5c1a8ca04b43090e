"""What comes back is put in the order of the rows that it belongs to, or refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from encode.any_table import (  # type: ignore[import-not-found] # beside, not in a package
    is_back,
)
from halfmask import DataError, ParameterError
from halfmask.encode import (
    Codec,
    EncodingReceipt,
    _files,
    decode_file,
    decode_predictions_file,
    encode_file,
)


def _rows(n=3_000, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"x": rng.integers(0, 10**6, n), "y": rng.integers(0, 10**6, n)})


@pytest.fixture
def codec(secret):
    """A codec whose target is what a perfect model answers."""
    return Codec(learner="linear", secret=secret).fit(_rows(), target="y", task="regression")


def _answers(codec, sent):
    return sent.select(answer=codec.target_name_)


@pytest.mark.parametrize("number", [0, 1, 7])
def test_predictions_find_their_file(codec, tmp_path, number):
    """Without a number 3,000 predictions were decoded to a wrong order: correlation 0.009."""
    asked = _rows(seed=1)
    encode_file(codec, asked, tmp_path / "asked.parquet", number=number)
    encode_file(codec, _rows(500), tmp_path / "other.parquet", number=number + 1)
    _answers(codec, pl.read_parquet(tmp_path / "asked.parquet")).write_csv(tmp_path / "said.csv")

    done = decode_predictions_file(codec, tmp_path / "said.csv", tmp_path / "home.parquet")

    assert (done.number, done.by_count) == (number, True)
    home = pl.read_parquet(tmp_path / "home.parquet")["y"]
    assert home.round().cast(pl.Int64).equals(asked["y"])


def test_predictions_that_may_be_of_two_files_are_refused(codec, tmp_path):
    for number in (1, 2):
        encode_file(codec, _rows(seed=number), tmp_path / f"{number}.parquet", number=number)
    sent = [pl.read_parquet(tmp_path / f"{number}.parquet") for number in (1, 2)]
    home = tmp_path / "home.parquet"

    with pytest.raises(DataError, match="2 tables of 3,000 rows were encoded"):
        decode_predictions_file(codec, _answers(codec, sent[1]), home)
    with pytest.raises(DataError, match="don't belong to the table"):
        decode_predictions_file(codec, _answers(codec, sent[1]), home, number=3)
    with pytest.raises(DataError, match="No encoded table has these 2,999 predictions"):
        decode_predictions_file(codec, _answers(codec, sent[1])[1:], home)
    with pytest.raises(DataError, match="don't belong to the table"):
        decode_predictions_file(codec, _answers(codec, sent[1])[1:], home, number=2)
    assert not home.exists()

    decode_predictions_file(codec, _answers(codec, sent[1]), home, number=2)
    assert pl.read_parquet(home)["y"].round().cast(pl.Int64).equals(_rows(seed=2)["y"])


def test_files_of_one_number_and_size_are_ordered_alike(codec, tmp_path):
    """So whichever of them predictions belong to, their order is right."""
    for seed in (1, 2):
        encode_file(codec, _rows(seed=seed), tmp_path / f"{seed}.parquet")
    sent = pl.read_parquet(tmp_path / "2.parquet")

    decode_predictions_file(codec, _answers(codec, sent), tmp_path / "home.parquet")

    home = pl.read_parquet(tmp_path / "home.parquet")["y"]
    assert home.round().cast(pl.Int64).equals(_rows(seed=2)["y"])


def test_predictions_beside_the_encoded_columns_are_checked_by_them(codec, tmp_path):
    for number in (1, 2):
        encode_file(codec, _rows(seed=number), tmp_path / f"{number}.parquet", number=number)
    sent = pl.read_parquet(tmp_path / "1.parquet")
    said = sent.with_columns(answer=codec.target_name_)
    home = tmp_path / "home.parquet"

    done = decode_predictions_file(codec, said, home)

    assert (done.number, done.by_count) == (1, False)
    assert pl.read_parquet(home)["y"].round().cast(pl.Int64).equals(_rows(seed=1)["y"])
    with pytest.raises(DataError, match="No encoded table has these"):
        decode_predictions_file(codec, said.reverse(), tmp_path / "x.parquet")
    with pytest.raises(DataError, match="belong to the table"):
        decode_predictions_file(codec, said.reverse(), tmp_path / "x.parquet", number=1)


@pytest.mark.slow
@pytest.mark.usefixtures("short_batches")
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_ids_find_rows_in_any_order_and_any_file(codec, tmp_path, form):
    files = {}
    for number in (1, 2):
        out = tmp_path / f"{number}.{form}"
        encode_file(codec, _rows(seed=number), out, number=number, ids=True, format=form)
        files[number] = pl.read_csv(out) if form == "csv" else pl.read_parquet(out)
    sent = files[2]
    assert sent.columns[0] == "row_id"
    assert sent["row_id"].n_unique() == 3_000
    said = sent.select("row_id", answer=codec.target_name_).sample(100, seed=1, shuffle=True)
    said.write_csv(tmp_path / "said.csv")

    decode_predictions_file(codec, tmp_path / "said.csv", tmp_path / "home.parquet")

    home = pl.read_parquet(tmp_path / "home.parquet")
    assert home.columns == ["row", "y"]
    assert home["row"].is_sorted()
    assert home["row"].n_unique() == 100
    assert home["y"].round().cast(pl.Int64).equals(_rows(seed=2)["y"].gather(home["row"]))


def test_ids_that_are_none_are_refused(codec, secret):
    one, two = (
        codec.encode(_rows(seed=number), batch=number, ids=True).select(
            "row_id", answer=codec.target_name_
        )
        for number in (1, 2)
    )
    other = Codec(learner="linear", secret=secret, name="other")
    stranger = other.fit(_rows(), target="y", task="regression")

    cases = {
        "1500 of 3000 row ids": pl.concat([one[:1500], two[:1500]]),
        "1 ids more than once": pl.concat([one, one[:1]]),
        "1 cells that aren't row ids": one.with_columns(
            pl.when(pl.int_range(3000) == 5).then(pl.lit("r12")).otherwise("row_id").alias("row_id")
        ),
    }
    for said, predictions in cases.items():
        with pytest.raises(DataError, match=said):
            codec.decode_predictions(predictions)
    with pytest.raises(DataError, match="3000 of 3000 row ids"):
        stranger.decode_predictions(one)


def test_ids_say_nothing_of_rows_and_are_no_features(codec):
    """Texts, which a learner refuses; without the key neither order nor number is in them."""
    first, again = (codec.encode(_rows(), batch=number, ids=True) for number in (1, 2))

    ids = first["row_id"].str.slice(1).str.to_integer(base=16, dtype=pl.UInt64).to_numpy()
    assert not set(first["row_id"]) & set(again["row_id"])
    home = codec.plan_.order(3_000, 1)
    assert abs(np.corrcoef(np.argsort(np.argsort(ids)), home)[0, 1]) < 0.06  # 3 / sqrt(3000)
    assert first.drop("row_id").equals(codec.encode(_rows(), batch=1))
    with pytest.raises(ParameterError, match="has no row ids"):
        Codec(learner="trees", rows="kept").fit(_rows()).encode(_rows(), ids=True)


def test_pandas_predictions_with_ids_stay_pandas(codec):
    sent = codec.encode(_rows().to_pandas(), batch=4, ids=True)
    said = pd.DataFrame({"row_id": sent["row_id"], "answer": sent[codec.target_name_]})

    home = codec.decode_predictions(said.iloc[::3])

    assert isinstance(home, pd.DataFrame)
    assert (
        home["y"].round().astype(int).tolist()
        == _rows()["y"].gather(pl.Series(home["row"])).to_list()
    )


def test_in_memory_the_batch_is_found_too(codec):
    one, two = (codec.encode(_rows(n, seed=n), batch=n) for n in (40, 50))
    codec.encode(_rows(50, seed=3), batch=3)

    assert codec.decode(two).equals(_rows(50, seed=50))
    home = codec.decode_predictions(one[codec.target_name_])
    assert home.round().cast(pl.Int64).equals(_rows(40, seed=40)["y"])
    with pytest.raises(DataError, match="2 tables of 50 rows"):
        codec.decode_predictions(two[codec.target_name_])
    with pytest.raises(DataError, match="don't belong to the table"):
        codec.decode_predictions(one[codec.target_name_], batch=41)
    with pytest.raises(DataError, match="No encoded table has these 40 rows"):
        codec.decode(one.reverse())
    assert codec.decode(one.reverse(), batch=None).sort("x").equals(_rows(40, seed=40).sort("x"))


def test_a_codec_that_knows_of_nothing_asks_for_the_number(codec, tmp_path):
    """As those of 0.1: rows decode with number 0, predictions with the number that is said."""
    old = Codec.from_bytes(codec.to_bytes())
    sent = codec.encode(_rows())

    assert old.decode(sent).equals(_rows())
    for use in (
        lambda: old.decode_predictions(sent[codec.target_name_]),
        lambda: decode_predictions_file(old, _answers(codec, sent), tmp_path / "x.csv"),
    ):
        with pytest.raises(DataError, match="knows of no encoded table"):
            use()
    home = old.decode_predictions(sent[codec.target_name_], batch=0, rows=3_000)
    assert home.round().cast(pl.Int64).equals(_rows()["y"])


def test_without_a_receipt_a_number_alone_is_not_believed(codec, tmp_path):
    """Of 5,000 answers with one left out, or with a wrong number, 5 % were right."""
    sealed = codec.to_bytes()
    sent = codec.encode(_rows(), batch=1)[codec.target_name_]
    new, said = Codec.from_bytes(sealed), tmp_path / "said.parquet"

    for answers, number in ((sent, 1), (sent[:-1], 1), (sent, 2)):
        answers.to_frame().write_parquet(said)
        with pytest.raises(DataError, match="knows of no table that was encoded with this number"):
            new.decode_predictions(answers, batch=number)
        with pytest.raises(DataError, match="knows of no table that was encoded with this number"):
            decode_predictions_file(new, said, tmp_path / "x.csv", number=number)
    with pytest.raises(DataError, match="2,999 predictions where 3,000 rows were encoded"):
        new.decode_predictions(sent[:-1], batch=1, rows=3_000)
    with pytest.raises(DataError, match="2999 rows where 3000 were encoded"):
        decode_predictions_file(new, sent[:-1].to_frame(), tmp_path / "x.csv", number=1, rows=3_000)
    new.encode(_rows(40), batch=7)
    with pytest.raises(DataError, match="knows of no table that was encoded with this number"):
        new.decode_predictions(sent, batch=1)
    home = new.decode_predictions(sent, batch=1, rows=3_000)
    assert home.round().cast(pl.Int64).equals(_rows()["y"])


@pytest.mark.parametrize("ids", [False, True])
def test_receipts_are_in_the_bytes_of_the_codec(codec, ids):
    """So that another process knows a wrong batch, and answers that are too few."""
    sent = codec.encode(_rows(), batch=1, ids=ids).rename({codec.target_name_: "answer"})
    sent = sent.select("row_id", "answer") if ids else sent["answer"]
    codec.encode(_rows(500), batch=2)
    new = Codec.from_bytes(codec.to_bytes())

    home = new.decode_predictions(sent)

    assert new.receipts_ == codec.receipts_
    answers = home["y"] if ids else home
    assert answers.round().cast(pl.Int64).equals(_rows()["y"])
    if not ids:
        with pytest.raises(DataError, match="No encoded table has these 2,999"):
            new.decode_predictions(sent[:-1])
        for answers, number in ((sent[:-1], 1), (sent, 2), (sent, 3)):
            with pytest.raises(DataError, match="don't belong to the table"):
                new.decode_predictions(answers, batch=number)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv", "arrow"])
@pytest.mark.usefixtures("short_batches")
def test_rows_find_their_file_by_what_is_in_them(table, secret, tmp_path, form):
    """In any format, among files of as many rows; changed or shuffled ones are refused."""
    codec = Codec(learner="distances", secret=secret).fit(table)
    for number in (1, 2):
        out = tmp_path / f"{number}.{form}"
        encode_file(codec, table.sample(300, seed=number), out, number=number, format=form)

    done = decode_file(codec, tmp_path / f"2.{form}", tmp_path / "back.parquet")

    assert done.number == 2
    assert is_back(pl.read_parquet(tmp_path / "back.parquet"), table.sample(300, seed=2))
    encode_file(codec, table, tmp_path / "sent.parquet", number=3)
    sent = pl.read_parquet(tmp_path / "sent.parquet")
    late = pl.concat([sent[:200], sent[200:].reverse()])
    for changed, said in (
        (sent.reverse(), "No encoded table has these 400 rows"),
        (sent[1:], "No encoded table has these 399 rows"),
        (late, "Batch 4 of the file differs from what was encoded"),
    ):
        with pytest.raises(DataError, match=said):
            decode_file(codec, changed, tmp_path / "x.parquet")
    decode_file(codec, sent.reverse(), tmp_path / "loose.parquet", number=None)
    assert not (tmp_path / "x.parquet").exists()


def test_receipts_are_kept_as_bytes_beside_the_codec(codec, tmp_path):
    asked = _rows(seed=1)
    count = encode_file(codec, asked, tmp_path / "asked.parquet", number=5)
    assert count.receipt is not None
    later = Codec.from_bytes(codec.to_bytes())
    later.remember(EncodingReceipt.from_bytes(count.receipt.to_bytes()))
    sent = pl.read_parquet(tmp_path / "asked.parquet")

    decode_predictions_file(later, _answers(codec, sent), tmp_path / "home.parquet")

    assert later.receipts_ == (count.receipt,)
    home = pl.read_parquet(tmp_path / "home.parquet")["y"]
    assert home.round().cast(pl.Int64).equals(asked["y"])
    for damaged in (b"", b"{}", b'{"format": "halfmask receipt 1"}', b"[1]"):
        with pytest.raises(DataError, match="no receipt"):
            EncodingReceipt.from_bytes(damaged)


def test_a_receipt_holds_no_cell(codec):
    codec.encode(pl.DataFrame({"x": [314159], "y": [271828]}))

    said = codec.receipts_[0].to_bytes() + repr(codec.receipts_[0]).encode()

    assert b"314159" not in said
    assert b"271828" not in said


def test_a_target_of_the_name_of_the_place_has_a_place_beside_it(secret):
    rows = pl.DataFrame({"x": range(9), "row": [1.5 * place for place in range(9)]})
    codec = Codec(learner="distances", secret=secret).fit(rows, target="row")
    sent = codec.encode(rows, ids=True)

    home = codec.decode_predictions(sent.select("row_id", codec.target_name_))

    assert home.columns == ["row_", "row"]
    assert home["row"].to_list() == pytest.approx(rows["row"].to_list())


@pytest.fixture
def short_batches(monkeypatch):
    """Let files have batches of 64 rows."""
    monkeypatch.setattr(_files, "_MAX_ROWS", 64)

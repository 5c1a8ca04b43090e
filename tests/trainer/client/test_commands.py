"""`halfmask push` and `predict`: they go on after a break, and say no name, cell, token or key."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from halfmask.cli import main
from halfmask.hashing import RowsWriter
from halfmask.trainer.client import TrainerClient
from trainer.client.stand_in import (  # type: ignore[import-not-found] # beside, not in a package
    TOKEN,
    in_order,
    rows_of,
    says,
)
from trainer.client.trainer import (  # type: ignore[import-not-found] # as above
    COMMAND,
)

SECRETS = ("CANARY", TOKEN)


@pytest.fixture
def desk(tmp_path, service):
    """A folder with hashed rows, a token, and a table that a vault's hasher knows."""
    folder = tmp_path / "CANARY-folder"
    folder.mkdir()
    with RowsWriter(folder / "sent.arrows") as writer:
        for start in range(0, 1_000, 250):
            writer.write(rows_of(1_000).slice(start, start + 250))
    (folder / "token").write_text(TOKEN + "\n")
    (folder / "token").chmod(0o600)
    service.token_options = [
        f"--url={service.url}", "--model=m", f"--token-file={folder / 'token'}", "--give-up=20",
    ]  # fmt: skip
    return folder


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A vault with a hasher, and the table that it was fitted to."""
    folder = tmp_path_factory.mktemp("home")
    towns, pays = ("CANARY-Bree", "CANARY-Dale"), ("CANARY-no", "CANARY-yes")
    people = pl.DataFrame(
        {"CANARY-town": [towns[i % 2] for i in range(60)], "pays": [pays[i % 2] for i in range(60)]}
    )
    people.write_csv(folder / "people.csv")
    lock = ("--key-file", str(folder / "key"))
    vault = ("--vault", str(folder / "vault"), "--hasher", "h", *lock)
    assert main(["vault", "create", str(folder / "vault"), *lock]) == 0
    made = [
        str(folder / "people.csv"),
        str(folder / "h.arrows"),
        *vault,
        "--fit",
        "--label",
        "pays",
    ]
    assert main(["hash", *made, "--bits", "18"]) == 0
    return folder, list(vault)


def _printed_no_secret(printed):
    assert not [each for each in SECRETS if each in printed.out + printed.err]


def test_hashed_rows_are_pushed_in_order_and_once(service, desk, run):
    words = ["push", desk / "sent.arrows", *service.token_options, "--batch-rows=100"]

    first, second = run(*words, "--json"), run(*words)

    assert json.loads(first.out) == {
        "ok": True, "model": "m", "rows": 1000, "sent": 1000, "resumed": 0, "known": 0,
        "sent_again": 0,
        "learned": {"rows": 1000, "diverged": 0, "defended": 0, "waiting_batches": 0},
    }  # fmt: skip
    assert in_order(service).equals(rows_of(1_000))
    assert second.status == 0
    assert "1,000 had been pushed before" in " ".join(second.err.split())
    assert service.rows_learned() == 1_000
    _printed_no_secret(first)
    _printed_no_secret(second)


def test_a_push_says_how_many_rows_were_learned(service, desk, run):
    """What is on the trainer's disk isn't learned yet, and may never be."""
    words = ["push", desk / "sent.arrows", *service.token_options]
    service.left_out = 250

    told = run(*words, "--json")
    shown = " ".join(run(*words).err.split())
    service.may_read = False
    blind, unknown = run(*words, "--json"), run(*words)

    assert json.loads(told.out)["learned"] == {
        "rows": 750, "diverged": 250, "defended": 0, "waiting_batches": 0,
    }  # fmt: skip
    assert "has learned from 750 rows in all. It left out 250 rows: with them learning" in shown
    assert json.loads(blind.out)["learned"] is None
    assert "Whether they were learned isn't known here" in unknown.err


def test_a_push_to_a_trainer_counts_what_diverged(trainer, tmp_path, run):
    """One number of the first row is 10 ** 25 times smaller than the others."""
    people = pl.DataFrame({"x": [1e-25, *[1.0, 2.0] * 2_999, 1.0], "y": ["a", "b"] * 3_000})
    people.write_parquet(tmp_path / "people.parquet")
    lock = (f"--key-file={tmp_path / 'key'}",)
    vault = (f"--vault={tmp_path / 'vault'}", "--hasher=h", *lock)
    token_file = trainer.token_file()
    with TrainerClient(trainer.url, token=token_file.read_text(encoding="ascii").strip()) as client:
        client.create("odd", loss="logistic", bits=10)
    made = run("vault", "create", tmp_path / "vault", *lock)
    hashed = run(
        "hash", tmp_path / "people.parquet", tmp_path / "rows.arrows", *vault, "--fit",
        "--label=y", "--bits=10", "--numbers=raw",
    )  # fmt: skip

    pushed = run(
        "push", tmp_path / "rows.arrows", f"--url={trainer.url}", "--model=odd",
        f"--token-file={token_file}", "--json",
    )  # fmt: skip

    assert (made.status, hashed.status, pushed.status) == (0, 0, 0), hashed.err + pushed.err
    assert json.loads(pushed.out)["learned"] == {
        "rows": 6_000 - 4_096, "diverged": 4_096, "defended": 0, "waiting_batches": 0,
    }  # fmt: skip


@pytest.mark.usefixtures("desk")
def test_a_table_is_hashed_on_the_way(service, home, run):
    folder, vault = home

    found = run("push", folder / "people.csv", *service.token_options, *vault, "-v")

    assert found.status == 0, found.err
    assert "m: 60 rows are on the trainer's disk" in found.err
    assert "The model has learned from 60 rows in all." in found.err
    assert "pushing" in found.err
    learned = in_order(service)
    assert (len(learned), learned.bits, learned.label_kind) == (60, 18, "binary")
    _printed_no_secret(found)
    for journal in folder.glob(".people*"):
        journal.unlink()


@pytest.mark.slow
@pytest.mark.usefixtures("desk")
def test_a_table_without_a_header_is_hashed_on_the_way(service, home, run):
    """Its first row is a person, and is neither lost nor shown."""
    folder, vault = home
    headless = folder / "headless.csv"
    headless.write_text("made up\n" + (folder / "people.csv").read_text().partition("\n")[2])
    out = folder / "answers.parquet"
    names = ["--skip-rows", "1", "--no-header", "--column-names", "CANARY-town,pays"]
    words = {"push": [headless], "predict": [headless, out]}
    service.answer = lambda rows: (rows.indices[:, 0] % 2).astype(np.float32)

    for command, files in words.items():
        refused = run(command, *files, *service.token_options, *vault, "--skip-rows", "1")
        assert (refused.status, "--no-header" in refused.err) == (1, True), refused.err
        _printed_no_secret(refused)
        assert run(command, *files, *service.token_options, *vault, *names).status == 0

    assert len(in_order(service)) == 60
    assert pl.read_parquet(out).height == 60
    for left in [*folder.glob(".headless*"), *folder.glob(".answers*"), headless, out]:
        left.unlink()


@pytest.mark.slow
@pytest.mark.usefixtures("desk")
def test_a_table_is_read_as_its_columns_are_declared(service, home, run):
    """A marker among numbers and years of two digits, in push and predict alike."""
    folder, vault = home
    ages = ["NA", *map(str, range(59))]
    odd, out = folder / "odd.csv", folder / "odd.parquet"
    rows = [f"{a};31-12-{10 + i};CANARY-{'no' if i % 2 else 'yes'}" for i, a in enumerate(ages)]
    odd.write_text("\n".join(["age;born;pays", *rows]))
    vault = ["odd" if word == "h" else word for word in vault]
    found = ["--dtype", "age=integer", "--coerce", "age", "--delimiter", ";",
            "--date-format", "born=%d-%m-%y", "--first-year", "born=1905"]  # fmt: skip
    service.answer = lambda rows: (rows.indices[:, 0] % 2).astype(np.float32)
    made = run("hash", odd, folder / "odd.arrows", *vault, "--fit", "--label", "pays", *found)

    for command, files in {"push": [odd], "predict": [odd, out]}.items():
        refused = run(command, *files, *service.token_options, *vault, "--delimiter", ";")
        taken = run(command, *files, *service.token_options, *vault, *found)
        assert (refused.status, taken.status) == (1, 0), taken.err
        assert "held Int64 at the fit, and 1 of 60 cells" in refused.err
        assert "1 of 60 cells don't fit its declaration" in taken.err
        _printed_no_secret(taken)

    assert made.status == 0
    assert len(in_order(service)) == 60
    assert pl.read_parquet(out).height == 60
    for left in [*folder.glob(".odd*"), *folder.glob("odd*")]:
        left.unlink()


def test_standard_input_is_pushed(service, desk, run, monkeypatch):
    data = (desk / "sent.arrows").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    found = run("push", "-", *service.token_options, "--json")

    assert json.loads(found.out)["sent"] == 1_000
    assert in_order(service).equals(rows_of(1_000))


def test_standard_input_that_breaks_off_is_an_error(service, desk, run, monkeypatch):
    data = (desk / "sent.arrows").read_bytes()[:-8]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    found = run("push", "-", *service.token_options)

    assert found.status == 1
    assert "end too early" in found.err


def test_answers_keep_their_order_and_need_no_hasher(service, desk, run):
    out = desk / "answers.parquet"

    found = run("predict", desk / "sent.arrows", out, *service.token_options, "--batch-rows=64")

    assert found.status == 0, found.err
    answers = pl.read_parquet(out)
    assert answers.columns == ["prediction"]
    np.testing.assert_array_equal(answers["prediction"], np.arange(1_000))
    assert sorted(path.name for path in desk.iterdir()) == [
        "answers.parquet",
        "sent.arrows",
        "token",
    ]
    _printed_no_secret(found)


@pytest.mark.slow
def test_classes_come_back_under_their_names(service, desk, home, run):
    folder, vault = home
    service.answer = lambda rows: (rows.indices[:, 0] % 2).astype(np.float32)
    words = [folder / "people.csv", desk / "out.csv", *service.token_options, *vault]

    found = run("predict", *words)
    everything = run("predict", *words, "--probabilities", "--overwrite")

    assert found.status == everything.status == 0, found.err + everything.err
    _printed_no_secret(found)
    shares = pl.read_csv(desk / "out.csv")
    assert sorted(shares.columns) == ["CANARY-no", "CANARY-yes"]
    assert (shares.sum_horizontal() == 1).all()
    asked = [each for each in service.seen if each.path.endswith("predict")]
    assert all(each.rows.labels is None for each in asked)


@pytest.mark.parametrize("words", [["push"], ["predict"]])
def test_rows_that_are_hashed_already_are_not_hashed_again(service, desk, home, run, words):
    _, vault = home
    out = [desk / "out.csv"] if words == ["predict"] else []

    found = run(*words, desk / "sent.arrows", *out, *service.token_options, *vault)

    assert found.status
    assert "hashed already" in found.err
    assert "--hashed" in found.err
    assert not service.seen
    _printed_no_secret(found)


def test_a_broken_push_goes_on_with_the_same_command(service, desk, run):
    words = ["push", desk / "sent.arrows", *service.token_options, "--batch-rows=100"]
    service.before = lambda _: len(service.order) == 4 and service.mishaps.append(says(400))

    broken = run(*words)
    service.before, service.mishaps[:] = (lambda _: None), []
    healed = run(*words, "--json")

    assert broken.status == 1
    content = json.loads(healed.out)
    assert content["resumed"] + content["sent"] == 1_000
    assert content["resumed"] >= 400
    assert service.rows_learned() == 1_000
    _printed_no_secret(broken)


def test_a_broken_prediction_goes_on_and_leaves_no_half_file(service, desk, run):
    out = desk / "answers.csv"
    words = ["predict", desk / "sent.arrows", out, *service.token_options, "--batch-rows=100"]
    asked = []

    def before(seen):
        if seen.path.endswith("predict"):
            asked.append(seen)
            if len(asked) == 6:
                service.mishaps.append(says(400))

    service.before = before

    broken = run(*words)
    assert (broken.status, out.exists()) == (1, False)
    n_before = len(asked)
    healed = run(*words)

    assert healed.status == 0, healed.err
    np.testing.assert_array_equal(pl.read_csv(out)["prediction"], np.arange(1_000))
    assert len(asked) < n_before + 10
    _printed_no_secret(broken)


@pytest.mark.slow
@pytest.mark.parametrize("kill", range(2))
def test_a_killed_push_doubles_and_loses_nothing(service, desk, kill):
    """kill -9 after some batches, the answer to one of them still on its way."""
    words = [
        *COMMAND, "push", str(desk / "sent.arrows"), *service.token_options, "--batch-rows=50",
        f"--in-flight={1 + 2 * kill}",
    ]  # fmt: skip
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as pusher:

        def before(_):
            if len(service.order) >= 3 + 4 * kill:
                os.kill(pusher.pid, signal.SIGKILL)

        service.before = before
        assert pusher.wait(timeout=60) == -signal.SIGKILL
    service.before = lambda _: None
    held = service.rows_learned()
    assert 0 < held < 1_000

    done = subprocess.run([*words, "--json"], check=True, capture_output=True, timeout=60)

    content = json.loads(done.stdout)
    assert content["rows"] == service.rows_learned() == 1_000
    assert content["sent"] < 1_000
    learned = in_order(service)
    np.testing.assert_array_equal(np.sort(learned.indices[:, 0]), np.arange(1_000))


class TestWrongUse:
    @pytest.mark.parametrize(
        ("words", "status", "given"),
        [
            (["--vault=v"], 2, "go together"),
            (["--key-file=k"], 2, "no --vault"),
            (["--certificate-key=k"], 2, "key of a --certificate"),
            (["--url=http://trainer.example"], 2, "begin with https"),
            (["--url=https://u:CANARY@trainer.example"], 2, "no user"),
            (["--batch-rows=0"], 2, "--batch-rows"),
            (["--token-file=-", "--passphrase-file=-"], 2, "standard input"),
            (["--authority=nothing"], 2, "PEM"),
        ],
    )
    def test_is_told(self, service, desk, run, words, status, given):
        done = run("push", desk / "sent.arrows", *service.token_options, *words)

        assert done.status == status
        assert given in " ".join(done.err.split())
        assert service.seen == []
        _printed_no_secret(done)

    def test_a_token_that_others_may_read_is_refused(self, service, desk, run):
        (desk / "token").chmod(0o644)

        done = run("push", desk / "sent.arrows", *service.token_options)

        assert done.status == 1
        assert service.seen == []
        _printed_no_secret(done)

    @pytest.mark.parametrize("name", ["token", "nothing.arrows"])
    def test_rows_that_are_none_are_refused(self, service, desk, run, name):
        done = run("push", desk / name, *service.token_options)

        assert done.status == 1
        assert service.seen == []
        _printed_no_secret(done)

    def test_a_file_that_exists_is_kept(self, service, desk, run):
        (desk / "out.csv").write_text("mine")

        done = run("predict", desk / "sent.arrows", desk / "out.csv", *service.token_options)

        assert done.status == 1
        assert (desk / "out.csv").read_text() == "mine"

    @pytest.mark.slow
    def test_numbers_that_are_no_probabilities_are_told(self, service, desk, home, run):
        folder, vault = home
        service.answer = lambda rows: np.full(len(rows), -3, np.float32)

        words = ["predict", folder / "people.csv", desk / "out.csv", *service.token_options, *vault]
        done = run(*words)
        service.loss = "hinge"
        margins = run(*words, "--margin")

        assert "something else than probabilities" in done.err
        assert margins.status == 0
        assert pl.read_csv(desk / "out.csv")["prediction"].n_unique() == 1


@pytest.mark.usefixtures("desk")
@pytest.mark.parametrize(
    ("loss", "more", "says"),
    [
        ("logistic", ["--margin"], "The model answers probabilities: its loss is logistic."),
        ("hinge", [], "The model answers margins: its loss is hinge."),
        ("squared", [], "The model predicts numbers"),
        (None, ["--margin"], "All answers are from 0 to 1"),
    ],
)
def test_answers_are_decoded_as_what_they_are(service, home, run, loss, more, says):
    """Probabilities taken for margins were all of class 1, and margins of .3 of class 0."""
    folder, vault = home
    service.answer = lambda rows: np.full(len(rows), 0.3, np.float32)
    service.loss, service.may_read = loss or "", loss is not None
    out = folder / "never.csv"

    done = run("predict", folder / "people.csv", out, *service.token_options, *vault, *more)

    assert done.status == 1
    assert says in " ".join(done.err.split())
    assert not out.exists()


@pytest.mark.usefixtures("desk")
def test_margin_without_a_hasher_is_refused(service, desk, run):
    done = run(
        "predict", desk / "sent.arrows", desk / "out.csv", *service.token_options, "--margin"
    )

    assert done.status == 2
    assert "--margin takes a hasher" in done.err


@pytest.mark.slow
def test_models_are_made_and_listed(trainer, run):
    """What is made is listed; a name that is taken and a scope that is missing are refused."""
    of = ["--url", trainer.url, "--token-file", trainer.token_file("admin", "read")]

    made = run("serve", "model", "create", "fresh", "--bits", 12, *of, "--json")
    listed = run("serve", "model", "list", *of, "--json")
    shown = run("serve", "model", "list", *of)
    again = run("serve", "model", "create", "fresh", "--bits", 12, *of)
    reader = ["--url", trainer.url, "--token-file", trainer.token_file("read")]
    refused = run("serve", "model", "create", "other", "--bits", 12, *reader)

    said = {"name": "fresh", "loss": "logistic", "bits": 12, "classes": 2, "rows": 0}
    assert json.loads(made.out) == {"ok": True, **said}
    assert said in json.loads(listed.out)["models"]
    assert "fresh" in shown.out
    assert (again.status, refused.status) == (1, 1)
    assert "scope" in refused.err.lower()

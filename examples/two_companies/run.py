"""Company A has rows of people, company B trains the model. One command plays both."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from halfmask.trainer.client import TrainerClient

ADULT = Path(__file__).resolve().parent.parent / "adult" / "adult.csv"
HALFMASK = [sys.executable, "-c", "import sys; from halfmask.cli import main; sys.exit(main())"]


def main(n_rows: int | None = None, out: str = "out/two_companies") -> None:
    """Hash at A, learn at B, predict for A, and print the accuracy."""
    a, b = Path(out, "company_a"), Path(out, "company_b")
    for folder in (a, b):
        shutil.rmtree(folder, ignore_errors=True)  # of an earlier run
        folder.mkdir(parents=True)
    write_tables(a, n_rows)
    vault = (f"--vault={a / 'vault'}", f"--key-file={a / 'key'}", "--hasher=people")
    # Company B makes a token for itself and one for A, and serves an untrained model.
    grant(b / "store", b / "token", "read", "admin")
    grant(b / "store", a / "token", "read", "learn", "predict")
    own = (b / "token").read_text().strip()
    with served(b / "store") as url, TrainerClient(url, token=own) as b_side:
        b_side.create("spring", loss="logistic", bits=22)
        there = (f"--url={url}", "--model=spring", f"--token-file={a / 'token'}")
        # Company A hashes with a key of its vault, pushes, asks for predictions, and decodes them.
        halfmask("vault", "create", a / "vault", f"--key-file={a / 'key'}")
        halfmask("hash", a / "known.csv", a / "sent", *vault, "--fit", "--label=income")
        halfmask("push", a / "sent", *there)
        halfmask("predict", a / "new.csv", a / "answers.csv", *there, *vault)
        seen = b_side.metrics("spring")
    print(f"B learned from {seen['rows']:,} rows, and was right on {seen['accuracy']:.1%} of them")
    right = pl.read_csv(a / "answers.csv")["prediction"] == pl.read_csv(a / "truth.csv")["income"]
    print(f"A decoded {len(right):,} answers; {right.mean():.1%} are right")


def write_tables(folder: Path, n_rows: int | None) -> None:
    """Write the training rows, and the rows whose income A wants to predict."""
    people = pl.read_csv(ADULT, n_rows=n_rows).drop("fnlwgt", "split")
    known, new = people[people.height // 5 :], people[: people.height // 5]
    known.write_csv(folder / "known.csv")
    new.drop("income").write_csv(folder / "new.csv")
    new.select("income").write_csv(folder / "truth.csv")


def grant(store: Path, file: Path, *scopes: str) -> None:
    """Make a token of company B's service with some scopes."""
    who = (f"--client={file.parent.name}", "--tenant=company_a", "--out", file)
    halfmask("serve", "token", "create", store, *who, *(f"--scope={it}" for it in scopes))


def halfmask(*words: object) -> None:
    """Run a command in a process of its own."""
    subprocess.run([*HALFMASK, *map(str, words)], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 # ours


@contextmanager
def served(store: Path) -> Iterator[str]:
    """Run company B's service in its own process; yield its address."""
    command = [*HALFMASK, "serve", str(store), "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:  # noqa: S603 # our own
        try:
            yield json.loads(process.stdout.readline() if process.stdout else b"")["address"]
        finally:
            process.terminate()


if __name__ == "__main__":
    main()

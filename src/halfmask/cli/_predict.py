"""``halfmask predict``: what a trainer's model expects of rows, decoded at home."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from halfmask.cli._console import Stages, console
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, flag, option, spreads_groups
from halfmask.cli._options import OVERWRITE, SayingOptions
from halfmask.cli._remote import (
    MAX_IN_FLIGHT,
    SOURCE,
    TrainerOptions,
    WithHasher,
    if_allowed,
    rows_of,
)
from halfmask.cli._tables import Reading

if TYPE_CHECKING:
    from halfmask.trainer.client import TrainerClient


@spreads_groups
def predict(
    source: str = SOURCE,
    out: str = argument(
        "OUT: The file to write. Keep it confidential. The ending of its name sets the format; - "
        "writes Parquet to standard output."
    ),
    *,
    trainer: TrainerOptions,
    hashed: bool = flag("--hashed: ROWS are already hashed; the hasher only translates classes."),
    margin: bool = flag("--margin: The model answers margins (hinge) instead of probabilities."),
    probabilities: bool = flag("--probabilities: Write a column of probabilities for each class."),
    in_flight: int = option(
        "--in-flight N: Number of simultaneous requests.", 2, min=1, max=MAX_IN_FLIGHT
    ),
    overwrite: bool = OVERWRITE,
    hashing: WithHasher,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Predict ROWS with a trainer's model.

    OUT has the order of ROWS. With a hasher OUT has the names of classes, otherwise the numbers
    of the model. Labels of ROWS aren't sent. After a break the same command continues. OUT
    appears when it is complete.
    """
    trainer.check_inputs(source, hashing.lock)
    if out == "-" and saying.as_json:
        raise UsageError("--json and OUT - both want standard output.", hint="Choose one.")
    hasher = hashing.unlocked()
    if hashed and hasher is None:
        raise UsageError("--hashed is for --hasher.", hint="Without one, rows are hashed rows.")
    from halfmask.cli._answers import check_loss, frames_of  # noqa: PLC0415 # --help needs none
    from halfmask.data import TableWriter  # noqa: PLC0415 # polars takes half a second

    journal = trainer.journal_of("predict", near=out)
    err = console(stderr=True)
    with (
        trainer.connect(trainer.compression) as client,
        Stages(err, verbose=saying.verbose) as stages,
        rows_of(
            source,
            None if hashed else hasher,
            reading,
            labelled=False,
            err=err,
            told=lambda _, share=None: stages("predicting", share),
        ) as rows,
        TableWriter(
            out, format="parquet" if out == "-" else None, overwrite=overwrite, guard_formulas=False
        ) as writer,
    ):
        codes = None if hasher is None else hasher.codes
        loss = None if codes is None else _loss_of(client, trainer.model)
        if loss is not None:
            check_loss(loss, margin=margin)
        answers = client.predict(
            trainer.model,
            rows.batches,
            batch_rows=trainer.batch_rows,
            in_flight=in_flight,
            journal=journal,
            rows=rows.count,
            progress=stages if rows.count else None,
        )
        with closing(answers):  # the journal is free at once, also where an answer is refused
            for frame in frames_of(
                answers, codes, margin=margin, probabilities=probabilities, sure=loss is not None
            ):
                writer.write(frame)
    if journal is not None and trainer.journal is None:
        # Nobody asked for it, and the file that it was kept for is there.
        journal.unlink(missing_ok=True)
    told = f"{writer.rows:,} rows were predicted. Don't release them."
    return saying.say({"model": trainer.model, "rows": writer.rows}, told, stderr=True)


def _loss_of(client: TrainerClient, model: str) -> str | None:
    """Return what a model minimizes, if the token may know it."""
    found = if_allowed(lambda: client.model(model))
    return None if found is None else found.loss

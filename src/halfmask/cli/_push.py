"""``halfmask push``: hashed rows to a trainer, which learns from each once."""

from __future__ import annotations

from typing import Annotated

import typer

from halfmask.cli._console import console, printable, say_json
from halfmask.cli._option_groups import spreads_groups
from halfmask.cli._options import SayingOptions  # typer reads annotations
from halfmask.cli._progress import Stages
from halfmask.cli._remote import InFlightOption, TrainerOptions  # as above
from halfmask.cli._rows import SourceArgument, WithHasher, rows_of  # as above
from halfmask.cli._tables import Reading  # as above

__all__ = ["push"]


StreamOption = Annotated[
    str,
    typer.Option(
        "--stream",
        metavar="WORD",
        help="A name for these rows. The same rows are learned once per name; with "
        "another name they are learned again. Don't put a secret into it.",
    ),
]


@spreads_groups
def push(
    source: SourceArgument,
    *,
    trainer: TrainerOptions,
    stream: StreamOption = "",
    in_flight: InFlightOption = 1,
    hashing: WithHasher,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Send ROWS to a trainer's model, which learns from them.

    It ends when every row is on the trainer's disk. If the network, this command or the trainer
    fails, run the same command again. No row is lost, and none is learned twice. With --in-flight
    1 the model learns in the order of the rows; larger numbers are faster.
    """
    trainer.check_inputs(source, hashing.lock)
    hasher = hashing.unlocked()
    err = console(stderr=True)
    with (
        trainer.connect(trainer.compression) as client,
        Stages(err, verbose=saying.verbose) as stages,
        rows_of(
            source,
            hasher,
            reading,
            labelled=True,
            err=err,
            told=lambda _, share=None: stages("pushing", share),
        ) as rows,
    ):
        done = client.push(
            trainer.model,
            rows.batches,
            stream=stream,
            batch_rows=trainer.batch_rows,
            in_flight=in_flight,
            journal=trainer.journal_of("push", stream, beside=source),
            rows=rows.count,
            progress=stages if rows.count else None,
        )
        again = client.sent_again
    if saying.as_json:
        counts = {
            "rows": done.rows,
            "sent": done.sent,
            "resumed": done.resumed,
            "known": done.known,
        }
        say_json({"ok": True, "model": trainer.model, **counts, "sent_again": again})
        return 0
    err.print(f"{printable(trainer.model)} has {done.rows:,} rows; {done.sent:,} were sent now.")
    if done.resumed or done.known:
        err.print(
            f"{done.resumed:,} had been pushed before this command, and the trainer knew "
            f"{done.known:,} of those that were sent. To learn from them again, give another "
            "--stream.",
            soft_wrap=True,
        )
    return 0

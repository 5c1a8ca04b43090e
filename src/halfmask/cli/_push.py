"""``halfmask push``: hashed rows to a trainer, which learns from each once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from halfmask.cli._claims import some
from halfmask.cli._console import console, printable
from halfmask.cli._option_groups import option, spreads_groups
from halfmask.cli._options import SayingOptions
from halfmask.cli._progress import Stages
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

#: How long a push waits until the model has learned what is on the disk.
_LEARNING_SECONDS = 60.0


@spreads_groups
def push(
    source: str = SOURCE,
    *,
    trainer: TrainerOptions,
    stream: str = option(
        "--stream WORD: A name for these rows. The same rows are learned once per name; with "
        "another name they are learned again. Don't put a secret into it.",
        "",
    ),
    in_flight: int = option(
        "--in-flight N: Number of simultaneous requests.", 1, min=1, max=MAX_IN_FLIGHT
    ),
    hashing: WithHasher,
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Send ROWS to a trainer's model, which learns from them.

    It ends when every row is on the trainer's disk. If the network, this command or the trainer
    fails, run the same command again. No row is lost, and none is learned twice. Rows that make
    learning diverge are left out by the model; the answer counts them, if the token has the scope
    read. With --in-flight 1 the model learns in the order of the rows; larger numbers are faster.
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
        stages("waiting until the model has learned")
        learned = _learned_by(client, trainer.model)
        again = client.sent_again
    counts = {name: getattr(done, name) for name in ("rows", "sent", "resumed", "known")}
    before = (
        f"{done.resumed:,} had been pushed before this command, and the trainer knew "
        f"{done.known:,} of those that were sent. To learn from them again, give another "
        "--stream."
    )
    return saying.say(
        {"model": trainer.model, **counts, "sent_again": again, "learned": learned},
        f"{printable(trainer.model)}: {done.rows:,} rows are on the trainer's disk; "
        f"{done.sent:,} were sent now.",
        *([before] if done.resumed or done.known else []),
        _sentence(learned),
        stderr=True,
    )


def _learned_by(client: TrainerClient, model: str) -> dict[str, int] | None:
    """Return what became of all rows that the model was ever sent; None if it may not be read."""
    found = if_allowed(lambda: client.metrics(model, wait_seconds=_LEARNING_SECONDS))
    if found is None:
        return None
    defended = found.get("defences") or {}
    taken_back = int(defended.get("taken_back", 0))
    return {
        "rows": int(found["rows"]) - taken_back,
        "diverged": int(found.get("skipped_rows", 0)),
        "defended": int(defended.get("refused", 0)) + taken_back,
        "waiting_batches": int(found["logged"]) - int(found["learned"]),
    }


def _sentence(learned: dict[str, int] | None) -> str:
    """Return what the rows' sender wants to know of all rows of the model."""
    if learned is None:
        return "Whether they were learned isn't known here: this token doesn't have the scope read."
    told = [f"The model has learned from {some(learned['rows'], 'row')} in all."]
    if learned["waiting_batches"]:
        told.append(f"{learned['waiting_batches']:,} batches still wait to be learned.")
    if learned["diverged"]:
        told.append(
            f"It left out {some(learned['diverged'], 'row')}: with them learning diverged. "
            "Numbers of very different size do that, and large labels or weights: scale them, or "
            "hash numbers in bins."
        )
    if learned["defended"]:
        told.append(f"Its defences refused or took back {some(learned['defended'], 'row')}.")
    return " ".join(told)

"""An answer as a release: its values in a file, and what they cost as a claim."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ParameterError
from halfmask.claims import Claim
from halfmask.claims.manifest import PRIVATE_ANSWER
from halfmask.dp._weaknesses import NOISE_UNSEEN, OTHER_RELEASES, ROWS_NOT_PERSONS
from halfmask.dp.queries._plan import stated_noise
from halfmask.release import Release, ReleaseKind, RowFiles, TableBlock, TextBlock
from halfmask.release.release import StatedPolicy
from halfmask.release.row_files import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from halfmask.claims import Manifest
    from halfmask.claims.claim import Json
    from halfmask.dp.queries._answer import PrivateAnswer
    from halfmask.dp.queries._private_table import PrivateQuery
    from halfmask.release import WriteJob
    from halfmask.release.page import AnyBlock

_FILE: Final = "data/answer.jsonl"
_WEAKNESSES: Final = (
    NOISE_UNSEEN,
    "bounds-unseen: no file can show that bounds and keys were declared without seeing the data.",
    OTHER_RELEASES,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFacts:
    """An answer, the question in words, and whether a row is the unit of the guarantee."""

    answer: PrivateAnswer
    purpose: str
    is_of_rows: bool


def release_answer(query: PrivateQuery, answer: PrivateAnswer, out: str | Path) -> Manifest:
    """Write an answer into a folder, with the claim of what it cost.

    Parameters
    ----------
    query
        The question.
    answer
        What `PrivateQuery.answer` returned for it.
    out
        The folder to make; it must not exist.

    Returns
    -------
    Manifest
        What the folder states: question, unit, and the scale of each noise.

    Raises
    ------
    ParameterError
        If the ledger booked something else for that answer.
    ReleaseError
        If the folder exists or can't be written.
    VerificationError
        If the verifier's arithmetic doesn't bear out the claim: nothing is left then.

    Guarantees
    ----------
    The claim is accounted: the verifier derives the sensitivities from the question, and epsilon
    from these and the scales, with none of this package's code. It can't see the noise.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> import halfmask
    >>> from halfmask.dp.ledger import PrivacyLedger
    >>> from halfmask.dp.queries import Count, PrivateTable, release_answer
    >>> folder = tempfile.TemporaryDirectory()
    >>> people = pl.DataFrame({"age": [41, 17, 33]})
    >>> ledger = PrivacyLedger.create(
    ...     f"{folder.name}/vault", people, dataset="people", epsilon=1.0, delta=0.0
    ... )
    >>> query = PrivateTable.open(people, ledger=ledger).select(Count())
    >>> _ = release_answer(query, query.answer(epsilon=0.5), f"{folder.name}/count")
    >>> halfmask.verify(f"{folder.name}/count").holds
    True
    >>> folder.cleanup()
    """
    return make(query, answer).write(Path(out)).written[0]


def make(query: PrivateQuery, answer: PrivateAnswer) -> Release[AnswerFacts]:
    """Claim what an answer cost, by the noise that the ledger booked for it."""
    ledger = query.table.ledger
    plan = query.plan(epsilon=answer.epsilon, delta=answer.delta, noise=answer.noise)
    booked = [each.events for each in ledger.charges if each.number == answer.charge]
    if booked != [tuple(plan.events())]:
        raise ParameterError(
            "The ledger booked other noise for this answer than this question takes.",
            hint="Give the question that was answered, and the version of halfmask that did.",
        )
    unit, question = ledger.terms.unit, query.question.text()
    claim = Claim(
        model="differential-privacy",
        parameters={"epsilon": answer.epsilon, "delta": answer.delta},
        about={
            "dataset": ledger.terms.dataset,
            "question": json.loads(question),
            "unit": dict(unit.to_dict()),
            "neighbours": f"{unit.sentence()}: added or removed",
        },
        basis="accounted",
        evidence={"mechanisms": stated_noise(plan)},
    )
    return Release(
        kind=KIND,
        policy=StatedPolicy(PRIVATE_ANSWER, question),
        claims=(claim,),
        rows={"out": answer.frame.height},
        facts=AnswerFacts(
            answer=answer, purpose=query.question.purpose(), is_of_rows=unit.person is None
        ),
        copies=0,
    )


@contextmanager
def files(release: Release[AnswerFacts], job: WriteJob) -> Iterator[RowFiles]:
    """Yield how a line for each group is written: its keys, values and intervals."""
    del job
    text = release.facts.answer.frame.write_ndjson()
    yield RowFiles(write=lambda folder: [write_lines(folder, _FILE, text)])


def weaknesses(release: Release[AnswerFacts]) -> list[str]:
    """Name what the claim doesn't cover, and of which values the interval is of noise alone."""
    facts = release.facts
    rows = [ROWS_NOT_PERSONS] if facts.is_of_rows else []
    uncovered = (f"interval-of-noise: {each}" for each in facts.answer.uncovered)
    return [*_WEAKNESSES, *rows, *uncovered]


def details(release: Release[AnswerFacts]) -> dict[str, Json]:
    """Return what all answers of the ledger together guarantee."""
    return {"guarantee_of_all_answers": release.facts.answer.guarantee}


def blocks(release: Release[AnswerFacts]) -> list[AnyBlock]:
    """Return the question, and the answer as a table."""
    answer, purpose = release.facts.answer, release.facts.purpose
    rows = [["" if cell is None else str(cell) for cell in row] for row in answer.frame.rows()]
    return [
        TextBlock(title="Question", sentences=[purpose, *answer.errors, *answer.uncovered]),
        TableBlock(title="Answer", columns=answer.frame.columns, rows=rows),
    ]


KIND = ReleaseKind(
    name=PRIVATE_ANSWER, files=files, weaknesses=weaknesses, details=details, blocks=blocks
)

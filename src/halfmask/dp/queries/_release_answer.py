"""An answer as a release: its values in a file, and what they cost as a claim."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ParameterError
from halfmask.claims import Claim
from halfmask.claims.manifest import PRIVATE_ANSWER
from halfmask.dp._weaknesses import NOISE_UNSEEN, OTHER_RELEASES, ROWS_NOT_PERSONS
from halfmask.dp.queries._plan import stated_noise
from halfmask.release import Product, TableBlock, TextBlock, publish
from halfmask.release.json_lines import write_lines

if TYPE_CHECKING:
    from halfmask.claims import Manifest
    from halfmask.dp.queries._answer import PrivateAnswer
    from halfmask.dp.queries._private_table import PrivateQuery

_FILE: Final = "data/answer.jsonl"
_WEAKNESSES: Final = (
    NOISE_UNSEEN,
    "bounds-unseen: no file can show that bounds and keys were declared without seeing the data.",
    OTHER_RELEASES,
)


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
    product = Product(
        kind=PRIVATE_ANSWER,
        policy_sha256=hashlib.sha256(question.encode()).hexdigest(),
        # A line a group: its keys, and each value with the ends of its interval.
        write=lambda folder: [write_lines(folder, _FILE, answer.frame.write_ndjson())],
        claims=lambda _: [claim],
        weaknesses=[
            *_WEAKNESSES,
            *([ROWS_NOT_PERSONS] if unit.person is None else []),
            *(f"interval-of-noise: {each}" for each in answer.uncovered),
        ],
        blocks=[
            TextBlock(title="Question", sentences=[
                query.question.purpose(), *answer.errors, *answer.uncovered]),
            TableBlock(
                title="Answer",
                columns=answer.frame.columns,
                rows=[["" if cell is None else str(cell) for cell in row]
                      for row in answer.frame.rows()],
            ),
        ],
        details={"guarantee_of_all_answers": answer.guarantee},
    )  # fmt: skip
    return publish(product, Path(out))

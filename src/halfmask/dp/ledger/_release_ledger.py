"""A ledger as a release: all charges in a file, and the budget that they keep to as a claim."""

from __future__ import annotations

import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from halfmask._errors import ParameterError
from halfmask.claims import Claim
from halfmask.claims.manifest import PRIVACY_LEDGER
from halfmask.dp._weaknesses import NOISE_UNSEEN
from halfmask.release import Release, ReleaseKind, RowFiles, TableBlock, TextBlock
from halfmask.release.release import StatedPolicy
from halfmask.release.row_files import write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from halfmask.claims import Manifest
    from halfmask.claims.claim import Json
    from halfmask.dp.ledger._privacy_ledger import PrivacyLedger
    from halfmask.release import WriteJob
    from halfmask.release.page import AnyBlock

_FILE: Final = "data/charges.jsonl"
_WEAKNESSES: Final = (
    NOISE_UNSEEN,
    "charges-unseen: no file can show that nothing was answered without being booked here.",
    "other-ledgers: another ledger of the same people adds to this one.",
)


def release_ledger(ledger: PrivacyLedger, out: str | Path) -> Manifest:
    """Write all charges of a ledger, and the claim that they keep to its budget.

    Parameters
    ----------
    ledger
        The ledger. Answers and the names of analysts are left out. Purposes are written: for a
        question its SQL, with the literals of its conditions.
    out
        The folder to make; it must not exist.

    Returns
    -------
    Manifest
        What the folder states.

    Raises
    ------
    ParameterError
        If nothing was charged yet.
    ReleaseError
        If the folder exists or can't be written.
    VerificationError
        If the verifier's arithmetic doesn't bear out the claim: nothing is left then.

    Guarantees
    ----------
    The claim is accounted: the verifier composes all charges again, with none of this package's
    code, as charges that earlier answers may have chosen. It can't see the noise.

    Examples
    --------
    >>> import tempfile
    >>> import polars as pl
    >>> import halfmask
    >>> from halfmask.dp.accounting import LaplaceEvent
    >>> from halfmask.dp.ledger import PrivacyLedger, release_ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> people = pl.DataFrame({"age": [41, 17, 33]})
    >>> ledger = PrivacyLedger.create(
    ...     f"{folder.name}/vault", people, dataset="people", epsilon=1.0, delta=0.0
    ... )
    >>> _ = ledger.charge([LaplaceEvent(noise_multiplier=2.0, coordinates=1)], purpose="a count")
    >>> _ = release_ledger(ledger, f"{folder.name}/statement")
    >>> halfmask.verify(f"{folder.name}/statement").holds
    True
    >>> folder.cleanup()
    """
    return make(ledger).write(Path(out)).written[0]


def make(ledger: PrivacyLedger) -> Release[PrivacyLedger]:
    """Claim that all charges keep to the budget."""
    terms, charges = ledger.terms, ledger.charges
    if not charges:
        raise ParameterError(
            "Nothing was charged to this ledger yet, so there is nothing to release.",
            hint="Answer a question or train a model first.",
        )
    unit = terms.unit
    about: dict[str, Json] = {
        "dataset": terms.dataset,
        "unit": dict(unit.to_dict()),
        "neighbours": f"{unit.sentence()}: added or removed{terms.everywhere}",
    }
    claim = Claim(
        model="differential-privacy",
        parameters={"epsilon": float(terms.epsilon), "delta": float(terms.delta)},
        about=about,
        basis="accounted",
        evidence={"charges": len(charges)},
    )
    return Release(
        kind=KIND,
        policy=StatedPolicy(PRIVACY_LEDGER, json.dumps(about, sort_keys=True)),
        claims=(claim,),
        rows={"out": len(charges)},
        facts=ledger,
        copies=0,
    )


@contextmanager
def files(release: Release[PrivacyLedger], job: WriteJob) -> Iterator[RowFiles]:
    """Yield how a line for each charge is written: its purpose and the events of its mechanisms."""
    del job
    lines = [
        {
            "number": each.number,
            "purpose": each.purpose,
            "booked": each.booked,
            "events": [event.to_json() for event in each.events],
        }
        for each in release.facts.charges
    ]
    text = "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    yield RowFiles(write=lambda folder: [write_lines(folder, _FILE, text)])


def weaknesses(release: Release[PrivacyLedger]) -> Sequence[str]:
    """Name what the claim doesn't cover."""
    del release
    return _WEAKNESSES


def blocks(release: Release[PrivacyLedger]) -> list[AnyBlock]:
    """Return the budget, and what each charge costs by itself."""
    terms, charges = release.facts.terms, release.facts.charges
    return [
        TextBlock(title="Budget", sentences=[terms.sentence()]),
        TableBlock(
            title="Charges",
            columns=["number", "purpose", "epsilon", "delta", "booked"],
            rows=[
                [
                    str(each.number),
                    each.purpose,
                    f"{each.epsilon_at(terms.delta):.4g}",
                    f"{each.delta:g}",
                    each.booked,
                ]
                for each in charges
            ],
        ),
    ]


KIND = ReleaseKind(name=PRIVACY_LEDGER, files=files, weaknesses=weaknesses, blocks=blocks)

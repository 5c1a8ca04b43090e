"""The kind `private-microdata`: rows under differential privacy (SafePub)."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from halfmask._errors import ColumnWarning
from halfmask.claims.manifest import PRIVATE_MICRODATA
from halfmask.dp.safepub import SafePub
from halfmask.dp.safepub.safepub import released
from halfmask.microdata._differential_privacy import DifferentialPrivacy
from halfmask.microdata.opening import frame_given, ledger_view, opened_as_texts, text_columns
from halfmask.release import Product, Release, ReleaseKind, RowFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from halfmask.claims.claim import Json
    from halfmask.data import Column
    from halfmask.dp.safepub import PrivateRows
    from halfmask.microdata._policy import Policy
    from halfmask.release import Inputs, WriteJob
    from halfmask.release.page import AnyBlock

#: Why `protect` refuses its other parameters.
_UNUSED: Final = {
    "key": "Rows are drawn by the operating system's randomness and written in a fixed order.",
    "vault": "The guarantee goes with no pseudonyms.",
    "population": "The guarantee is about no population.",
    "strict": "All columns count in the classes.",
    "persons": "No file says whose row is released.",
    "engine": "The table is read into memory, in this process.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateFacts:
    """Epsilon, delta and the k that follows from them: nothing that depends on the table."""

    terms: Mapping[str, float]


def make(table: object, policy: Policy, inputs: Inputs) -> Release[PrivateFacts]:
    """Draw rows under differential privacy; the ledger is charged before."""
    sampler, ledger, progress = _sampler_of(policy), inputs.ledger, inputs.progress

    def book() -> None:
        if ledger is not None:
            ledger.charge([sampler.event()], purpose=sampler.purpose)

    progress("reading", 0.0)
    if ledger is not None:
        ledger.terms.check_person(sampler.person)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ColumnWarning)  # these count cells of the table
        if ledger is not None:
            ledger.check_table(ledger_view(table, policy.read_options()))
        source = opened_as_texts(table, policy.read_options(), text_columns(policy))
    policy.schema().check(source.columns)
    wanted = [*sampler.hierarchies, *([] if sampler.person is None else [sampler.person])]
    rows = source.read(columns=wanted)
    progress("drawing rows")
    drawn = released(sampler, rows, book)
    terms = drawn.terms
    return Release(
        kind=KIND,
        policy=policy,
        claims=drawn.claims(),
        rows={"out": drawn.data.height},
        facts=PrivateFacts(terms={"epsilon": terms.epsilon, "delta": terms.delta, "k": terms.k}),
        source=drawn,
        original=frame_given(table),
    )


def _sampler_of(policy: Policy) -> SafePub:
    sections = policy.guarantee_sections
    made = (each.made() for each in sections)
    it = next(each for each in made if isinstance(each, DifferentialPrivacy))
    columns = [each for each in policy.schema().columns if each.role != "identifier"]
    return SafePub(
        epsilon=it.epsilon,
        delta=it.delta,
        sampling_fraction=it.sampling_fraction,
        search_epsilon=it.search_epsilon,
        hierarchies={each.name: each.hierarchy for each in columns},
        levels={each.name: _levels_of(each) for each in columns},
        person=policy.person,
    )


def _levels_of(column: Column) -> int | tuple[int | None, int | None]:
    """Return the one level of a column, or between which it is chosen."""
    least, greatest = column.least_level, column.greatest_level
    return least if least is not None and least == greatest else (least, greatest)


@contextmanager
def files(release: Release[PrivateFacts], job: WriteJob) -> Iterator[RowFiles]:
    """Give how files are written."""
    del job
    yield RowFiles(write=_product(release).write)


def weaknesses(release: Release[PrivateFacts]) -> Sequence[str]:
    """Name what the guarantee doesn't cover."""
    return _product(release).weaknesses


def details(release: Release[PrivateFacts]) -> Mapping[str, Json]:
    """Return the level of each column."""
    return _product(release).details


def blocks(release: Release[PrivateFacts]) -> Sequence[AnyBlock]:
    """Return how rows were made, and what isn't stated."""
    return _product(release).blocks


def _product(release: Release[PrivateFacts]) -> Product:
    rows: PrivateRows = release.source
    form = release.policy.output.format
    return rows.product(policy_sha256=release.policy.sha256, form=form)


KIND = ReleaseKind(
    name=PRIVATE_MICRODATA,
    make=make,
    files=files,
    weaknesses=weaknesses,
    details=details,
    blocks=blocks,
    about="the guarantee 'differential-privacy'",
    refuses=_UNUSED,
)

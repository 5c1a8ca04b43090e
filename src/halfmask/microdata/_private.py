"""The kind `private-microdata`: rows under differential privacy (SafePub)."""

from __future__ import annotations

import hashlib
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from halfmask._errors import ColumnWarning
from halfmask.claims import DataFile
from halfmask.claims.claim import weakness_sentence
from halfmask.claims.manifest import PRIVATE_MICRODATA
from halfmask.data import frame_given, write_table
from halfmask.dp.safepub import SafePub
from halfmask.dp.safepub.safepub import released
from halfmask.microdata._differential_privacy import DifferentialPrivacy
from halfmask.microdata.opening import ledger_view, opened_as_texts, text_columns
from halfmask.release import Release, ReleaseKind, RowFiles, TextBlock
from halfmask.release.briefing import Briefing, named
from halfmask.release.meanings import meanings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from halfmask.claims.claim import Json
    from halfmask.data import Column, Format
    from halfmask.dp.safepub import PrivateRows
    from halfmask.microdata._policy import Policy
    from halfmask.release import Inputs, WriteJob
    from halfmask.release.page import AnyBlock

_PART: Final = "data/part-00000"
_LEFT_OUT: Final = (
    "The release doesn't state how many rows the table has, nor how many were left out.",
    "It doesn't state measured risk and utility, which compare released rows with the table.",
    "Such numbers depend on each row of the table: to state them would cost more epsilon.",
    "All counts that are stated are of the released rows, and everybody can count these.",
)
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
    """Epsilon, delta and the k that follows from them, and the format: nothing of the table."""

    terms: Mapping[str, float]
    form: Format


def make(table: object, policy: Policy, inputs: Inputs) -> Release[PrivateFacts | None]:
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
        facts=PrivateFacts(
            terms={"epsilon": terms.epsilon, "delta": terms.delta, "k": terms.k},
            form=policy.output.format,
        ),
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
def files(release: Release[PrivateFacts | None], job: WriteJob) -> Iterator[RowFiles]:
    """Yield how the rows are written, as one file."""
    del job
    # `PrivateRows.write` releases rows without a policy, so without a format.
    form: Format = "parquet" if release.facts is None else release.facts.form
    rows: PrivateRows = release.source

    def write(folder: Path) -> Sequence[DataFile]:
        path = folder / f"{_PART}.{form}"
        write_table(rows.data, path, format=form)
        raw = path.read_bytes()
        return [
            DataFile(
                name=f"{_PART}.{form}",
                format=form,
                sha256=hashlib.sha256(raw).hexdigest(),
                n_bytes=len(raw),
                n_rows=rows.data.height,
            )
        ]

    yield RowFiles(write=write)


def weaknesses(release: Release[PrivateFacts | None]) -> Sequence[str]:
    """Name what the guarantee doesn't cover."""
    rows: PrivateRows = release.source
    names = ["unseen-sampling", "one-release"]
    names += ["rows-not-persons"] if rows.terms.person is None else []
    return [weakness_sentence(name) for name in names]


def details(release: Release[PrivateFacts | None]) -> Mapping[str, Json]:
    """Return the level of each column."""
    rows: PrivateRows = release.source
    return {"levels": dict(rows.levels), "heights": dict(rows.heights)}


def blocks(release: Release[PrivateFacts | None]) -> Sequence[AnyBlock]:
    """Return how rows were made, and what isn't stated."""
    return [
        TextBlock(title="How rows were made", sentences=_sentences(release.source)),
        TextBlock(title="What isn't stated, and why", sentences=_LEFT_OUT),
    ]


def _sentences(rows: PrivateRows) -> list[str]:
    it = rows.terms
    levels = ", ".join(
        f"{name} {level} of {rows.heights[name]}" for name, level in rows.levels.items()
    )
    chosen = f"chosen by the exponential mechanism with epsilon {it.search_epsilon}"
    how = "given" if it.are_levels_given else chosen
    of_person = "" if it.person is None else " One row of each person took part."
    return [
        f"Each row was drawn with probability {it.sampling_fraction}.{of_person}",
        f"Levels were {how}: {levels}.",
        f"Classes of fewer than {it.k} rows over all columns were left out.",
        f"This size follows from epsilon {it.epsilon}, delta {it.delta} and the probability.",
    ]


def _alike(rows: PrivateRows) -> str:
    return f"Each combination of {named(rows.data.columns)} is in {rows.terms.k} rows or more."


KIND = ReleaseKind(
    name=PRIVATE_MICRODATA,
    make=make,
    files=files,
    weaknesses=weaknesses,
    details=details,
    briefing=lambda it: Briefing(
        protected=[
            *meanings([each for each in it.claims if each.basis == "accounted"]),
            _alike(it.source),
        ],
        lost=_sentences(it.source),
        attacked="No attack was run: the guarantee bounds what any attack learns of one person.",
        unpictured="A picture would compare with the table, which costs more epsilon.",
    ),
    blocks=blocks,
    about="the guarantee 'differential-privacy'",
    refuses=_UNUSED,
)

"""PrivateRelease: rows under differential privacy by a policy (SafePub)."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from halfmask._errors import ColumnWarning, ParameterError, ReleaseError
from halfmask._html_table import html_table
from halfmask._progress import Progress, silent
from halfmask.data import like
from halfmask.dp.safepub import SafePub
from halfmask.dp.safepub._safepub import released
from halfmask.engines import LocalEngine
from halfmask.microdata._differential_privacy import DifferentialPrivacy
from halfmask.microdata._opening import frame_given, ledger_view, opened_as_texts
from halfmask.microdata._release import Release
from halfmask.release import publish_verified

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask.claims import Claim, Manifest
    from halfmask.data import Column
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.dp.safepub import PrivateRows
    from halfmask.microdata._policy import Policy
    from halfmask.verifier import CheckedRelease

#: Why `protect` refuses its other parameters.
_UNUSED: Final = {
    "key": "Rows are drawn by the operating system's randomness and written in a fixed order.",
    "vault": "The guarantee goes with no pseudonyms.",
    "population": "The guarantee is about no population.",
    "strict": "All columns count in the classes.",
    "persons": "No file says whose row is released.",
    "engine": "The table is read into memory, in this process.",
}


class PrivateRelease(Release):
    """Rows under differential privacy, made by :func:`halfmask.protect`.

    Parameters
    ----------
    policy
        The policy by which they were made.
    private_rows
        The rows and their parameters.
    original
        The table as given, for the library of `data`.
    written
        What `write` has written and verified.

    Attributes
    ----------
    claims
        Differential privacy as accounted, k-anonymity as counted.
    manifest, verification
        ``None`` before :meth:`write`.

    Raises
    ------
    GuaranteeNotMetError
        If no class of k rows is left.

    Notes
    -----
    **Guarantees.** Neither this object nor what :meth:`write` leaves holds a number that depends on
    the table, except what the released rows show. ``risk``, ``utility`` and ``prepared`` of other
    releases raise :class:`~halfmask.ReleaseError`.
    """

    __slots__ = ("_policy", "private_rows")
    _policy: Policy
    private_rows: PrivateRows

    def __init__(
        self,
        *,
        policy: Policy,
        private_rows: PrivateRows,
        original: object,
        written: tuple[Manifest, CheckedRelease] | None = None,
    ) -> None:
        fields = {
            "_policy": policy,
            "private_rows": private_rows,
            "claims": private_rows.claims(),
            "original": original,
            "manifest": None if written is None else written[0],
            "verification": None if written is None else written[1],
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        stated = ", ".join(f"{name} {it:g}" for name, it in self.terms.items())
        return f"PrivateRelease({self.rows['out']} rows, {stated})"

    def _repr_html_(self) -> str:
        """Show the claims in a notebook."""
        claims = cast("tuple[Claim, ...]", self.claims)
        return html_table(
            f"Release of {self.rows['out']:,} rows under differential privacy",
            ("claim",),
            ((each.sentence(),) for each in claims),
            ("Not written yet." if self.manifest is None else "Written, and verified on disk.",),
        )

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same object: no two releases are the same."""
        return self is other

    def __hash__(self) -> int:
        """Return a hash of the object."""
        return id(self)

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 # whatever it has
        """Refuse what depends on the table."""
        if name in {"risk", "utility", "prepared"}:
            _refuse(name)
        return super().__getattribute__(name)

    @property
    def terms(self) -> dict[str, float]:
        """Epsilon, delta and the k that follows from them."""
        it = self.private_rows.terms
        return {"epsilon": it.epsilon, "delta": it.delta, "k": it.k}

    @property
    def policy(self) -> Policy:
        """The policy by which it was made."""
        return self._policy

    @property
    def rows(self) -> dict[str, int]:
        """How many rows are released; not how many were read."""
        return {"out": self.private_rows.data.height}

    @property
    def data(self) -> Any:  # noqa: ANN401 # the library that the table came in
        """The released rows as the input's kind of frame; all columns are texts."""
        rows = self.private_rows.data
        return rows if self.original is None else like(rows, self.original)

    def write(
        self,
        out: str | Path,
        *,
        overwrite: bool = False,
        persons: str | Path | None = None,
        progress: Progress | None = None,
    ) -> PrivateRelease:
        """Write the release, verify it on disk, and then give the folder its name.

        Parameters
        ----------
        out, overwrite, progress
            As of `Release.write`.
        persons
            Not taken: no file says whose row is released.

        Raises
        ------
        VerificationError
            If the verifier doesn't confirm both claims; nothing is left.
        ReleaseError
            If the folder exists, or can't be written; nothing is left.
        """
        check_unused(persons=persons)
        product = self.private_rows.product(
            policy_sha256=self.policy.sha256, form=self.policy.output.format
        )
        found = publish_verified(product, out, overwrite=overwrite, progress=progress)
        return PrivateRelease(
            policy=self.policy,
            private_rows=self.private_rows,
            original=self.original,
            written=cast("tuple[Manifest, CheckedRelease]", found),
        )


def sampler_of(policy: Policy) -> SafePub | None:
    """Return what makes the rows of a policy, if it has this guarantee."""
    section = next((it for it in policy.guarantee_sections if it.kind is DifferentialPrivacy), None)
    if section is None:
        return None
    it: DifferentialPrivacy = section.made()
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


def private_release(
    table: object,
    policy: Policy,
    sampler: SafePub,
    *,
    ledger: PrivacyLedger | None,
    progress: Progress = silent,
) -> PrivateRelease:
    """Draw rows by a policy; see :func:`halfmask.protect`."""

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
    return PrivateRelease(
        policy=policy,
        private_rows=released(sampler, rows, book),
        original=frame_given(table),
    )


def text_columns(policy: Policy) -> dict[str, str]:
    """Return types for columns of text files: text, where the policy declares nothing.

    What a reader finds depends on every cell: one row would change the text of all others.
    """
    declared = policy.input
    known = {*declared.dtypes, *declared.date_formats, *declared.number_formats, *declared.lists}
    undeclared = {
        name: "string"
        for name, it in policy.columns.items()
        if name not in known and (it.role != "identifier" or name == policy.person)
    }
    return {**declared.dtypes, **undeclared}


def check_unused(**given: object) -> None:
    """Raise if a parameter is given that has no meaning for such a release."""
    for name, value in given.items():
        if not (value is None or value is False or isinstance(value, LocalEngine)):
            raise ParameterError(
                f"The {name!r} parameter of protect doesn't go with the guarantee "
                "'differential-privacy'.",
                hint=_UNUSED[name],
            )


def check_place(out: str | Path, *, overwrite: bool) -> None:
    """Raise if a release can't be written, before it is paid for."""
    if os.path.lexists(out) and not overwrite:
        raise ReleaseError(
            "The folder exists already, and nothing was charged.",
            hint="Choose another name, or overwrite an earlier release.",
        )


def _refuse(name: str) -> NoReturn:
    raise ReleaseError(
        f"A release under differential privacy has no {name!r}: it would depend on each row of the "
        "table.",
        hint="Measure on rows that were never in the table.",
    )

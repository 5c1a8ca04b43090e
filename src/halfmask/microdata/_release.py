"""Release: a protected table with its claims, in memory, until it is written and verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from halfmask._html_table import html_table
from halfmask.data import like

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask._progress import Progress
    from halfmask.claims._table_manifest import ClassClaim, TableManifest
    from halfmask.microdata._evaluation import ReleaseRisk, ReleaseUtility
    from halfmask.microdata._policy import Policy
    from halfmask.microdata._prepared import Prepared
    from halfmask.verifier.tables import Verification


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """A protected table with its claims, made by :func:`halfmask.protect`.

    Attributes
    ----------
    prepared, original
        The table with its plan, and the raw table: `data` is written from them.
    claims
        Each guarantee with what was counted for it on the released classes.
    risk
        What an attacker who knows the quasi-identifiers identifies, before and after.
    utility
        What a learner keeps.
    manifest
        The written manifest; ``None`` before :meth:`write`.
    verification
        What the verifier counted on disk; ``None`` before :meth:`write`.

    See Also
    --------
    halfmask.protect : Makes a release.
    halfmask.verify : Counts a written release again.

    Notes
    -----
    **Guarantees.** :meth:`write` makes a complete release that the verifier confirmed on disk, or
    nothing. ``data`` in memory is judged, but not verified.
    """

    claims: tuple[ClassClaim, ...]
    risk: ReleaseRisk
    utility: ReleaseUtility
    prepared: Prepared
    original: object
    manifest: TableManifest | None = None
    verification: Verification | None = None

    def __repr__(self) -> str:
        rows = self.prepared.n_out
        kept = ", ".join(f"{claim.model} {claim.evidence.achieved:g}" for claim in self.claims)
        return f"Release({rows} rows, {kept})"

    def _repr_html_(self) -> str:
        """Show claims, rows and risk as a table in a notebook: counts, and no cell."""
        claims = (
            (
                claim.model,
                ", ".join(f"{name} = {value}" for name, value in claim.parameters.items()),
                claim.column or "",
                f"{claim.evidence.achieved:g}",
                claim.evidence.classes,
            )
            for claim in self.claims
        )
        rows = self.rows
        highest = [each.prosecutor.highest.value for each in (self.risk.before, self.risk.after)]
        return html_table(
            f"Release of {rows['out']:,} rows",
            ("guarantee", "parameters", "column", "reached", "classes"),
            claims,
            (
                f"Rows: {rows['in']:,} read, {rows['suppressed']:,} suppressed.",
                f"Highest prosecutor risk: {highest[0]:.1%} before, {highest[1]:.1%} after.",
                "Not written yet." if self.manifest is None else "Written, and verified on disk.",
            ),
        )

    @property
    def policy(self) -> Policy:
        """The policy by which it was made."""
        return self.prepared.policy

    @property
    def rows(self) -> dict[str, int]:
        """How many rows were read, released and suppressed."""
        prepared = self.prepared
        return {
            "in": prepared.n_in,
            "out": prepared.n_out,
            "suppressed": prepared.n_in - prepared.n_out,
        }

    @property
    def data(self) -> Any:  # noqa: ANN401 # the library that the table came in
        """The protected rows, in a keyed random order, as the input's kind of frame."""
        frame = self.prepared.shuffled()
        return like(frame, self.original) if self.original is not None else frame

    def write(
        self,
        out: str | Path,
        *,
        overwrite: bool = False,
        persons: str | Path | None = None,
        progress: Progress | None = None,
    ) -> Release:
        """Write the release, verify it on disk, and then give the folder its name.

        Parameters
        ----------
        out
            The folder to make, or its address in an object store, as in ``"s3://bucket/release"``.
        overwrite
            Whether an earlier release of that name may be replaced; until the new one is complete
            and verified the old one stays.
        persons
            A file to make outside of the release, where a person is the unit: it says which rows
            are of one person, and `halfmask.verify` needs it to count persons again.
        progress
            Called with what is being done and how far it is.

        Returns
        -------
        Release
            The same with its manifest and what the verifier counted.

        Raises
        ------
        VerificationError
            If the verifier doesn't confirm every claim; nothing is left.
        ReleaseError
            If the folder exists, or can't be written; nothing is left.
        """
        from halfmask.microdata._product import write_release  # noqa: PLC0415 # loads the page

        return write_release(self, out, overwrite=overwrite, progress=progress, persons=persons)

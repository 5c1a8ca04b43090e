"""PrivateRows: what SafePub releases, and its claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask._errors import GuaranteeNotMetError
from halfmask.claims import Claim
from halfmask.claims.manifest import PRIVATE_MICRODATA
from halfmask.release import Release, kind_named

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from halfmask.claims import Manifest
    from halfmask.claims.claim import Json
    from halfmask.dp.safepub._sampling_bound import SamplingTerms


@dataclass(frozen=True, kw_only=True)
class PrivateRows:
    """Rows of a random sample at chosen levels, without classes of fewer than k rows.

    Attributes
    ----------
    terms
        The parameters that they were made by.
    data
        The rows, in the order of their labels; all columns are texts.
    levels, heights
        The chosen and the highest level of each column.

    Notes
    -----
    **Guarantees.** What :meth:`write` leaves holds these attributes and the parameters, and nothing
    else that depends on the table.
    """

    terms: SamplingTerms
    data: pl.DataFrame = field(repr=False)
    levels: Mapping[str, int]
    heights: Mapping[str, int]

    def frame(self, number: int = 0) -> pl.DataFrame:
        """Return the rows.

        Parameters
        ----------
        number
            The number of the copy: there is one, 0.
        """
        del number
        return self.data

    def claims(self) -> tuple[Claim, ...]:
        """Return what is claimed: differential privacy as accounted, k as counted.

        Raises
        ------
        GuaranteeNotMetError
            If no class of k rows is left.
        """
        if not self.data.height:
            raise GuaranteeNotMetError(
                f"No class of {self.terms.k} rows is left, so there is nothing to release.",
                hint="Choose higher levels, fewer columns, or a larger epsilon. Another try costs "
                "its epsilon again.",
            )
        sizes = self.data.group_by(self.data.columns).len("n")["n"]
        columns: list[Json] = list(self.data.columns)
        return (
            Claim(
                model="differential-privacy",
                parameters={"epsilon": self.terms.epsilon, "delta": self.terms.delta},
                about={
                    "columns": columns,
                    "unit": "row" if self.terms.person is None else "person",
                    "neighbours": f"{self._unit} added or removed",
                    "levels": "given" if self.terms.are_levels_given else "chosen",
                },
                basis="accounted",
                evidence={
                    "sampling_fraction": self.terms.sampling_fraction,
                    "search_epsilon": self.terms.search_epsilon,
                    "k": self.terms.k,
                },
            ),
            Claim(
                model="k-anonymity",
                parameters={"k": self.terms.k},
                about={"columns": columns},
                basis="counted",
                evidence={
                    "smallest_class": int(sizes.to_numpy().min()),
                    "classes": len(sizes),
                    "rows": self.data.height,
                },
            ),
        )

    def write(self, out: str | Path, *, overwrite: bool = False) -> Manifest:
        """Write the release, verify it on disk, and then give the folder its name.

        Parameters
        ----------
        out
            The folder to make.
        overwrite
            Whether an earlier release of that name may be replaced.

        Raises
        ------
        GuaranteeNotMetError
            If no class of k rows is left.
        VerificationError
            If the verifier doesn't confirm both claims; nothing is left.
        ReleaseError
            If the folder exists, or can't be written; nothing is left.
        """
        release = Release(
            kind=kind_named(PRIVATE_MICRODATA),
            policy=self.terms,
            claims=self.claims(),
            rows={"out": self.data.height},
            facts=None,
            source=self,
        )
        return release.write(out, overwrite=overwrite).written[0]

    @property
    def _unit(self) -> str:
        return "one row is" if self.terms.person is None else "all rows of one person are"

"""PrivateRows: what SafePub releases, and its claims."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask._errors import GuaranteeNotMetError
from halfmask.claims import Claim, DataFile
from halfmask.claims._manifest import PRIVATE_MICRODATA
from halfmask.claims._weaknesses import weakness_sentence
from halfmask.data import write_table
from halfmask.release import Product, TextBlock, publish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from halfmask.claims import Manifest
    from halfmask.claims._claim import Json
    from halfmask.dp.safepub._sampling_terms import SamplingTerms

__all__ = ["PrivateRows"]

_FILE = "data/part-00000.parquet"


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
                    "unit": "row",
                    "neighbours": "one row is added or removed",
                    "levels": "given" if self.terms.levels is not None else "chosen",
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
        claims = self.claims()
        product = Product(
            kind=PRIVATE_MICRODATA,
            policy_sha256=self.terms.sha256,
            write=self._write_files,
            claims=lambda _files: claims,
            weaknesses=[weakness_sentence(name) for name in ("unseen-sampling", "one-release")],
            blocks=[TextBlock(title="How rows were made", sentences=self._sentences())],
            details={"levels": dict(self.levels), "heights": dict(self.heights)},
        )
        return publish(product, out, overwrite=overwrite)

    def _write_files(self, folder: Path) -> Sequence[DataFile]:
        path = folder / _FILE
        write_table(self.data, path, format="parquet")
        raw = path.read_bytes()
        return [
            DataFile(
                name=_FILE,
                format="parquet",
                sha256=hashlib.sha256(raw).hexdigest(),
                n_bytes=len(raw),
                n_rows=self.data.height,
            )
        ]

    def _sentences(self) -> list[str]:
        it = self.terms
        levels = ", ".join(
            f"{name} {level} of {self.heights[name]}" for name, level in self.levels.items()
        )
        how = "given" if it.levels is not None else "chosen by the exponential mechanism"
        return [
            f"Each row was drawn with probability {it.sampling_fraction}.",
            f"Levels were {how}: {levels}.",
            f"Classes of fewer than {it.k} rows were left out.",
            "Neither the number of rows of the table nor of those left out is stated.",
        ]

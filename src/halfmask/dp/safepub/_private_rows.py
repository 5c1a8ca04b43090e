"""PrivateRows: what SafePub releases, and its claims."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from halfmask._errors import GuaranteeNotMetError
from halfmask.claims import Claim, DataFile
from halfmask.claims.claim import weakness_sentence
from halfmask.claims.manifest import PRIVATE_MICRODATA
from halfmask.data import write_table
from halfmask.release import Product, TextBlock, publish

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from halfmask.claims import Manifest
    from halfmask.claims.claim import Json
    from halfmask.data import Format
    from halfmask.dp.safepub._sampling_terms import SamplingTerms

_PART = "data/part-00000"
LEFT_OUT = (
    "The release doesn't state how many rows the table has, nor how many were left out.",
    "It doesn't state measured risk and utility, which compare released rows with the table.",
    "Such numbers depend on each row of the table: to state them would cost more epsilon.",
    "All counts that are stated are of the released rows, and everybody can count these.",
)


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
        product = self.product(policy_sha256=self.terms.sha256)
        return publish(product, out, overwrite=overwrite)

    def product(self, *, policy_sha256: str, form: Format = "parquet") -> Product:
        """Return what is released.

        Parameters
        ----------
        policy_sha256
            The hash of what it was made by.
        form
            The format of the data file.
        """
        claims = self.claims()
        weaknesses = ["unseen-sampling", "one-release"]
        weaknesses += ["rows-not-persons"] if self.terms.person is None else []
        return Product(
            kind=PRIVATE_MICRODATA,
            policy_sha256=policy_sha256,
            write=lambda folder: self._write_files(folder, form),
            claims=lambda _files: claims,
            weaknesses=[weakness_sentence(name) for name in weaknesses],
            blocks=[
                TextBlock(title="How rows were made", sentences=self._sentences()),
                TextBlock(title="What isn't stated, and why", sentences=LEFT_OUT),
            ],
            details={"levels": dict(self.levels), "heights": dict(self.heights)},
        )

    @property
    def _unit(self) -> str:
        return "one row is" if self.terms.person is None else "all rows of one person are"

    def _write_files(self, folder: Path, form: Format) -> Sequence[DataFile]:
        name = f"{_PART}.{form}"
        path = folder / name
        write_table(self.data, path, format=form)
        raw = path.read_bytes()
        return [
            DataFile(
                name=name,
                format=form,
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
        chosen = f"chosen by the exponential mechanism with epsilon {it.search_epsilon}"
        how = "given" if it.are_levels_given else chosen
        of_person = "" if it.person is None else " One row of each person took part."
        return [
            f"Each row was drawn with probability {it.sampling_fraction}.{of_person}",
            f"Levels were {how}: {levels}.",
            f"Classes of fewer than {it.k} rows over all columns were left out.",
            f"This size follows from epsilon {it.epsilon}, delta {it.delta} and the probability.",
        ]

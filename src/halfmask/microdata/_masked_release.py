"""mask: from a table and a policy of masks to a release without classes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halfmask._errors import GuaranteeNotMetError, ParameterError, PolicyError, SchemaError
from halfmask._html_table import html_table
from halfmask._progress import Progress, silent
from halfmask._random import check_key, fresh_key
from halfmask.assess.masking import MaskingAssessment, compare_masked
from halfmask.claims import released_columns_claim
from halfmask.data import like, open_table
from halfmask.engines import LocalEngine
from halfmask.masks import ClaimingMask, MaskedTable, pseudonym_key
from halfmask.microdata._folds import drawn
from halfmask.microdata._mask_checks import with_hierarchies
from halfmask.microdata._masked_rows import MaskedRows, changed, released_columns
from halfmask.microdata._opening import frame_given
from halfmask.microdata._policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from halfmask.claims import Claim, Manifest
    from halfmask.engines import Engine
    from halfmask.vault import Vault
    from halfmask.verifier import CheckedRelease

#: Risk and utility are measured on so many rows, about.
ASSESSED_ROWS = 100_000
#: With fewer rows an attack tells nothing.
LEAST_ROWS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedRelease:
    """A masked table and its claims, made by :func:`halfmask.mask`.

    Attributes
    ----------
    rows_to_write, original
        The table behind its masks, and the raw table: `data` is written from them.
    claims
        What is counted of each technique in the files.
    assessment
        Measured risk and utility. Attacks are compared with a control and a baseline. ``None`` for
        a table of fewer than 20 rows,
        or if only tokens are released.
    manifest
        The written manifest; ``None`` before :meth:`write`.
    verification
        What the verifier counted on disk; ``None`` before :meth:`write`.

    See Also
    --------
    halfmask.mask : Makes a masked release.
    halfmask.protect : Makes a release of classes, with masks in front of them.

    Notes
    -----
    **Guarantees.** :meth:`write` makes a complete release that the verifier confirmed on disk, or
    nothing. A masking technique guarantees no privacy model, unless its claim is one.
    """

    claims: tuple[Claim, ...]
    assessment: MaskingAssessment | None
    rows_to_write: MaskedRows
    original: object
    manifest: Manifest | None = None
    verification: CheckedRelease | None = None

    def __repr__(self) -> str:
        return f"MaskedRelease({self.rows['out']} rows, {len(self.claims)} claims)"

    def _repr_html_(self) -> str:
        """Show the claims and the rows as a table in a notebook: counts, and no cell."""
        return html_table(
            f"Masked release of {self.rows['out']:,} rows",
            ("claim", "columns"),
            ((it.sentence(), ", ".join(map(str, _columns_of(it)))) for it in self.claims),
            (
                f"Rows: {self.rows['in']:,} read.",
                "Not written yet." if self.manifest is None else "Written, and verified on disk.",
            ),
        )

    @property
    def policy(self) -> Policy:
        """The policy by which it was made."""
        return self.rows_to_write.policy

    @property
    def rows(self) -> dict[str, int]:
        """How many rows were read and released; sampling releases fewer."""
        return {"in": self.rows_to_write.n_in, "out": self.rows_to_write.n_out}

    @property
    def data(self) -> Any:  # noqa: ANN401 # the library that the table came in
        """The masked rows, in a keyed random order, as the input's kind of frame."""
        frame = self.rows_to_write.shuffled()
        return like(frame, self.original) if self.original is not None else frame

    def write(
        self, out: str | Path, *, overwrite: bool = False, progress: Progress | None = None
    ) -> MaskedRelease:
        """Write the release, verify it on disk, and then give the folder its name.

        Parameters
        ----------
        out
            The folder to make, or its address in an object store, as in ``"s3://bucket/release"``.
        overwrite
            Whether an earlier release of that name may be replaced.
        progress
            Called with what is being done and how far it is.

        Raises
        ------
        VerificationError
            If the verifier doesn't confirm every claim; nothing is left.
        ReleaseError
            If the folder exists, or can't be written; nothing is left.
        """
        from halfmask.microdata._masked_product import write_masked  # noqa: PLC0415 # loads pages

        manifest, verification = write_masked(
            self.rows_to_write,
            self.claims,
            self.assessment,
            out,
            overwrite=overwrite,
            progress=progress,
        )
        return replace(self, manifest=manifest, verification=verification)


def mask(
    table: object,
    policy: Policy,
    *,
    key: bytes | None = None,
    vault: Vault | None = None,
    engine: Engine | None = None,
    strict: bool = False,
    progress: Progress | None = None,
) -> MaskedRelease:
    """Mask a table by a policy that has masks and no guarantees.

    Parameters
    ----------
    table
        A frame of polars, pandas or pyarrow; a file, a folder of files, or ``"-"``; or an opened
        :class:`~halfmask.data.Source`.
    policy
        What the owner wants; it must name every column of the table.
    key
        32 secret bytes that fix the order of released rows, tokens, and the random numbers of
        masks. Without one a fresh key is drawn from the operating system and forgotten.
    vault
        The vault with the key of pseudonyms whose scope is ``"vault"``.
    engine
        Where batches are masked and, of a table in Parquet files, read and written: in threads by
        default, or on a cluster.
    strict
        Whether it is an error if attacks find people again: see `MaskingAssessment.warning`.
    progress
        Called with what is being done and how far it is.

    Returns
    -------
    MaskedRelease
        ``.data``, ``.claims``, ``.assessment``; ``.write(out)`` verifies it on disk.

    Raises
    ------
    PolicyError
        If the policy has guarantees: `halfmask.protect` is for those.
    SchemaError
        If the policy and the table don't agree.
    DataError
        If a mask can't process a value of its column.
    GuaranteeNotMetError
        If `strict`, and people are found again, or there are too few rows to measure it.

    See Also
    --------
    halfmask.protect : Privacy models over classes, with masks in front of them.
    halfmask.masks : All techniques.

    Notes
    -----
    **Guarantees.** Identifiers are dropped. Whatever can be counted of a technique is claimed and
    counted again on disk. What can't be counted is measured: ``.assessment`` compares attacks
    with a control and a baseline.

    **Edge cases.** Risk and utility of a table of more than 100,000 rows are measured on a random
    part of it.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.microdata import Policy, mask
    >>> policy = Policy.from_toml('''
    ... halfmask = 1
    ... [columns]
    ... name = { role = "identifier" }
    ... pay = { role = "sensitive", kind = "numeric", mask = { name = "round", base = 1000 } }
    ... ''')
    >>> people = pl.DataFrame({"name": ["Ann", "Bob"], "pay": [41_300, 38_900]})
    >>> release = mask(people, policy)
    >>> sorted(release.data["pay"]), [claim.model for claim in release.claims]
    ([39000, 41000], ['released-columns', 'multiples'])
    """
    if not isinstance(policy, Policy):
        raise ParameterError(
            f"The 'policy' parameter of mask must be a Policy. Got a {type(policy).__name__}.",
            hint="Load it from a file with halfmask.Policy.load(path).",
        )
    if policy.synthesis is not None:
        raise PolicyError(
            "The policy has [synthesis].",
            hint="[[Call halfmask.synthesize|Run halfmask synthesize]].",
        )
    if not policy.is_masks_alone:
        raise PolicyError(
            "The policy has [[guarantees]].", hint="[[Call halfmask.protect|Run halfmask protect]]."
        )
    progress, key = progress or silent, key if key is not None else fresh_key()
    check_key(key)
    source = open_table(table, options=policy.read_options())
    schema = policy.schema()
    schema.check(source.columns)
    table_masks = with_hierarchies(policy.table_masks, schema)
    progress("masking")
    vault_key = None if vault is None else pseudonym_key(vault)
    engine = engine or LocalEngine()
    behind = MaskedTable.of(
        source,
        policy.masks,
        table_masks,
        key=key,
        vault_key=vault_key,
        engine=engine,
        ordinal=policy.ordinal_columns,
    )
    rows = MaskedRows(policy=policy, table=behind, n_in=source.n_rows, key=key, engine=engine)
    if not rows.columns:
        raise SchemaError("Every column is an identifier, so nothing would be released.")
    progress("measuring risk and utility")
    assessment = _assessed(rows, progress)
    if strict:
        _check_strict(rows, assessment)
    return MaskedRelease(
        claims=tuple(_claims(rows)),
        assessment=assessment,
        rows_to_write=rows,
        original=frame_given(table),
    )


def _claims(rows: MaskedRows) -> Iterator[Claim]:
    yield released_columns_claim(released_columns(rows), rows.n_out)
    for each, columns in changed(rows):
        if isinstance(each, ClaimingMask):
            yield from each.claims(columns, rows.read)


def _check_strict(rows: MaskedRows, assessment: MaskingAssessment | None) -> None:
    """Raise if people are found again, or it can't be known."""
    if assessment is None and _compared(rows):
        raise GuaranteeNotMetError(
            f"The release has {rows.n_out} rows. With fewer than {LEAST_ROWS}, attacks tell "
            "nothing, and strict asks for one that is resisted."
        )
    if assessment is not None and assessment.warning is not None:
        raise GuaranteeNotMetError(
            assessment.warning, hint="Mask more columns, or mask them more coarsely."
        )


def _compared(rows: MaskedRows) -> list[str]:
    """Return the released columns of which an attacker with a person's values knows something."""
    return [
        name
        for name in rows.columns
        if all(each.is_matchable for each in rows.policy.masks_of(name))
    ]


def _columns_of(claim: Claim) -> Sequence[object]:
    columns = claim.about.get("columns")
    return columns if isinstance(columns, list) else []


def _assessed(rows: MaskedRows, progress: Progress) -> MaskingAssessment | None:
    """Measure risk and utility on rows of which both states are known."""
    policy = rows.policy
    compared = _compared(rows)
    if rows.n_out < LEAST_ROWS or not compared:
        return None
    share = min(1.0, ASSESSED_ROWS / rows.n_out)
    before, after = (
        drawn(source, compared, share=share, engine=rows.engine)
        for source in (rows.table.unmasked, rows.table.masked)
    )
    known = [name for name in compared if policy.columns[name].role == "quasi_identifier"]
    label = next((name for name in compared if policy.columns[name].label), None)
    codes = [
        name
        for name in compared
        if policy.columns[name].kind == "categorical" and before.schema[name].is_numeric()
    ]
    return compare_masked(
        before,
        after,
        columns=compared,
        key_columns=known,
        target=label,
        categories=codes,
        progress=progress,
    )

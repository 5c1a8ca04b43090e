"""synthesize: from a table and a policy to a release of synthetic rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from halfmask._errors import ParameterError, PolicyError, ReleaseError
from halfmask._html_table import html_table
from halfmask._optional import need
from halfmask._progress import Progress, silent
from halfmask._random import check_key, fresh_key
from halfmask.assess.synthesis import SynthesisAssessment, assess_synthetic
from halfmask.data import like, open_table, orders_of
from halfmask.data._orders import with_orders
from halfmask.microdata._opening import frame_given, ledger_view, opened_as_texts
from halfmask.microdata._policy import Policy
from halfmask.microdata._synthetic_claims import synthetic_claims
from halfmask.microdata._synthetic_rows import SyntheticRows, draw_rows

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask.claims import Claim, Manifest
    from halfmask.data import ReadOptions
    from halfmask.dp.ledger import PrivacyLedger
    from halfmask.engines import Engine
    from halfmask.verifier import CheckedRelease

#: The seed of attacks and models: the same rows have the same numbers.
SEED = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SyntheticRelease:
    """Synthetic rows and their claims, made by :func:`halfmask.synthesize`.

    Attributes
    ----------
    rows_to_write, original
        The drawn rows with the original ones that they were compared with, and the table as given.
    claims
        What is counted in the files, or repeated by the verifier.
    measured
        Measured risk and quality; attacks only where 20 rows or more were set aside. ``None`` for
        rows under an epsilon: to measure them would cost more.
    manifest
        The written manifest; ``None`` before :meth:`write`.
    verification
        What the verifier found on disk; ``None`` before :meth:`write`.

    See Also
    --------
    halfmask.synthesize : Makes a synthetic release.
    halfmask.synth.combine_estimates : What analysts estimate on several copies, combined.

    Notes
    -----
    **Guarantees.** :meth:`write` makes a complete release that the verifier confirmed on disk, or
    nothing. Synthetic rows guarantee no privacy model.
    """

    claims: tuple[Claim, ...]
    measured: SynthesisAssessment | None
    rows_to_write: SyntheticRows
    original: object
    manifest: Manifest | None = None
    verification: CheckedRelease | None = None

    def __repr__(self) -> str:
        return f"SyntheticRelease({self.rows['out']} rows, {len(self.claims)} claims)"

    def _repr_html_(self) -> str:
        """Show the claims in a notebook: counts, and no cell."""
        return html_table(
            f"Synthetic release of {self.rows['out']:,} rows",
            ("claim",),
            ((each.sentence(),) for each in self.claims),
            (
                f"Rows: {self.rows['learnt']:,} learnt from, {self.rows['control']:,} set aside.",
                "Not written yet." if self.manifest is None else "Written, and verified on disk.",
            ),
        )

    @property
    def assessment(self) -> SynthesisAssessment:
        """Measured risk and quality."""
        if self.measured is None:
            raise ReleaseError(
                "Rows under an epsilon aren't measured against the table.",
                hint="Measure on rows that were never in the table.",
            )
        return self.measured

    @property
    def policy(self) -> Policy:
        """The policy by which it was made."""
        return self.rows_to_write.policy

    @property
    def written(self) -> tuple[Manifest, CheckedRelease]:
        """The manifest and what the verifier found, of a release that was written."""
        if self.manifest is None or self.verification is None:
            raise ReleaseError("The release isn't written yet.", hint="Call its write method.")
        return self.manifest, self.verification

    @property
    def rows(self) -> dict[str, int]:
        """How many rows were read, learnt from, set aside and released."""
        return self.rows_to_write.counts

    @property
    def data(self) -> Any:  # noqa: ANN401 # the library that the table came in
        """The rows of the first copy, in a keyed random order."""
        return self.copy(0)

    def copy(self, number: int) -> Any:  # noqa: ANN401 # the library that the table came in
        """Return the rows of one copy.

        Parameters
        ----------
        number
            The number of the copy, from 0.
        """
        frame = self.rows_to_write.shuffled(number)
        if self.original is None:
            return frame
        return like(with_orders(frame, orders_of(self.original)), self.original)

    def write(
        self, out: str | Path, *, overwrite: bool = False, progress: Progress | None = None
    ) -> SyntheticRelease:
        """Write the release, verify it on disk, and then give the folder its name.

        Parameters
        ----------
        out
            The folder to make.
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
        from halfmask.microdata._synthetic_product import write_synthetic  # noqa: PLC0415 # loads pages

        manifest, verification = write_synthetic(
            self.rows_to_write,
            self.claims,
            self.measured,
            out,
            overwrite=overwrite,
            progress=progress,
        )
        return replace(self, manifest=manifest, verification=verification)


def synthesize(
    table: object,
    policy: Policy,
    *,
    key: bytes | None = None,
    ledger: PrivacyLedger | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> SyntheticRelease:
    """Draw synthetic rows by a policy that has ``[synthesis]``.

    Parameters
    ----------
    table
        A frame of polars, pandas or pyarrow; a file, a folder of files, or ``"-"``; or an opened
        :class:`~halfmask.data.Source`. It is read into memory.
    policy
        What the owner wants; it must name every column of the table.
    key
        32 secret bytes that fix every draw. Without one a fresh key is drawn from the operating
        system and forgotten.
    ledger
        For a policy with epsilon: the budget of the table. The release is booked before a row is
        counted.
    engine
        Where rows are drawn from the fitted model, for full and hybrid rows without groups; in
        threads by default. Models are fitted, and rows are written, by this process.
    progress
        Called with what is being done and how far it is.

    Returns
    -------
    SyntheticRelease
        ``.data``, ``.claims``, ``.assessment``; ``.write(out)`` verifies it on disk.

    Raises
    ------
    BudgetError
        If the ledger has less left than the release costs. Nothing is counted then.
    ParameterError
        If there is a ledger and the policy has no epsilon, or they protect different units.
    PolicyError
        If the policy has no ``[synthesis]``, or an engine is given for another kind of rows.
    SchemaError
        If the policy and the table don't agree, or a column can't be synthesized.
    DataError
        If there are no rows, or some break a rule.
    GuaranteeNotMetError
        If groups of k rows can't be made.

    See Also
    --------
    halfmask.protect : Privacy models over classes.
    halfmask.synth.Synthesizer : The model alone, for scikit-learn.

    Notes
    -----
    **Guarantees.** Identifiers are dropped before anything is learnt. Every row keeps every rule of
    the policy. A full release whose rows equal original ones more often than chance isn't written.
    A share of the rows is never learnt from: ``.assessment`` compares attacks on the others with
    attacks on these.

    **Edge cases.** No privacy model is guaranteed: rows are drawn from models of people's rows. How
    much they reveal is measured, and what isn't measured isn't known. With ``epsilon`` rows are
    drawn from noisy counts instead, are differentially private, and nothing is measured.

    Examples
    --------
    >>> import polars as pl
    >>> from halfmask.microdata import Policy, synthesize
    >>> policy = Policy.from_toml('''
    ... halfmask = 1
    ... [columns.age]
    ... role = "quasi_identifier"
    ... kind = "numeric"
    ... [columns.ill]
    ... role = "sensitive"
    ... kind = "categorical"
    ... [synthesis]
    ... kind = "full"
    ... ''')
    >>> people = pl.DataFrame({"age": [21, 58] * 50, "ill": ["flu", "asthma"] * 50})
    >>> release = synthesize(people, policy, key=bytes(32))
    >>> release.data.height, sorted(set(release.data.rows()))
    (100, [(21, 'flu'), (58, 'asthma')])
    """
    need("numba", "scipy", "sklearn", "threadpoolctl")
    progress = progress or silent
    if not isinstance(policy, Policy):
        raise ParameterError(
            "The 'policy' parameter of synthesize must be a Policy. "
            f"Got a {type(policy).__name__}.",
            hint="Load it from a file with halfmask.Policy.load(path).",
        )
    if policy.synthesis is None:
        raise PolicyError(
            "The policy has no [synthesis].",
            hint='Write [synthesis] with kind = "full", or '
            "[[call halfmask.protect|run halfmask protect]].",
        )
    key = key if key is not None else fresh_key()
    check_key(key)
    options = policy.read_options()
    as_texts = _person_as_text(policy, options)
    source = (
        opened_as_texts(table, options, as_texts)
        if as_texts
        else open_table(table, options=options)
    )
    policy.schema().check(source.columns)
    progress("reading", 0.0)
    if ledger is not None:
        _check_ledger(ledger, table, policy)
    wanted = [
        name
        for name in source.columns
        if policy.columns[name].role != "identifier" or name == policy.person
    ]
    rows = source.read(columns=wanted)
    progress("drawing rows", 0.1)
    drawn = draw_rows(rows, policy, policy.synthesis, key=key, ledger=ledger, engine=engine)
    progress("measuring risk and quality", 0.5)
    return SyntheticRelease(
        claims=synthetic_claims(drawn),
        measured=None if drawn.paid else _assessed(drawn),
        rows_to_write=drawn,
        original=frame_given(table),
    )


def _person_as_text(policy: Policy, options: ReadOptions) -> dict[str, str]:
    """Return the type of the person's column: whose row it is depends on no other row."""
    person = policy.person
    return {} if person is None or person in options.declarations() else {person: "string"}


def _check_ledger(ledger: PrivacyLedger, table: object, policy: Policy) -> None:
    if policy.synthesis is None or policy.synthesis.epsilon is None:
        raise ParameterError(
            "The 'ledger' parameter of synthesize goes with epsilon, and [synthesis] has none.",
            hint="Leave it out: without epsilon nothing is guaranteed that a ledger could add up.",
        )
    ledger.terms.check_person(policy.person)
    ledger.check_table(ledger_view(table, policy.read_options()))


def _assessed(drawn: SyntheticRows) -> SynthesisAssessment:
    policy, names = drawn.policy, drawn.learnt.columns
    return assess_synthetic(
        drawn.learnt,
        drawn.copies[0],
        control=drawn.control,
        secrets=[name for name in names if policy.columns[name].role == "sensitive"],
        quasi_identifiers=[
            name for name in names if policy.columns[name].role == "quasi_identifier"
        ],
        label=next((name for name in policy.schema().label if name in names), None),
        random_state=SEED,
    )

"""Attack a release whose rows were shuffled, so that no released row has a known original.

``protect`` shuffles rows with random bytes that it doesn't store. Two kinds of attacks need no
pairing. Singling out, linkability and inference compare people of the table with a control table.
Attacks on classes look up a secret that was released unchanged: the released cell is the truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import polars as pl

from halfmask._errors import DataError, SchemaError
from halfmask._progress import silent
from halfmask.assess.attacks._battery import attack
from halfmask.assess.attacks._reading import spelt
from halfmask.assess.attacks._targets import UNKNOWN, TableTarget
from halfmask.assess.attacks.classes import BackgroundKnowledge, Homogeneity, Skewness
from halfmask.assess.attacks.tables._links import shared_columns

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask._progress import Progress
    from halfmask.assess.attacks._report import AttackReport
    from halfmask.data import Hierarchy
    from halfmask.guarantees import Guarantee

#: A control table is taken to hold rows of the table if chance gives so many less often than this.
CHANCE: Final = 3e-7


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shuffled:
    """A release whose rows are in an unknown order, with what its owner has at hand.

    Parameters
    ----------
    released, original
        The released rows, and the rows they were made of.
    control
        Rows of the same population, held out before protection; ``None`` without any.
    quasi_identifiers, secrets
        What an attacker knows, and what is sensitive.
    unchanged
        The columns that were released unchanged.
    hierarchies
        Hierarchies by column, which an attacker knows.
    earlier, person
        Releases that left before, each with the rows it was made of; and the column that says whose
        row it is, if there is one.
    owners
        For each released row the number of its original row, if the owner of the table kept it:
        then attacks that need it are run, too.
    guarantees
        What the release claims: with owners, linkage by quasi-identifiers is judged against 1/k.
    """

    released: pl.DataFrame
    original: pl.DataFrame
    control: pl.DataFrame | None
    quasi_identifiers: tuple[str, ...]
    secrets: tuple[str, ...]
    unchanged: frozenset[str]
    hierarchies: dict[str, Hierarchy]
    earlier: tuple[tuple[pl.DataFrame, pl.DataFrame], ...] = ()
    person: str | None = None
    owners: NDArray[np.int64] | None = None
    guarantees: tuple[Guarantee, ...] = ()

    def __repr__(self) -> str:
        return f"Shuffled({self.released.height} released of {self.original.height} rows)"

    def not_in_original(self) -> str | None:
        """Return an unchanged column with a value that the original lacks, or ``None``.

        Such a release was made of another table, or the table was read in another way.
        """
        for name in shared_columns(self.unpaired()):
            if name in self.unchanged:
                dtype = self.original.schema[name]
                values = spelt(self.released[name], dtype).drop_nulls().unique()
                if not values.is_in(spelt(self.original[name], dtype).unique().to_list()).all():
                    return name
        return None

    def unpaired(self) -> TableTarget:
        """Return the target of attacks that compare people with a control table."""
        return TableTarget(
            released=self.released,
            original=self.original,
            control=self.control,
            quasi_identifiers=self.quasi_identifiers,
            secrets=self.secrets,
            guarantees=() if self.owners is None else self.guarantees,
            hierarchies=self.hierarchies,
            earlier=self.earlier,
            person=self.person,
            owners=UNKNOWN if self.owners is None else self.owners,
        )

    def by_class(self) -> TableTarget | None:
        """Return the target of attacks on classes: each row with its own secret.

        A secret that is released unchanged is its person's own, whatever the order of the rows.
        """
        secrets = tuple(name for name in self.secrets if name in self.unchanged)
        known = tuple(name for name in self.quasi_identifiers if name in self.released.columns)
        if not secrets or not known:
            return None
        return TableTarget(
            released=self.released, original=self.released, quasi_identifiers=known, secrets=secrets
        )

    def raw(self) -> TableTarget:
        """Return the raw table as a target: the positive control of both."""
        columns = shared_columns(self.unpaired())
        return TableTarget(
            released=self.original.select(columns),
            original=self.original,
            control=self.control,
            quasi_identifiers=self.quasi_identifiers,
            secrets=self.secrets,
            earlier=[
                (rows[[name for name in rows.columns if name in released.columns]], rows)
                for released, rows in self.earlier
            ],
            person=self.person,
        )


def attack_shuffled(
    release: Shuffled, *, random_state: int = 0, progress: Progress = silent
) -> AttackReport:
    """Run all attacks that need no pairing of released rows with original rows.

    Parameters
    ----------
    release
        The release, and the tables of its owner.
    random_state
        The seed of the attacks.
    progress
        Called with the name of each attack and the fraction that is done.

    Returns
    -------
    AttackReport
        Attacks that need a control table, or the owners of rows, are listed as skipped.

    Raises
    ------
    DataError
        If the control table holds rows of the original, so that attacks would seem to fail.
    """
    if release.control is not None:
        check_control(release.original, release.control, shared_columns(release.unpaired()))
    raw = release.raw()
    report = attack(
        release.unpaired(), unprotected=raw, random_state=random_state, progress=progress
    )
    target = release.by_class()
    if target is None or release.owners is not None:  # then these attacks were run with the others
        return report
    attacks = (Homogeneity(), BackgroundKnowledge(), Skewness())
    able = [each for each in attacks if not each.missing_inputs(target)]
    if not able:
        return report
    more = attack(
        target, unprotected=raw, attacks=able, random_state=random_state, progress=progress
    )
    ran = {each.name for each in able}
    return replace(
        report,
        findings=(*report.findings, *more.findings),
        too_few=(*report.too_few, *more.too_few),
        skipped=tuple((name, why) for name, why in report.skipped if name not in ran),
    )


def check_control(original: pl.DataFrame, control: pl.DataFrame, released: tuple[str, ...]) -> None:
    """Refuse a control table of another form, or with rows of the original.

    Notes
    -----
    If both tables are random samples of one population, a control row equals some original row as
    often as an original row equals another one. More than five standard errors above that, it
    isn't chance. It is tested over the released columns, and over all that both have: a name or a
    number of a person shows an overlap that common values hide.
    """
    for name in released:
        if name not in control.columns:
            raise SchemaError(f"The control table lacks the released column {name!r}.")
        types = original.schema[name], control.schema[name]
        if _family(types[0]) != _family(types[1]):
            raise SchemaError(
                f"Column {name!r} is {types[0]} in the table and {types[1]} in the control table.",
                hint="Read both in the same way: state the type of the column.",
            )
    both = tuple(
        name
        for name, dtype in original.schema.items()
        if name in control.columns and not dtype.is_nested()
    )
    for columns in dict.fromkeys((released, both)):
        _refuse_overlap(original, control, columns)


def _family(dtype: pl.DataType) -> str:
    return "number" if dtype.is_numeric() else str(dtype.base_type())


def _refuse_overlap(
    original: pl.DataFrame, control: pl.DataFrame, columns: tuple[str, ...]
) -> None:
    """Refuse more rows in both tables than chance explains."""
    names = [str(place) for place in range(len(columns))]  # columns may have any name
    rows, others = (
        # Equal ones of both tables are equal, 1 and 1.0 too.
        pl.DataFrame(
            [
                spelt(table[name], original.schema[name]).alias(str(n))
                for n, name in enumerate(columns)
            ]
        )
        for table in (original, control)
    )
    counted = rows.group_by(names).len()
    twins = int(counted.filter(pl.col("len") > 1)["len"].sum())
    found = others.join(counted, on=names, how="semi", nulls_equal=True).height
    n, m = original.height, control.height
    if not n or not m:
        return
    from scipy.stats import hypergeom  # noqa: PLC0415 # scipy loads late

    # Rows that equal others, dealt at random to both tables: exact, for they may be few.
    if hypergeom.sf(found - 1, n + m, twins + found, m) < CHANCE:
        raise DataError(
            f"{found:,} of {m:,} control rows are in the table, too, over {len(columns)} columns. "
            f"Chance would give about {twins / n * m:,.0f}.",
            hint="Set control rows aside at random before protect; then they aren't in the table.",
        )

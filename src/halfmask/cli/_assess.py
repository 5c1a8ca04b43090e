"""``halfmask assess``: the risk of a table; attacks on an encoding, a release or a model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from halfmask._errors import DataError
from halfmask.cli import _rooms as rooms
from halfmask.cli._assess_regression import regression
from halfmask.cli._assess_release import release
from halfmask.cli._assess_risk import risk
from halfmask.cli._assess_robustness import robustness
from halfmask.cli._claims import say_findings
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import argument, option, spreads_groups
from halfmask.cli._options import TABLE, SayingOptions, command_group
from halfmask.cli._stored import unseal_codec
from halfmask.cli._tables import Reading
from halfmask.cli._vault import LockOptions  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from halfmask.assess.attacks import AttackReport, EncodingTarget
    from halfmask.cli._console import Stages

#: The fewest rows of which half can be attacked.
FEWEST = 200

assess = command_group(
    "assess",
    "Measure the risk of a table; attack a release, an encoding or a model before you use it.",
)
assess.command()(risk)
assess.command()(release)
assess.command()(regression)
assess.command()(robustness)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackOptions:
    """What a codec would send, in place of a file, and how it is attacked and judged."""

    heading: ClassVar = "Attacks"

    vault: str | None = option("--vault VAULT: The vault that holds the codec.")
    codec: str | None = option("--codec NAME: The codec's name in the vault.")
    lock: LockOptions

    known: int = option("--known ROWS: Number of rows that the attacker knows.", 50, min=1)
    period: list[int] | None = option(
        "--period ROWS: Length of a calendar cycle in rows, if rows are in time order; may be "
        "given more than once.",
        min=2,
    )
    measure: list[str] | None = option(
        "--measure WORDS: Use only measures whose names have these words in a row, such as "
        "variance; may be given more than once."
    )
    seed: int = option("--seed N: The seed of the random draws.", 0, min=0)

    def check(self, encoded: str | None) -> None:
        """Refuse options that would do nothing, and all but one way to say what is attacked."""
        if (encoded is None) == (self.codec is None) or (self.codec is None) != (
            self.vault is None
        ):
            raise UsageError(
                "Say what is to be attacked, in one way.",
                hint="Give ENCODED, or --vault and --codec.",
            )
        if self.period and encoded is None:
            raise UsageError(
                "--period is for rows that left in the order of time.",
                hint="Give TABLE and ENCODED, both in that order.",
            )
        if any(not each.strip() for each in self.measure or ()):
            raise UsageError("--measure has no words.", hint="Give some of a measure's name.")


@assess.command()
@spreads_groups
def encoding(
    table: str = TABLE,
    encoded: str | None = argument(
        "[ENCODED]: The encoding of TABLE, with rows in TABLE's order; or use --vault and --codec.",
        None,
    ),
    *,
    how: AttackOptions,
    out: str | None = option("--out -o FILE: Write the results to this file, as JSON."),
    picture: str | None = option("--picture FILE: Draw the results in this file, as SVG."),
    reading: Reading,
    saying: SayingOptions,
) -> int:
    """Attack an encoding of TABLE with and without known rows.

    Half of the encoded rows are attacked. The other half is the attacker's knowledge of similar
    people. Each attack also runs on the raw rows. If it doesn't break them, it proves nothing.
    Files are written only if you name them. The exit code is 0, whatever the attacks find.
    """
    how.check(encoded)
    with saying.stages() as stages:
        if how.codec is not None and how.vault is not None:
            vault = how.lock.open(how.vault)
            target = _of_codec(reading, table, unseal_codec(vault, how.codec), how.seed)
        else:
            target = _of_files(reading, table, str(encoded), how.seed, tuple(how.period or ()))
        found = _attacked(target, how, stages)
    return say_findings(found, out, picture, "encoded", saying)


def _halves(
    n_rows: int, seed: int, *, in_order: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which rows are attacked, and which an attacker knows similar people by."""
    import numpy as np  # noqa: PLC0415 # half a second

    if n_rows < FEWEST:
        raise DataError(
            f"The table has {n_rows} rows, too few to attack half of them.",
            hint=f"Give a table of {FEWEST} rows or more.",
        )
    if in_order:
        every = np.arange(n_rows)
        return every, every[:0]
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :])


def _of_codec(reading: Reading, table: str, codec: rooms.encode.Codec, seed: int) -> EncodingTarget:
    rows = reading.open(table, plan=codec.plan_).read()
    mine, others = _halves(rows.height, seed, in_order=False)
    return rooms.assess.attacks.EncodingTarget.of_codec(codec, rows[mine], population=rows[others])


def _of_files(
    reading: Reading, table: str, encoded: str, seed: int, periods: tuple[int, ...]
) -> EncodingTarget:
    rows = reading.open(table).read()
    sent = Reading(called="The encoded table").open(encoded).read()
    if rows.height != sent.height:
        raise DataError(
            f"TABLE has {rows.height} rows and ENCODED has {sent.height}.",
            hint="Give the encoding of all of TABLE, its rows in TABLE's order.",
        )
    mine, others = _halves(rows.height, seed, in_order=bool(periods))
    return rooms.assess.attacks.EncodingTarget(
        encoded=sent[mine],
        original=rows[mine],
        population=None if periods else rows[others],
        periods=periods,
    )


def _attacked(target: EncodingTarget, how: AttackOptions, stages: Stages) -> AttackReport:
    chosen, skipped = [], []
    by_known_rows = rooms.assess.attacks.encodings.KnownPlaintext
    for name, make in rooms.assess.attacks.ATTACKS.items():
        if name.startswith("encodings/"):
            each = by_known_rows(known=how.known) if make is by_known_rows else make()
            why = each.missing_inputs(target)
            if why:
                skipped.append((name, why))
            else:
                chosen.append(each)
    report = rooms.assess.attacks.attack(
        target,
        unprotected=target.unprotected(),
        attacks=chosen,
        measures=how.measure or None,
        random_state=how.seed,
        progress=stages,
    )
    return replace(report, skipped=tuple(skipped))

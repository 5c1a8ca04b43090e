"""Hashers on the command line: their settings, and where a vault keeps them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

from halfmask._errors import ParameterError, VaultError
from halfmask.cli._codecs import CATEGORICAL
from halfmask.cli._comma_lists import items_of
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import flag, option, required
from halfmask.cli._vault_lock import LockOptions, Stored

if TYPE_CHECKING:
    from halfmask.hashing import FileHasher, HasherSettings
    from halfmask.vault import Secret, Vault

HASHERS = Stored(before="hasher", called="hasher", made_by="halfmask hash --fit makes hashers")


@dataclass(frozen=True, slots=True, kw_only=True)
class HashOptions:
    """The settings of a hasher; what isn't given is `halfmask.KeyedHasher`'s default."""

    bits: int | None = option(
        "--bits: Indices are below 2 to the power of this number.  [default: 22]", min=1, max=31
    )
    signed: bool = flag("--signed: Also write a keyed sign with each index.")
    numbers: Literal["quantiles", "log", "raw"] | None = option(
        "--numbers: Put numbers into bins of about equal row counts (quantiles) or of equal "
        "ratio (log), or write them unbinned, as 32-bit floats (raw).  [default: quantiles]"
    )
    bins: int | None = option("--bins: Number of quantile bins.  [default: 32]", min=2)
    bins_per_octave: int | None = option(
        "--bins-per-octave N: Number of log bins per power of two: 1, 2, 4, 8 or 16.  [default: 4]"
    )
    categorical: list[str] | None = CATEGORICAL
    interaction: list[str] | None = option(
        "--interaction COLUMN,COLUMN: Columns that are also hashed as a combination; may be "
        "given more than once."
    )
    text: list[str] | None = option(
        "--text COLUMN: A column whose words are hashed; may be given more than once."
    )
    words: str | None = option(
        "--words FROM,TO: The lengths of word n-grams; 0 for none.  [default: 1,1]"
    )
    characters: str | None = option("--characters FROM,TO: The lengths of character n-grams.")
    set_: list[str] | None = option(
        "--set COLUMN: A column of lists whose members are hashed; may be given more than once."
    )

    def given(self) -> dict[str, object]:
        """Return what was given, as `halfmask.hashing.HasherSettings` takes it."""
        found = asdict(self)
        words, together, sets = (found.pop(name) for name in ("words", "interaction", "set_"))
        found |= {
            "signed": self.signed or None,
            "sets": sets,
            "interactions": together
            and [items_of(it, "A name of --interaction") for it in together],
            "characters": _lengths(self.characters, "--characters"),
        }
        given = {name: value for name, value in found.items() if value is not None}
        return given if words is None else given | {"ngrams": _lengths(words, "--words")}

    def settings(self) -> HasherSettings:
        """Return the settings of a hasher that is to be fitted."""
        from halfmask.hashing import HasherSettings  # noqa: PLC0415 # --help needs none

        try:
            return HasherSettings(**self.given())  # type: ignore[arg-type] # it says what doesn't fit
        except ParameterError as error:
            raise UsageError(error.what, hint=error.hint) from None


def _lengths(given: str | None, option: str) -> tuple[int, int] | None:
    """Return the shortest and the longest run, given as ``2,3``, ``2``, or ``0`` for none."""
    if given is None or given.strip() == "0":
        return None
    try:
        found = [int(each) for each in given.split(",")]
    except ValueError:
        found = []
    if len(found) not in {1, 2}:
        raise UsageError(f"{option} takes one or two whole numbers.", hint=f"Give {option} 1,2.")
    return found[0], found[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredHasher:
    """Where a hasher is: the vault, its lock, and a name."""

    vault: str = required("--vault VAULT: The vault that holds the hasher.")
    hasher: str = required("--hasher NAME: The hasher's name in the vault.")
    lock: LockOptions


def check_hasher_free(vault: Vault, name: str) -> None:
    """Refuse a name that is taken, before a long reading: what it hashed needs that hasher."""
    if HASHERS.is_in(vault, name):
        raise VaultError(
            "The vault holds a hasher of that name already.",
            hint="Leave --fit away to hash by it, or choose another name for a new one.",
        )


def hasher_secret(vault: Vault, name: str) -> Secret:
    """Return the secret of a hasher that is to be fitted: made when it is first asked for."""
    return vault.secret(f"{HASHERS.entry(name)}/key")


def unseal_hasher(vault: Vault, name: str) -> FileHasher:
    """Return the hasher of a name."""
    from halfmask.hashing import FileHasher  # noqa: PLC0415 # polars takes half a second

    data = HASHERS.unseal(vault, name)
    return FileHasher.from_bytes(
        data, secret=vault.secret(f"{HASHERS.entry(name)}/key", create=False)
    )

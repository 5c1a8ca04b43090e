"""What a vault keeps sealed: codecs and hashers, their settings, and what codecs claim."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

from halfmask._errors import ParameterError, VaultError
from halfmask.cli import _rooms as rooms
from halfmask.cli._console import console, printable
from halfmask.cli._failures import UsageError
from halfmask.cli._option_groups import flag, items_of, option, required
from halfmask.cli._vault import LockOptions  # noqa: TC001 # typer reads it

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from halfmask.cli._options import SayingOptions
    from halfmask.encode import Codec, EncodedFormat, EncodingReceipt, SeriesCodec
    from halfmask.vault import Secret, Vault


#: `halfmask.encode.Learner` and `Task`, here again: importing that room costs half a second.
LearnerName: TypeAlias = Literal["trees", "distances", "linear", "networks"]
TaskName: TypeAlias = Literal["classification", "regression"]

TASK = option(
    "--task: Whether a target of integers holds classes or numbers; required for integers. "
    "By default, text is classes and decimals are numbers."
)
CATEGORICAL = option(
    "--categorical COLUMN: A column whose numbers are codes of categories; may be given more "
    "than once."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CodecOptions:
    """The settings of a codec, under their own names."""

    heading: ClassVar = "Codec"

    learner: LearnerName = required(
        "--learner: The kind of model: trees (and boosting), distances (and kernels, ridge), "
        "linear models or networks."
    )
    missing: Literal["visible", "hidden"] = option(
        "--missing-cells: Whether missing cells stay missing or are encoded, too.", "visible"
    )
    unseen: Literal["error", "reserve"] = option(
        "--unseen: What to do with a category that the fit didn't see.", "error"
    )
    out_of_range: Literal["extrapolate", "error"] = option(
        "--out-of-range: What to do with a number outside the range of the fit.", "extrapolate"
    )
    precision: Literal["cell", "column"] = option(
        "--precision: Precision of decoded floats: 1e-12 of each cell, or of the column's "
        "largest magnitude.",
        "cell",
    )
    rows: Literal["keyed", "kept"] = option(
        "--rows: Whether rows are written in a keyed order or in their original order.", "keyed"
    )
    strength: float = option(
        "--strength: With --learner networks: the strength of the keyed non-linear map of "
        "numeric columns. 0 means no map.",
        0.0,
        min=0,
        max=4,
    )
    by: str | None = option(
        "--by COLUMN: A categorical column; each of its values gets a matrix of its own."
    )
    split: bool = flag("--split: Give frequent categories several codes.")
    min_sibling_rows: int = option(
        "--min-sibling-rows ROWS: With --split: the minimum number of rows of each code.", 30, min=1
    )

    def codec(self) -> Codec:
        """Return a codec of these settings, to be fitted."""
        return rooms.encode.Codec(**asdict(self))


#: `halfmask.encode.EncodedFormat`, here again: importing that room costs half a second.
OutFormat: TypeAlias = Literal["parquet", "csv", "arrow"]
ENDS: dict[str, EncodedFormat] = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow"}

OUT_FORMAT = option("--out-format: OUT's format, if its name doesn't state it.")


def encoded_format(out: str, wanted: EncodedFormat | None) -> EncodedFormat:
    """Return the format to write: the wanted one, or that of the end of OUT's name."""
    if names_folder(out):
        if wanted not in {None, "parquet"}:
            raise UsageError(
                "A folder holds files of Parquet.", hint="Leave --out-format away, or give a file."
            )
        return "parquet"
    found = wanted or ("parquet" if out == "-" else ENDS.get(Path(out).suffix.lower()))
    if found is None:
        raise UsageError(
            "OUT's name doesn't say its format.",
            hint="Let it end in .parquet, .csv or .arrow, or in / for a folder, or give "
            "--out-format.",
        )
    return found


def names_folder(out: str) -> bool:
    """Return whether OUT is a folder to make: its name ends in a slash."""
    return out.endswith("/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A kind of thing that a vault keeps sealed, by name: how entries begin, and what makes one."""

    before: str
    called: str
    made_by: str

    def entry(self, name: str) -> str:
        """Return the entry of a name, which is also what it is bound to."""
        return f"{self.before}/{name}"

    def is_in(self, vault: Vault, name: str) -> bool:
        """Return whether the vault holds one of that name."""
        return self.entry(name) in vault.names()

    def seal(
        self, vault: Vault, name: str, made: Codec | SeriesCodec | rooms.hashing.FileHasher
    ) -> None:
        """Seal one under a name that is free."""
        vault.seal(self.entry(name), made.to_bytes(), context=self.entry(name))

    def unseal(self, vault: Vault, name: str) -> bytes:
        """Return the bytes of the one of a name."""
        if not self.is_in(vault, name):
            raise VaultError(
                f"The vault holds no {self.called} of that name.",
                hint=f"halfmask vault list shows what it holds; {self.made_by}.",
            )
        return vault.unseal(self.entry(name), context=self.entry(name))


CODECS = Stored(before="codec", called="codec", made_by="halfmask encode fit makes codecs")
SERIES_CODECS = Stored(
    before="series", called="codec", made_by="halfmask encode series fit makes one"
)
_RECEIPT = "receipt/"
_ID = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCodec:
    """Where a codec is: the vault, its lock, and a name."""

    vault: str = required("--vault VAULT: The vault that holds the codec.")
    codec: str = required("--codec NAME: The codec's name in the vault.")
    lock: LockOptions

    def open(self) -> Vault:
        """Open the vault."""
        return self.lock.open(self.vault)


def say_claims(
    codec: Codec | SeriesCodec,
    vault: Vault,
    place: StoredCodec,
    facts: Mapping[str, object],
    head: str,
    title: str,
    saying: SayingOptions,
) -> int:
    """Say what a fitted codec claims, and its weaknesses."""
    claims = [
        {"learner": it.learner, "scope": it.scope, "condition": it.condition} for it in codec.claims
    ]
    weaknesses = [
        {"name": it.name, "columns": list(it.columns), "known_plaintext": it.known_plaintext}
        for it in codec.weaknesses
    ]
    where = {"vault": vault.id, "codec": place.codec}
    return saying.say(
        {**where, **facts, "claims": claims, "weaknesses": weaknesses},
        lambda: _show_claims(codec, head, title, verbose=saying.verbose),
    )


def _show_claims(codec: Codec | SeriesCodec, head: str, title: str, *, verbose: bool) -> None:
    err = console(stderr=True)
    err.print(head, style="bold")
    err.print(f"\n{title}", style="bold")
    for claim in codec.claims:
        more = f" ({claim.condition})" if verbose else ""
        err.print(f"- {claim.learner}: {claim.scope}{more}", soft_wrap=True)
    err.print("\nWeaknesses", style="bold")
    alike: dict[tuple[str, str], list[str]] = {}
    for weakness in codec.weaknesses:
        key = weakness.name, weakness.known_plaintext
        alike.setdefault(key, []).extend(weakness.columns)
    for (name, undone_by), columns in alike.items():
        names = printable(", ".join(columns)) if verbose else len(columns)
        err.print(f"- {name} ({names}): {undone_by}", soft_wrap=True)
    err.print("\nThe codec is in the vault. Without it nothing can be decoded again.")


def check_markers(marks: Sequence[str]) -> None:
    """Refuse the words of 0.1's --missing: as markers they would have no effect at all."""
    word = next((mark for mark in marks if mark in {"visible", "hidden"}), None)
    if word is not None:
        raise UsageError(
            f"--missing {word} would take the text {word} for a marker of missing cells.",
            hint=f"Write --missing-cells {word}. --missing is for markers, such as ?.",
        )


def check_free(vault: Vault, name: str) -> None:
    """Refuse a name that is taken, before a long reading: what it encoded needs that codec."""
    if CODECS.is_in(vault, name) or SERIES_CODECS.is_in(vault, name):
        raise VaultError(
            "The vault holds a codec of that name already.",
            hint="Choose another name; what the other one encoded can't be decoded without it.",
        )


def unseal_series_codec(vault: Vault, name: str) -> SeriesCodec:
    """Return the codec of series of a name."""
    if CODECS.is_in(vault, name):
        raise VaultError(
            "The codec of that name isn't one of time series.",
            hint="halfmask encode apply encodes by it.",
        )
    return rooms.encode.SeriesCodec.from_bytes(SERIES_CODECS.unseal(vault, name))


def seal_receipt(vault: Vault, name: str, codec: Codec, receipt: EncodingReceipt) -> None:
    """Seal what finds the order of an encoded file's rows again, for that codec."""
    context = _context(name, codec)
    ours = hashlib.sha256(f"{context}/{receipt.name}".encode()).hexdigest()[:_ID]
    vault.seal(f"{_RECEIPT}{ours}", receipt.to_bytes(), context=context, overwrite=True)


def unseal_codec(vault: Vault, name: str) -> Codec:
    """Return the codec of a name, with the receipts of what it encoded."""
    if SERIES_CODECS.is_in(vault, name):
        raise VaultError(
            "The codec of that name is one of time series.",
            hint="halfmask encode series apply and halfmask decode take it.",
        )
    codec = rooms.encode.Codec.from_bytes(CODECS.unseal(vault, name))
    context = _context(name, codec)
    for entry in vault.entries():
        if entry.name.startswith(_RECEIPT) and entry.context == context:
            codec.remember(
                rooms.encode.EncodingReceipt.from_bytes(vault.unseal(entry.name, context=context))
            )
    return codec


def check_streams(table: str, out: str, lock: LockOptions, *, as_json: bool) -> None:
    """Refuse two readers of standard input and two writers of standard output."""
    if table == lock.passphrase_file == "-":
        raise UsageError(
            "The table and the passphrase both want standard input.", hint="Give one as a file."
        )
    if out == "-" and as_json:
        raise UsageError("--json and OUT - both want standard output.", hint="Choose one.")


def _context(name: str, codec: Codec) -> str:
    """Return what receipts of a codec are bound to: another one of its name isn't their codec."""
    which = hashlib.sha256("/".join(codec.plan_.tokens).encode()).hexdigest()[:_ID]
    return f"{CODECS.entry(name)}/{which}"


HASHERS = Stored(before="hasher", called="hasher", made_by="halfmask hash --fit makes hashers")


@dataclass(frozen=True, slots=True, kw_only=True)
class HashOptions:
    """The settings of a hasher; what isn't given is `halfmask.KeyedHasher`'s default."""

    heading: ClassVar = "Hashing"

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

    def settings(self) -> rooms.hashing.HasherSettings:
        """Return the settings of a hasher that is to be fitted."""
        try:
            return rooms.hashing.HasherSettings(**self.given())  # type: ignore[arg-type] # it says what doesn't fit
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


def unseal_hasher(vault: Vault, name: str) -> rooms.hashing.FileHasher:
    """Return the hasher of a name."""
    data = HASHERS.unseal(vault, name)
    return rooms.hashing.FileHasher.from_bytes(
        data, secret=vault.secret(f"{HASHERS.entry(name)}/key", create=False)
    )

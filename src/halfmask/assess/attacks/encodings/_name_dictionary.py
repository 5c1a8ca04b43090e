"""Name dictionary: every name that a column may have is hashed, and looked for."""

from __future__ import annotations

from dataclasses import dataclass, field

from halfmask.assess.attacks._arms import Certain
from halfmask.assess.attacks._attack import DeclaredAttack, Found
from halfmask.assess.attacks._encoding_target import EncodingTarget
from halfmask.assess.attacks._hashes import salts_given, unkeyed

# Names of columns of other tables: an attacker who claims one of them is wrong.
_DECOYS = (
    "customer_id account balance price volume open close high low date time timestamp "
    "region city zip_code postcode phone email ssn diagnosis icd10 treatment dose weight "
    "height bmi glucose pressure heart_rate temperature humidity wind_speed rainfall "
    "latitude longitude altitude speed battery voltage current power energy revenue cost "
    "profit margin discount tax rate score grade rank status type category label target "
    "outcome risk default loan term interest"
)
_SHORTEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class NameDictionary(DeclaredAttack, name="encodings/name-dictionary", target=EncodingTarget):
    """Find the names of columns by hashing a dictionary, without the key.

    Parameters
    ----------
    salts
        Salts that leaked, or that are public; tried before and behind a name.
    seeds
        How many seeds of MurmurHash3 are tried, from 0.

    Notes
    -----
    What undid the hashed medallions of New York's taxis in 2014. An encoded name counts as found if
    it holds a whole hash, or is the beginning of one, six letters or more, behind a short prefix:
    cut digests and prefixes hide nothing. Control: how many names of other tables are claimed to be
    columns. The attack is exact: its arms are counts.
    """

    salts: tuple[bytes, ...] = field(
        default=(b"salt", b"pepper", b"0", b"1"), metadata={"take": salts_given}
    )
    seeds: int = field(default=16, metadata={"ge": 0})

    def missing_inputs(self, target: EncodingTarget) -> str:
        """Return what is missing: columns."""
        return "" if target.encoded.width and target.original.width else "columns"

    def _measure(self, target: EncodingTarget, random_state: int) -> Found:  # noqa: ARG002 # exact
        true = set(target.original.columns)
        tried = dict.fromkeys((*(target.dictionary or target.original.columns), *_DECOYS.split()))
        wanted = _Wanted([name.lower() for name in target.encoded.columns])
        claimed = {name for name in tried if self._found(name, wanted)}
        others = [name for name in tried if name not in true]
        wrong = len(claimed.difference(true)) / max(1, len(others))
        return self._make_outcome(
            "names of columns",
            Certain(len(claimed & true) / len(true), len(true)),
            Certain(wrong, len(others)),
            needed=(0, "names"),
            details={"tried": float(len(tried)), "claimed": float(len(claimed))},
        )

    def _found(self, name: str, wanted: _Wanted) -> bool:
        return any(
            wanted.holds(hashed) for hashed in unkeyed(name, salts=self.salts, seeds=self.seeds)
        )


class _Wanted:
    """The encoded names, ready to be looked through for many hashes."""

    def __init__(self, names: list[str]) -> None:
        self._names = set(names)
        self._all = "\n".join(names)
        starts = {start for name in names for start in (name, name[1:], name.rpartition("_")[2])}
        self._starts: dict[str, list[str]] = {}
        for start in starts:
            if len(start) >= _SHORTEST:
                self._starts.setdefault(start[:_SHORTEST], []).append(start)

    def holds(self, hashed: str) -> bool:
        """Return whether a name is a hash, holds one, or is its beginning behind a short prefix."""
        if hashed in self._names:
            return True
        if len(hashed) < _SHORTEST or not any(letter.isdigit() for letter in hashed):
            return False
        if hashed in self._all:
            return True
        return any(hashed.startswith(start) for start in self._starts.get(hashed[:_SHORTEST], ()))

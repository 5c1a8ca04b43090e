"""JSON read strictly: a value, where it stands, and what it must be.

The file comes from outside. No message says more of it than a place, a type or a count.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NoReturn, TypeVar, cast

from halfmask._errors import VerificationError

if TYPE_CHECKING:
    from halfmask.claims.claim import Json

SHA256: Final = re.compile(r"[0-9a-f]{64}")
_WORD: Final = re.compile(r"[a-z_]{1,40}")

T = TypeVar("T")


def strict_json(raw: bytes) -> At:
    """Return the JSON that these bytes are; a key twice and numbers that JSON lacks are refused."""
    try:
        found = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_object, parse_constant=_no_constant
        )
    except VerificationError:
        raise
    except (ValueError, RecursionError):
        # Python's own messages quote the text around the fault.
        raise VerificationError(
            "manifest.json isn't strict JSON in UTF-8.", hint="Write the release again."
        ) from None
    return At(cast("Json", found), "manifest.json")


def _object(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) != len(pairs):
        # Two readers could each believe another one of the two.
        raise VerificationError("manifest.json has an object with a key twice.")
    return found


def _no_constant(_: str) -> NoReturn:
    raise VerificationError("manifest.json has a number that is infinite or not a number.")


@dataclass(frozen=True, slots=True)
class At:
    """A value of the manifest and where it stands."""

    value: Json
    place: str

    def refuse(self, wanted: str) -> NoReturn:
        names = {dict: "an object", list: "a list", str: "text", type(None): "null"}
        got = names.get(type(self.value), f"a {type(self.value).__name__}")
        raise VerificationError(
            f"{self.place} must be {wanted}. Got {got}.", hint="Write the release again."
        )

    def keys(self, *required: str, optional: tuple[str, ...] = ()) -> dict[str, At]:
        if not isinstance(self.value, dict):
            self.refuse("an object")
        for key in required:
            if key not in self.value:
                raise VerificationError(f"{self.place} lacks the key {key!r}.")
        unknown = len(self.value.keys() - {*required, *optional})
        if unknown:
            raise VerificationError(
                f"{self.place} has {unknown} keys that this version doesn't know.",
                hint="Verify it with the version of halfmask that wrote it.",
            )
        return {key: At(each, f"{self.place}: {key}") for key, each in self.value.items()}

    def entries(self) -> Iterator[At]:
        if not isinstance(self.value, list):
            self.refuse("a list")
        for number, each in enumerate(self.value, start=1):
            yield At(each, f"{self.place} number {number}")

    def each(self, read: Callable[[At], T]) -> tuple[T, ...]:
        return tuple(read(one) for one in self.entries())

    def text(self) -> str:
        if not isinstance(self.value, str) or not self.value:
            self.refuse("text that isn't empty")
        return self.value

    def texts(self) -> tuple[str, ...]:
        return self.each(At.text)

    def or_none(self, read: Callable[[At], T]) -> T | None:
        return None if self.value is None else read(self)

    def word(self, allowed: tuple[str, ...]) -> str:
        text = self.text()
        if text not in allowed:
            self.refuse(f"one of {', '.join(allowed)}")
        return text

    def like(self, pattern: re.Pattern[str], wanted: str) -> str:
        text = self.text()
        if not pattern.fullmatch(text):
            self.refuse(wanted)
        return text

    def count(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < 0:
            self.refuse("a whole number of at least 0")
        return self.value

    def values(self, read: Callable[[At], T]) -> dict[str, T]:
        return {key: read(At(each, self._at(key))) for key, each in self.mapping().items()}

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def number(self) -> float:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            self.refuse("a number")
        try:
            finite = math.isfinite(self.value)
        except OverflowError:  # a whole number beyond every float
            finite = False
        if not finite:
            self.refuse("a finite number")
        return self.value

    def mapping(self) -> dict[str, Json]:
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return self.value

    def sha256(self) -> str:
        return self.like(SHA256, "64 lower-case hexadecimal digits")

    def _at(self, key: str) -> str:
        """Return where a value stands; a key that is no word could hold anything."""
        return f"{self.place}: {key}" if _WORD.fullmatch(key) else self.place

    def parameter(self) -> float | int | str:
        return self.text() if isinstance(self.value, str) else self.number()

    def parameters(self) -> dict[str, float | int | str]:
        return self.values(At.parameter)

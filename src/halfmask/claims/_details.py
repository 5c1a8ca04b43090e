"""What only one kind of release has in its manifest: frozen dataclasses, read by their types.

The file comes from outside: JSON is read strictly, a value, where it stands, and what it must be.
No message says more of it than a place, a type or a count.

A field says by its type what JSON it is read from, and by `key` what else the manifest calls it.
One mechanism reads and writes the details of every kind, and its claims.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    NoReturn,
    Self,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from halfmask._errors import VerificationError
from halfmask.claims.claim import Claim
from halfmask.claims.manifest import MANIFEST_NAME, check_name

if TYPE_CHECKING:
    from halfmask.claims.claim import Json
    from halfmask.claims.manifest import Manifest


SHA256: Final = re.compile(r"[0-9a-f]{64}")
_WORD: Final = re.compile(r"[a-z_]{1,40}")


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


#: The parts of a claim; a field of a claim's own class is in one of them.
PARTS: Final = ("parameters", "about", "evidence")
_PLAIN: Final[Mapping[object, Callable[[At], object]]] = {
    object: lambda at: at.value,
    str: At.text,
    int: At.count,
    float: At.number,
    bool: At.boolean,
}


T = TypeVar("T")


def key(name: str = "", *, part: str = "about", optional: bool = False) -> dict[str, Any]:
    """Return the metadata of a field: its key in the manifest, and the part of a claim it is in.

    What is optional is left out where it has its default value.
    """
    return {"key": name, "part": part, "optional": optional}


def one_of(words: tuple[str, ...]) -> Callable[[At], str]:
    """Return what reads one of some words."""
    return lambda at: at.word(words)


def released_name(at: At, folder: str | None) -> str:
    """Return the name of a plain file under a folder of the release; None: next to its manifest."""
    name = at.text()
    if not check_name(name, folder):
        where = "" if folder is None else f" under {folder}/"
        raise VerificationError(
            f"{at.place} must be the plain name of a file{where}.",
            hint="A release names only files of its own folder.",
        )
    return name


class Details:
    """The base of what only one kind of release has in its manifest."""

    __slots__ = ()
    #: The kind of release, and the same in words.
    kind: ClassVar[str]
    called: ClassVar[str]

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """Return what a manifest states in its details.

        Parameters
        ----------
        manifest
            As `read_manifest` returns it.

        Raises
        ------
        VerificationError
            If the manifest is of another kind, or its details aren't those of its kind.
        """
        if manifest.kind != cls.kind:
            raise VerificationError(f"The release isn't one of {cls.called}.")
        return read(cls, At(dict(manifest.details), f"{MANIFEST_NAME}: details"))

    def to_details(self) -> dict[str, Json]:
        """Return it as the details of a manifest have it."""
        own = next(each for each in type(self).__mro__ if Details in each.__bases__)
        return written(self, own)


def read(kind: type[T], at: At) -> T:
    """Return the dataclass that a JSON object is; other keys than its fields are refused."""
    return _made(kind, _keys(at, _fields(kind)))


def written(value: object, kind: type | None = None) -> dict[str, Json]:
    """Return a dataclass as JSON has it; ``kind``: the fields of this base class alone."""
    return _written(value, _fields(kind or type(value)), _hints(kind or type(value)))


def read_claim(kind: type[T], claim: Claim, number: int) -> T:
    """Return a claim as its own class has it; each field is in one part of the claim."""
    place = f"{MANIFEST_NAME}: claims number {number}"
    fields = {each.name: each for each in _fields(kind)}
    if "basis" not in fields:
        At(claim.basis, f"{place}: basis").word(("counted",))
    found: dict[str, At] = {}
    for name in ("model", "basis", *PARTS):
        value = getattr(claim, name)
        at = At(dict(value) if name in PARTS else value, f"{place}: {name}")
        if name in fields:
            found[name] = at
        elif name in PARTS:
            found |= _keys(at, _of_part(fields, name))
    return _made(kind, found)


def stated_claim(value: object, *, model: str) -> Claim:
    """Return a claim of its own class as any release states one."""
    hints = _hints(type(value))
    fields = {each.name: each for each in _fields(value)}
    parts: dict[str, Any] = {
        part: _json(hints[part], getattr(value, part))
        if part in fields
        else _written(value, _of_part(fields, part), hints)
        for part in PARTS
    }
    return Claim(model=model, basis=getattr(value, "basis", "counted"), **parts)


def _of_part(fields: Mapping[str, Field[Any]], part: str) -> tuple[Field[Any], ...]:
    whole = {"model", "basis", *PARTS}
    others = (each for name, each in fields.items() if name not in whole)
    return tuple(each for each in others if each.metadata.get("part", "about") == part)


def _keys(at: At, fields: tuple[Field[Any], ...]) -> dict[str, At]:
    optional = tuple(_key(each) for each in fields if each.metadata.get("optional"))
    return at.keys(*({_key(each): 0 for each in fields}.keys() - {*optional}), optional=optional)


def _made(kind: type[T], found: Mapping[str, At]) -> T:
    hints = _hints(kind)
    return kind(
        **{
            each.name: _value(hints[each.name], found[_key(each)])
            for each in _fields(kind)
            if _key(each) in found
        }
    )


def _written(
    value: object, fields: tuple[Field[Any], ...], hints: Mapping[str, Any]
) -> dict[str, Json]:
    given = {each: getattr(value, each.name) for each in fields}
    return {
        _key(each): _json(hints[each.name], it)
        for each, it in given.items()
        if not each.metadata.get("optional") or it != _default(each)
    }


def _fields(kind: Any) -> tuple[Field[Any], ...]:  # noqa: ANN401 # a dataclass, or one of it
    return dataclasses.fields(kind)


def _key(field: Field[Any]) -> str:
    return field.metadata.get("key") or field.name


def _default(field: Field[Any]) -> object:
    return field.default if field.default is not MISSING else ()


def _hints(kind: Any) -> dict[str, Any]:  # noqa: ANN401 # a class
    return _resolved(kind)


@cache
def _resolved(kind: type) -> dict[str, Any]:
    # Json names itself, and values of any JSON aren't looked into.
    return get_type_hints(kind, localns={"Json": object}, include_extras=True)


def _value(kind: Any, at: At) -> Any:  # noqa: ANN401 # of the type that is asked for
    """Return a value of a type, or refuse what isn't one."""
    origin, args = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _annotated(args, at)
    if origin in (Union, types.UnionType):
        return at.or_none(lambda it: _value(args[0], it))
    if origin is Literal:
        return at.word(args)
    if origin is tuple:
        return at.each(lambda it: _value(args[0], it))
    if origin is Mapping:
        return at.mapping() if args[1] in (object, Any) else at.values(_PLAIN[args[1]])
    by = _PLAIN.get(kind)
    return read(kind, at) if by is None else by(at)


def _annotated(args: tuple[Any, ...], at: At) -> Any:  # noqa: ANN401 # the same
    """Return what a reader of a type's own makes of a value; names are the keys of a tuple."""
    kind, by = args
    if callable(by):
        return by(at)
    found = at.keys(*by)
    return tuple(_value(it, found[name]) for name, it in zip(by, get_args(kind), strict=True))


def _json(kind: Any, value: Any) -> Any:  # noqa: ANN401 # of any type
    """Return a value as JSON reads it back."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType) and value is not None:
        return _json(args[0], value)
    if origin is Annotated and not callable(args[1]):
        return dict(zip(args[1], value, strict=True))
    if origin is tuple:
        return [_json(args[0], each) for each in value]
    if dataclasses.is_dataclass(kind):
        return _written(value, _fields(kind), _hints(kind))
    if isinstance(value, Mapping):
        return {str(name): _json(None, each) for name, each in value.items()}
    return [_json(None, each) for each in value] if isinstance(value, list | tuple) else value

"""Sections of policy files: tables of named keys, written by hand or made from a dataclass.

A field of a dataclass is a key of its section. Bounds and the description of a key are the field's
``metadata``: so they hold in Python and in files alike.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache, partial
from types import MappingProxyType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Strict,
    StrictStr,
    Tag,
    create_model,
    field_validator,
    model_validator,
)

from halfmask._errors import PolicyError

if TYPE_CHECKING:
    from dataclasses import Field as DataclassField

    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

# Values of a file aren't converted: "10" and true are no numbers.
Number: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Whole: TypeAlias = Annotated[int, Field(strict=True)]
Names: TypeAlias = tuple[StrictStr, ...]
Character: TypeAlias = Annotated[str, Field(strict=True, min_length=1, max_length=1)]

#: Keys of policy files of 0.1, and their names today.
_OLD_KEYS = {"least_gain": "min_gain", "towards": "split_targets"}

#: Keys of earlier policies that users of another tool read the other way round: never renamed
#: silently. The key of today, and a hint.
REPLACED_KEYS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "importance": (
            "cost",
            "It is 'cost' now: a high cost keeps a column, as 1 of sdcMicro's importance does.",
        )
    }
)


class Section(BaseModel):
    """A table of a policy file: no key that isn't named, no value that its type doesn't have."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    has_categories: ClassVar[bool] = False
    """Whether keys and words in it may be categories, which no error may show."""


class ApprovalSection(Section):
    """``[approval]``: who signs a release, for whom and why; its manifest and report state it."""

    approver: StrictStr | None = Field(default=None, description="Who approved the release.")
    date: dt.date | None = Field(default=None, description="When it was approved.")
    receiver: StrictStr | None = Field(
        default=None, description="Who gets the release; by default the receiver of [book]."
    )
    purpose: StrictStr | None = Field(default=None, description="What the receiver may do with it.")
    thresholds: StrictStr | None = Field(
        default=None, description="Why the parameters of the guarantees or rules were chosen."
    )

    @field_validator("date", mode="before")
    @classmethod
    def _is_date(cls, value: object) -> object:
        """Refuse numbers, which pydantic takes for seconds since 1970."""
        if isinstance(value, int | float):
            raise PolicyError("must be a date such as 2026-11-29. Got a number.")
        return value

    def stated(self) -> dict[str, str]:
        """Return what isn't empty, as texts."""
        found = self.model_dump(mode="json", exclude_none=True)
        return {name: text.strip() for name, text in found.items() if text.strip()}


class Choice(Section):
    """A section that names a kind of thing and gives its parameters."""

    # Kinds of others may have parameters of any type and name.
    model_config = ConfigDict(arbitrary_types_allowed=True, protected_namespaces=())

    made_type: ClassVar[type[Any]]
    key: ClassVar[str]
    if TYPE_CHECKING:
        name: str  # of methods and recodings; a key like the others

    @model_validator(mode="before")
    @classmethod
    def _current_keys(cls, keys: Any) -> Any:  # noqa: ANN401 # whatever the file has
        """Rename keys of 0.1; where the new one is given as well, the old one is refused."""
        if not isinstance(keys, Mapping):
            return keys
        current = {
            old: new
            for old, new in _OLD_KEYS.items()
            if new in cls.model_fields and new not in keys
        }
        return {current.get(key, key): value for key, value in keys.items()}

    @property
    def named(self) -> str:
        """The name of the kind, as the file has it."""
        return str(getattr(self, self.key))

    @property
    def about(self) -> str | None:
        """The sensitive column, if there is one."""
        return getattr(self, "column", None)

    @property
    def parameters(self) -> dict[str, Any]:
        """The keys other than the name and the column."""
        return self.model_dump(by_alias=True, exclude={self.key, "column"})

    def made(self, **more: object) -> Any:  # noqa: ANN401 # of any kind
        """Return the value that the section describes."""
        keys = type(self).model_fields
        known = {it.name: _attribute_of(it.name) for it in fields(self.made_type) if it.init}
        given = {name: getattr(self, own) for name, own in known.items() if own in keys}
        chosen = {name: it.made() for name, it in given.items() if isinstance(it, Choice)}
        return self.made_type(**{**given, **chosen}, **more)


def in_old_keys(section: Mapping[str, object]) -> dict[str, object]:
    """Return a section under the keys of 0.1, which hashes of policies are made of."""
    old = {new: old for old, new in _OLD_KEYS.items()}
    return {old.get(key, key): value for key, value in section.items()}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)  # the kinds have no hash
class OneOf:
    """Marks a key of a policy whose section is of one of several kinds, named by a key of it."""

    #: Dataclasses, or sections where they are written by hand, by name.
    kinds: Mapping[str, type[Any]]
    #: The key that names the kind.
    key: str
    #: Finds the kind where other keys decide about it, too.
    kind_of: Callable[[Any], str | None] | None = None
    #: What a field of a dataclass chooses, by its type.
    nested: Mapping[object, OneOf] = field(default_factory=dict)
    #: Fields of dataclasses that are no keys, and further keys of a kind.
    without: frozenset[str] = frozenset()
    more: Callable[[type[Any]], Mapping[str, Any]] | None = None
    #: What a value beyond a bound means.
    beyond: str = ""
    #: Names of what is written elsewhere, and a sentence about where.
    elsewhere: tuple[Mapping[str, object], str] = (MappingProxyType({}), "")

    def __repr__(self) -> str:
        return f"OneOf({', '.join(self.kinds)})"

    def section(self, name: object) -> type[Section] | None:
        """Return the section of a kind; ``None`` where there is no such kind."""
        return self._section(name) if isinstance(name, str) and name in self.kinds else None

    def sections(self) -> tuple[type[Section], ...]:
        """Return the sections of all kinds that are known now."""
        return tuple(map(self._section, self.kinds))

    def first(self) -> Any:  # noqa: ANN401 # of the first kind
        """Return the section of the first kind, without parameters."""
        return self.sections()[0](**{self.key: next(iter(self.kinds))})

    @property
    def words(self) -> list[str]:
        """What the key that names the kind may be."""
        if self.kind_of is None:
            return list(self.kinds)
        hints = (each.model_fields[self.key].annotation for each in self.sections())
        return list(dict.fromkeys(word for hint in hints for word in get_args(hint)))

    def kinds_having(self, key: str) -> list[str]:
        """Return the kinds whose section has a key."""
        pairs = zip(self.kinds, self.sections(), strict=True)
        return [name for name, section in pairs if _attribute_of(key) in section.model_fields]

    def _section(self, name: str) -> type[Section]:
        kind = self.kinds[name]
        if issubclass(kind, Section):
            return kind
        return _make_section(kind, name, self)  # type: ignore[arg-type] # classes have hashes

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Tell pydantic to look at the key, and then at the section of that kind alone."""
        sections: Any = self.sections()
        if self.kind_of is not None:
            sections = tuple(
                Annotated[each, Tag(name)] for name, each in zip(self.kinds, sections, strict=True)
            )
        union: Any = Union[sections]  # noqa: UP007 # not known before it runs
        by = self.key if self.kind_of is None else self.kind_of
        return handler.generate_schema(Annotated[union, Discriminator(by)])


def _attribute_of(key: str) -> str:
    """Return what a key of a dataclass is called in its section: some names are taken."""
    return f"{key}_" if hasattr(Choice, key) or key in Choice.__annotations__ else key


@cache
def _make_section(kind: type[Any], name: str, choice: OneOf) -> type[Choice]:
    hints = get_type_hints(kind)
    keys: dict[str, Any] = {choice.key: (Literal[name], ...)}
    keys |= choice.more(kind) if choice.more is not None else {}
    given = [it for it in fields(kind) if it.init and it.name not in choice.without]
    for entry in sorted(given, key=_rank):
        keys[_attribute_of(entry.name)] = _make_key(hints[entry.name], entry, choice)
    about = getattr(kind, "sentence", None) or (kind.__doc__ or "").partition("\n")[0]
    made = create_model(f"{kind.__name__}Section", __base__=Choice, __doc__=about, **keys)
    made.made_type, made.key = kind, choice.key
    return made


def _make_key(hint: object, entry: DataclassField[Any], choice: OneOf) -> tuple[Any, Any]:
    """Return the type and the field of a key, as pydantic makes a model of them."""
    about = dict(entry.metadata)
    if _attribute_of(entry.name) != entry.name:
        about["alias"] = entry.name
    if hint in choice.nested:
        nested = choice.nested[hint]
        short: Any = Union[Literal[tuple(nested.kinds)], Annotated[Choice, nested]]  # noqa: UP007
        named = BeforeValidator(partial(_expand_name, nested.key), json_schema_input_type=short)
        made = Field(default_factory=partial(_make_default, entry, nested), **about)
        return Annotated[Choice, nested, named], made
    if entry.default_factory is not MISSING:
        return _make_strict(hint), Field(default_factory=entry.default_factory, **about)
    given = ... if entry.default is MISSING else entry.default
    return _make_strict(hint), Field(given, **about)


def _make_strict(hint: object) -> Any:  # noqa: ANN401 # a type
    """Return a type of which no value is made by conversion, but lists that become tuples."""
    if hint is float:
        return Annotated[Number, BeforeValidator(_refuse_inexact)]
    if hint in (int, str, bool):
        return Annotated[hint, Strict()]
    origin: Any = get_origin(hint)
    if origin is None or origin is Literal:
        return hint
    inner = tuple(it if it is ... else _make_strict(it) for it in get_args(hint))
    return Union[inner] if origin in (Union, UnionType) else origin[inner]  # noqa: UP007


def _refuse_inexact(number: object) -> object:
    """Refuse an integer that no float holds: another one would be used."""
    if isinstance(number, int) and not isinstance(number, bool):
        try:
            lost = int(float(number)) != number
        except OverflowError:
            lost = True
        if lost:
            raise PolicyError(
                "has more digits than a float64 holds.", hint="Choose a whole number below 2**53."
            )
    return number


def _expand_name(key: str, choice: object) -> object:
    """Take the name of a kind alone for a section that gives nothing else."""
    return {key: choice} if isinstance(choice, str) else choice


def _make_default(entry: DataclassField[Any], choice: OneOf) -> Section:
    """Return the section of what a field is made of by default."""
    make: Any = entry.default_factory
    kind = getattr(make(), choice.key)
    section: Any = choice.section(kind)
    made: Section = section(**{choice.key: kind})
    return made


def _rank(entry: DataclassField[Any]) -> int:
    """Order keys as a file is written: parameters, the column, then what has a default."""
    has_default = entry.default is not MISSING or entry.default_factory is not MISSING
    return 2 if has_default else entry.name == "column"


def held_by(section: type[Section], key: int | str) -> tuple[OneOf | type[Section] | None, bool]:
    """Return what a key of a section holds, if sections, and whether it holds many of them."""
    keys = section.model_fields.items()
    for it in (it for name, it in keys if key in (name, it.alias)):
        found = [each for hint in (it.annotation, *it.metadata) for each in _sections_in(hint)]
        chosen = [each for each in found if isinstance(each, OneOf)] or found
        options = [it.annotation, *get_args(it.annotation)]
        is_many = any(get_origin(each) in (tuple, dict) for each in options)
        return (chosen[0], is_many) if chosen else (None, False)
    return None, False


def _sections_in(hint: object) -> Iterator[OneOf | type[Section]]:
    if isinstance(hint, OneOf) or (isinstance(hint, type) and issubclass(hint, Section)):
        yield hint
    for inner in get_args(hint):
        yield from _sections_in(inner)


@cache
def parts_of(model: type[Section]) -> tuple[OneOf | type[Section], ...]:
    """Return all that a section is made of, inner parts first."""
    found: list[OneOf | type[Section]] = []
    for name in model.model_fields:
        held, _ = held_by(model, name)
        if held is not None:
            found += [held] if isinstance(held, OneOf) else [*parts_of(held), held]
    return tuple(found)

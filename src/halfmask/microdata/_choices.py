"""Sections that choose a model, method or recoding: made from its own dataclass.

A field of the dataclass is a key of the section. The bounds and the description of a key are the
field's ``metadata``; a policy's bounds may be tighter than those of Python, where they exclude
values that guarantee nothing.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache, partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union, get_type_hints

from pydantic import BeforeValidator, Field, StrictBool, StrictStr, create_model, model_validator

from halfmask._policy_files import Names, Number, Section, Whole
from halfmask.anonymize import METHODS, RECODINGS
from halfmask.anonymize.lattice import OBJECTIVES, Objective
from halfmask.guarantees import GUARANTEES
from halfmask.microdata._differential_privacy import DifferentialPrivacy

if TYPE_CHECKING:
    from dataclasses import Field as DataclassField

    from pydantic import GetCoreSchemaHandler
    from pydantic_core import CoreSchema

#: Values of a file aren't converted: ``"10"`` and ``true`` are no numbers.
_STRICT: Mapping[object, object] = {
    int: Whole, float: Number, str: StrictStr, bool: StrictBool, tuple[str, ...]: Names,
    int | None: Whole | None, float | None: Number | None,
}  # fmt: skip
#: Keys of policy files of 0.1, and their names today.
_OLD_KEYS = {
    "least_gain": "min_gain", "least_share": "min_fraction", "towards": "split_targets"
}  # fmt: skip


class Choice(Section):
    """A section that names a kind of thing and gives its parameters."""

    kind: ClassVar[type[Any]]
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
        return self.model_dump(exclude={self.key, "column"})

    def made(self, **more: object) -> Any:  # noqa: ANN401 # of any kind
        """Return the value that the section describes."""
        known = {entry.name for entry in fields(self.kind) if entry.init}
        given = {name: getattr(self, name) for name in type(self).model_fields if name in known}
        chosen = {name: it.made() for name, it in given.items() if isinstance(it, Choice)}
        return self.kind(**{**given, **chosen}, **more)


@dataclass(frozen=True, slots=True, eq=False)  # the kinds have no hash
class OneOf:
    """Marks a key of a policy whose section is of one of several kinds, named by a key of it."""

    kinds: Mapping[str, type[Any]]
    key: str

    def section(self, name: str) -> type[Choice] | None:
        """Return the section of a kind; ``None`` where there is no such kind."""
        return self._section(name) if name in self.kinds else None

    def sections(self) -> tuple[type[Choice], ...]:
        """Return the sections of all kinds that are known now."""
        return tuple(map(self._section, self.kinds))

    def _section(self, name: str) -> type[Choice]:
        return _made(self.kinds[name], name, self.key)  # type: ignore[arg-type] # classes have hashes

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Tell pydantic to look at the key, and then at the section of that kind alone."""
        union: Any = Union[self.sections()]  # noqa: UP007 # not known before it runs
        return handler.generate_schema(Annotated[union, Field(discriminator=self.key)])


def _by_name(choice: object) -> object:
    """Take the name of a kind alone for a section that gives nothing else."""
    return {"name": choice} if isinstance(choice, str) else choice


#: Guarantees that no class is judged by.
_OF_ROWS: dict[str, type[Any]] = {DifferentialPrivacy.model: DifferentialPrivacy}

#: What can be chosen, by the key of the policy.
CHOICES: Mapping[str, OneOf] = {
    "guarantees": OneOf(ChainMap(_OF_ROWS, GUARANTEES), "model"),  # type: ignore[arg-type] # nobody writes to it
    "method": OneOf(METHODS, "name"),
    "recoding": OneOf(RECODINGS, "name"),
    "objective": OneOf(OBJECTIVES, "name"),
}


def in_old_keys(section: Mapping[str, object]) -> dict[str, object]:
    """Return a section under the keys of 0.1, which hashes of policies are made of."""
    old = {new: old for old, new in _OLD_KEYS.items()}
    return {old.get(key, key): value for key, value in section.items()}


@cache
def _made(kind: type[Any], name: str, key: str) -> type[Choice]:
    hints = get_type_hints(kind)
    keys: dict[str, Any] = {key: (Literal[name], ...)}
    if getattr(kind, "needs_guide", False):
        targets = Field(default=(), description="Columns to predict; empty: those marked as label.")
        keys["split_targets"] = (Names, targets)
    # A hierarchy belongs to the column.
    given = [entry for entry in fields(kind) if entry.init and entry.name != "hierarchy"]
    for entry in sorted(given, key=_rank):
        keys[entry.name] = _key(hints[entry.name], entry)
    made = create_model(f"{kind.__name__}Section", __base__=Choice, __doc__=kind.sentence, **keys)
    made.kind, made.key = kind, key
    return made


def _key(hint: object, entry: DataclassField[Any]) -> tuple[Any, Any]:
    """Return the type and the field of a key, as pydantic makes a model of them."""
    if hint is Objective:
        choice = CHOICES["objective"]
        short: Any = Union[Literal[tuple(OBJECTIVES)], Annotated[Choice, choice]]  # noqa: UP007
        named = BeforeValidator(_by_name, json_schema_input_type=short)
        made = Field(default_factory=partial(_default_of, entry, choice), **entry.metadata)
        return Annotated[Choice, choice, named], made
    given = ... if entry.default is MISSING else entry.default
    return _STRICT.get(hint, hint), Field(given, **entry.metadata)


def _default_of(entry: DataclassField[Any], choice: OneOf) -> Choice:
    """Return the section of what a field is made of by default."""
    make: Any = entry.default_factory
    kind = getattr(make(), choice.key)
    section: Any = choice.section(kind)
    made: Choice = section(**{choice.key: kind})
    return made


def _rank(entry: DataclassField[Any]) -> int:
    """Order keys as a file is written: parameters, the column, then what has a default."""
    has_default = entry.default is not MISSING or entry.default_factory is not MISSING
    return 2 if has_default else entry.name == "column"

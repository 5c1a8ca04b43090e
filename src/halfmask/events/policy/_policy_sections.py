"""The sections of a policy of events: the stream, and rules."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from halfmask._errors import PolicyError
from halfmask._policy_files import near, word
from halfmask.events.actions import (
    ACTIONS,
    Action,
    AnyAction,
    CoarsenTime,
    Erase,
    RecodeMany,
    Shift,
)
from halfmask.events.block._paths import Path, Step
from halfmask.events.block._times import ZoneText
from halfmask.events.policy._sections import EventSection, Text
from halfmask.events.running._context import Condition

_OWN = ("path", "name", "names", "when", "otherwise")


class StreamSection(EventSection):
    """``[stream]``: where what rules refer to stands in an event."""

    time: Text | None = None
    tenant: Text | None = None
    session: Text | None = None
    entity: Text | None = None
    zone: ZoneText | None = None

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the paths are places."""
        for name, text in self.paths().items():
            try:
                place(text)
            except PolicyError as error:
                raise PolicyError(f"{name!r}: {error.what.written}", hint=error.hint) from None

    def paths(self) -> dict[str, str]:
        """Return the paths that are named, by what they are."""
        named = {name: getattr(self, name) for name in ("time", "tenant", "session", "entity")}
        return {name: text for name, text in named.items() if text is not None}


class RuleSection(EventSection):
    """``[[rule]]``: what becomes of the values of a path."""

    path: Text
    name: Text | None = None
    names: Literal["keep", "hash"] | None = None
    when: tuple[Condition, ...] = ()
    otherwise: Literal["drop", "refuse-event", "stop"] = "drop"
    steps: tuple[AnyAction, ...] = Field(default=(), alias="do")

    def __init__(self, **keys: object) -> None:
        own: dict[str, Any] = {key: keys[key] for key in _OWN if key in keys}
        options = {key: value for key, value in keys.items() if key not in own and key != "then"}
        if isinstance(own.get("when"), dict):
            own["when"] = [own["when"]]
        if "do" in keys:
            then = keys.get("then", [])
            own["do"] = [options, *then] if isinstance(then, list | tuple) else then
        else:
            own |= options | ({"then": keys["then"]} if "then" in keys else {})
        try:
            if "do" in keys:
                _check_keys(options)
            super().__init__(**own)
        except PolicyError as error:
            path = keys.get("path")
            where = f"{path!r}: " if isinstance(path, str) else ""
            raise PolicyError(where + error.what.written, hint=error.hint) from None

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the rule is one."""
        path = self.place
        stars = Step.FIELD in path.steps or Step.BENEATH in path.steps
        if not path.steps:
            raise PolicyError("a rule can't be of the whole event.")
        if stars and self.names is None:
            raise PolicyError(
                "the key 'names' is lacking: stars find fields whose names may say something.",
                hint='Write names = "hash", or names = "keep" where names are harmless.',
            )
        if not stars and self.names is not None:
            raise PolicyError("'names' goes with stars.", hint='Write name = "..." instead.')
        if stars and self.name is not None:
            raise PolicyError("'name' can't be given to all that stars find.")
        if len(self.steps) > 1 and any(isinstance(it, Erase | RecodeMany) for it in self.steps):
            raise PolicyError("erase and recode-many stand alone: nothing comes before or after.")
        for action in self.steps:
            if isinstance(action, RecodeMany) and (
                not path.concrete or path.steps[-1] is not Step.ELEMENT
            ):
                raise PolicyError(
                    "recode-many is for elements of an array: a path that ends in []."
                )
        for other in self.reads():
            self._check_reachable(place(other))

    def _check_reachable(self, other: Path) -> None:
        level = Path.parse(other.level).steps
        if self.place.steps[: len(level)] != level:
            raise PolicyError(
                f"it reads {str(other)!r}, which is in another array.",
                hint="Read fields of the same element, of what encloses it, or of the event.",
            )

    @property
    def place(self) -> Path:
        """The path, read."""
        return Path.parse(self.path)

    def reads(self) -> tuple[str, ...]:
        """Return the paths that conditions and actions read."""
        found = [condition.path for condition in self.when]
        return (*found, *(path for action in self.steps for path in action.reads()))

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The weaknesses of the last action, and of kept names."""
        last = self.steps[-1].weaknesses if self.steps else ()
        return (*last, *(("names-kept",) if self.names == "keep" else ()))

    def timed(self, step: int) -> bool:
        """Return whether an action of times works on the result of an action."""
        return any(isinstance(it, CoarsenTime | Shift) for it in self.steps[step + 1 :])

    def table(self) -> dict[str, Any]:
        """Return the rule as TOML has it, without what is the default."""
        table = self.model_dump(
            mode="json", by_alias=True, exclude_defaults=True, exclude_none=True, exclude={"steps"}
        )
        actions = [_action_table(action) for action in self.steps]
        then = {"then": actions[1:]} if len(actions) > 1 else {}
        return {**table, **(actions[0] if actions else {}), **then}


def _check_keys(options: dict[str, object]) -> None:
    """Raise where a key is neither the rule's nor its action's, and say all that there may be."""
    model = next((it for it in ACTIONS if it.model_fields["do"].default == options["do"]), None)
    if model is None:
        return  # that there is no such action is table elsewhere
    known = [field.alias or name for name, field in model.model_fields.items()]
    for key in options:
        if key not in known:
            hint = near(key, [*dict.fromkeys((*_OWN, *known, "then"))])
            raise PolicyError(f"there is no key {word(key)}.", hint=hint)


def _action_table(action: Action) -> dict[str, Any]:
    table = action.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude_none=True)
    return {"do": action.do, **table}


def place(text: str) -> Path:
    """Return a path that is one place."""
    path = Path.parse(text)
    if not path.concrete or not path.steps:
        raise PolicyError(f"the path {text!r} must be one place: without stars and type.")
    return path

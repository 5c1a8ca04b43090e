"""The sections of a policy for many events: windows, aggregates, guarantees."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, Field

from halfmask._errors import PolicyError
from halfmask._sections import Whole
from halfmask.events.actions import HierarchySection
from halfmask.events.block._paths import Path
from halfmask.events.block._times import Unit, ZoneText
from halfmask.events.policy._policy_sections import place
from halfmask.events.policy._sections import Duration, DurationText, EventSection, Text

#: Keys of ``[[aggregate]]`` and what they were called in 0.1, whose policies are still read.
OLD_KEYS: Final = {"min-events": "least-events", "min-entities": "least-entities"}

_Least = Annotated[Whole, Field(ge=1, le=1_000_000_000)]
_SUMMABLE = ("sum", "min", "max", "mean")


class WindowSection(EventSection):
    """``[window]``: how events are put together by their original time."""

    every: DurationText
    zone: ZoneText
    lateness: DurationText = "0 seconds"
    median: Annotated[Whole, Field(ge=1, le=1_001)] = 1
    late: Literal["drop", "update"] = "drop"
    unit: Unit | None = None
    most: Annotated[Whole, Field(ge=1, le=100_000_000)] = 1_000_000

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the durations can be what they are for."""
        grid, late = Duration.parse(self.every), Duration.parse(self.lateness)
        if grid.micros <= 0 and grid.months <= 0:
            raise PolicyError("'every' must be longer than nothing.")
        if late.months or late.micros < 0:
            raise PolicyError("'lateness' must be a duration without months, of 0 or more.")
        if self.median % 2 == 0:
            raise PolicyError("'median' must be an odd number.")


class MeasureSection(EventSection):
    """``[[aggregate.measure]]``: one number of each cell."""

    name: Text
    do: Literal["sum", "min", "max", "mean", "count", "distinct"]
    path: Text
    of: Literal["original", "released"]
    unit: Text | None = None
    decimals: Annotated[Whole, Field(ge=0, le=18)] | None = None

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the options go with what is done."""
        place(self.path)
        if (self.decimals is None) == (self.do == "mean"):
            raise PolicyError("'decimals' goes with do = 'mean', which needs it.")
        if self.unit is not None and self.do not in _SUMMABLE:
            raise PolicyError("'unit' goes with sum, min, max and mean.")

    @property
    def numeric(self) -> bool:
        """Whether it is of numbers."""
        return self.do in _SUMMABLE


def _renamed(key: str) -> Any:  # noqa: ANN401 # as pydantic's Field
    """Return a field that is also read by the name that it had in 0.1."""
    names = AliasChoices(key, OLD_KEYS[key])
    return Field(default=None, alias=key, validation_alias=names)


class AggregateSection(EventSection):
    """``[[aggregate]]``: many events become one line for each window and key."""

    name: Text | None = None
    window: Text = "window"
    by: dict[Text, Text] = Field(default_factory=dict)
    count: Text | None = None
    measures: tuple[MeasureSection, ...] = Field(default=(), alias="measure")
    min_events: _Least | None = _renamed("min-events")
    min_entities: _Least | None = _renamed("min-entities")
    totals: bool = Field(default=False, strict=True)

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the fields go together."""
        if self.min_events is None and self.min_entities is None:
            raise PolicyError(
                "min-events or min-entities is required: the smallest cell that is written.",
                hint="Write min-entities = 5, for example; 1 writes every cell.",
            )
        names = ["aggregate", "update", "total", self.window, *self.by]
        names += [] if self.count is None else [self.count]
        names += [measure.name for measure in self.measures]
        if len(set(names)) < len(names):
            raise PolicyError(
                "two fields have one name; aggregate, update and total are names, too."
            )
        deepest = self.level()
        for measure in self.measures:
            steps = Path.parse(Path.parse(measure.path).level).steps
            if steps[: len(deepest.steps)] != deepest.steps:
                raise PolicyError(
                    f"the measure {measure.name!r} would count a value once for each element: its "
                    "path must stand among the elements of 'by', or beneath them."
                )
        if self.totals and deepest.steps:
            raise PolicyError("'totals' can't be written where 'by' has elements of an array.")

    def level(self) -> Path:
        """Return the elements that cells are made of; the empty path for events."""
        levels = [Path.parse(place(path).level) for path in self.by.values()]
        deepest = max(levels, key=lambda path: len(path.steps), default=Path(steps=()))
        if any(deepest.steps[: len(path.steps)] != path.steps for path in levels):
            raise PolicyError("the paths of 'by' are in different arrays.")
        return deepest


class GuaranteeSection(EventSection):
    """``[[guarantee]]``: what must hold of the events that are released together."""

    kind: Literal["session-k", "k-m", "distinct"]
    paths: tuple[Text, ...] = Field(min_length=1)
    k: Annotated[Whole, Field(ge=2, le=1_000_000_000)]
    m: Annotated[Whole, Field(ge=1, le=3)] | None = None
    fails: Literal["field", "element", "event", "session"]
    hierarchies: dict[Text, HierarchySection] = Field(default_factory=dict)

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the options go with the kind."""
        if (self.m is None) == (self.kind == "k-m"):
            raise PolicyError("'m' goes with kind = 'k-m', which needs it.")
        if self.kind != "session-k" and len(self.paths) > 1:
            raise PolicyError(f"'paths' of kind {self.kind!r} must be one path.")
        if self.kind == "session-k" and self.fails not in {"field", "session"}:
            raise PolicyError("'fails' of kind 'session-k' must be 'field' or 'session'.")
        places = [place(path).place for path in self.paths]
        if len(set(places)) < len(places):
            raise PolicyError("'paths' names a path twice.")
        if any(place(path).place not in places for path in self.hierarchies):
            raise PolicyError("'hierarchies' has a path that isn't in 'paths'.")
        if len({place(path).level for path in self.paths}) > 1:
            raise PolicyError("'paths' must be fields of the event, or of one array's elements.")

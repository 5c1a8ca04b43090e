"""Noise: numbers with a random part, drawn under the key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from halfmask._errors import PolicyError
from halfmask._sections import Number, Whole
from halfmask.events.actions._action import Action
from halfmask.events.block._quantities import Quantities
from halfmask.events.policy._sections import Text
from halfmask.events.secrets._keys import EntityDraws, event_draws
from halfmask.masks import fractions
from halfmask.masks import noise as law_noise

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.events.actions._action import Resources
    from halfmask.events.block._values import Values
    from halfmask.events.running._context import Applier, Context

#: Beyond it floats don't tell whole numbers apart.
_MOST = 2.0**53


class Noise(Action):
    """Add noise to numbers, or multiply them by one and noise.

    Parameters
    ----------
    how
        ``add``: the number and the noise; ``multiply``: the number times one and the noise.
    law
        ``laplace`` and ``gaussian`` with the scale b or sigma; ``uniform`` from -scale to scale.
    scale
        Above 0; in the number's unit, or for ``multiply`` a share of it: 0.1 is a tenth.
    per
        ``entity``: one draw for each entity, always the same: repeats don't average out. ``event``:
        a new one for each value.
    by
        The path of the entity; by default that of ``[stream]``.
    most
        Noise beyond it, on either side, is never drawn; the law is cut there and not heaped up.
    low, high
        What is written lies between them: what would be beyond is written as the bound.
    decimals
        Digits behind the point, 0 to 9. No more than the number had, or the digits reveal it.
    units
        As of `Round`.

    Notes
    -----
    **Guarantees.** The noise is independent of the number, and unknown to who hasn't the key.
    Draws of other entities, or other events, are independent. It is no differential privacy: what a
    stream reveals in total isn't bounded.

    **Edge cases.** With ``per = "event"`` an average over n repeats of one number has the n-th part
    of the noise's variance: 100 readings of one meter show it. With ``per = "entity"`` they don't,
    but differences (``add``) and ratios (``multiply``) of an entity's numbers stay exact, and one
    number that is known gives all of that entity. The largest numbers stay about the largest. What
    is multiplied stays 0 where it was 0. Values without the entity are dropped and counted as
    ``no-entity``; more than 53 bits as ``out-of-range``.

    Examples
    --------
    >>> Noise(how="add", law="laplace", scale=2.0, per="entity", decimals=0).weaknesses
    ('differences-kept', 'outlier-visible')
    >>> Noise(how="multiply", law="uniform", scale=0.1, per="event", decimals=2).weaknesses
    ('averaging', 'outlier-visible', 'zero-kept')
    """

    do: Literal["noise"] = "noise"
    how: Literal["add", "multiply"] = Field()
    law: Literal["laplace", "gaussian", "uniform"] = Field()
    scale: Annotated[Number, Field(gt=0, le=1e15)]
    per: Literal["entity", "event"] = Field()
    by: Text | None = None
    most: Annotated[Number, Field(gt=0, le=1e15)] | None = None
    low: Number | None = None
    high: Number | None = None
    decimals: Annotated[Whole, Field(ge=0, le=9)]
    units: tuple[Text, ...] = ()

    def model_post_init(self, context: object, /) -> None:  # noqa: ARG002 # pydantic's
        """Check that the bounds are some."""
        if self.most is not None and self.law == "uniform":
            raise PolicyError("'most' goes with laplace and gaussian: uniform noise has a bound.")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise PolicyError("'low' must be below 'high'.")
        if self.by is not None and self.per == "event":
            raise PolicyError("'by' goes with per = 'entity'.")

    @property
    def weaknesses(self) -> tuple[str, ...]:
        """The names of the technique's weaknesses."""
        kept = "differences-kept" if self.how == "add" else "ratios-kept"
        first = "averaging" if self.per == "event" else kept
        more = ("zero-kept",) if self.how == "multiply" else ()
        return (first, "outlier-visible", *more)

    def reads(self) -> tuple[str, ...]:
        """Return the entity's path, where it is the rule's own."""
        return () if self.by is None else (self.by,)

    def needs(self) -> tuple[str, ...]:
        """Return what the stream must name: the entity, where the rule doesn't."""
        return ("entity",) if self.per == "entity" and self.by is None else ()

    def bind(self, resources: Resources) -> Applier:
        """Return the maker of noise."""
        return _Noisy(self, resources)


class _Noisy:
    __slots__ = ("_action", "_entities", "_entity", "_key")

    def __init__(self, action: Noise, resources: Resources) -> None:
        self._action = action
        self._key = resources.keys.words("noise/event", resources.path)
        self._entities = EntityDraws(resources.keys.of("noise/entity", resources.path))
        self._entity = resources.entity_of(action.by) if action.per == "entity" else None

    def apply(self, values: Values, context: Context) -> Values:
        action = self._action
        read = Quantities.read(values, context, action.units)
        drawn, fits = self._drawn(values, context, read.fits)
        noise = law_noise(fractions(drawn), law=action.law, scale=action.scale, most=action.most)
        number = read.units / 10.0**read.places
        noisy = number + noise if action.how == "add" else number * (1.0 + noise)
        if action.low is not None or action.high is not None:
            noisy = np.clip(noisy, action.low, action.high)
        noisy = np.rint(noisy * 10.0**action.decimals)
        small = np.abs(noisy) < _MOST
        context.fail("out-of-range", values.level, fits & ~small)
        fits &= small
        units = np.where(fits, noisy, 0.0).astype(np.int64)
        return read.written(units, np.full(len(units), action.decimals), fits)

    def _drawn(
        self, values: Values, context: Context, fits: NDArray[np.bool_]
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        level = values.level
        if self._entity is None:
            return event_draws(level, first_event=context.first_event, key=self._key), fits
        drawn, named = self._entities.of(context.values(self._entity, level))
        context.fail("no-entity", level, fits & ~named)
        return drawn, fits & named

"""The plan of a codec of series as bytes that a vault can seal."""

from __future__ import annotations

from halfmask.encode._archive import Archive
from halfmask.encode.series._channel import Channel
from halfmask.encode.series._clock import SeriesClock
from halfmask.encode.series._filter import Filter
from halfmask.encode.series._noise import Keystream
from halfmask.encode.series._plan import SeriesPlan
from halfmask.encode.series._quantizer import Quantizer
from halfmask.encode.series._scores import ScoreMap
from halfmask.encode.series._seasons import Seasons, Term
from halfmask.encode.series._settings import Event, SeriesSettings
from halfmask.encode.series._state import SeriesState
from halfmask.encode.series._veil import Veil

PLAN_ARCHIVE = Archive(
    label="halfmask series plan",
    version=1,
    kinds={
        "Channel": Channel,
        "Clock": SeriesClock,
        "Event": Event,
        "Filter": Filter,
        "Grain": Quantizer,
        "Noise": Keystream,
        "Scores": ScoreMap,
        "Seasons": Seasons,
        "SeriesPlan": SeriesPlan,
        "SeriesSettings": SeriesSettings,
        "SeriesState": SeriesState,
        "Term": Term,
        "Veil": Veil,
    },
    what="plan of a codec of series",
)

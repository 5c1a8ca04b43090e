"""Reversible encodings of time series: what neither calendar nor past explain, and the way back.

Start with `SeriesCodec`. It differs from the `Codec` of tables in that rows depend on those before
them, so that every batch begins at a `SeriesState`. `Event` names times that others know.
"""

from __future__ import annotations

from halfmask.encode.series._series_codec import SeriesCodec
from halfmask.encode.series._settings import Event, SeriesState

__all__ = ["Event", "SeriesCodec", "SeriesState"]

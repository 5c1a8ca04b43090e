"""What a fit needs to know of rows: the codec's summary, and which texts are nearly numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from halfmask.data.frames import without_empty_types
from halfmask.data.text_forms import TextWatch
from halfmask.encode._summary import CodecSummary

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

    from halfmask.encode._roles import Roles
    from halfmask.encode._settings import CodecSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class FitSummary:
    """The summary of some rows, and the forms of their texts; they add up."""

    summary: CodecSummary
    watch: TextWatch

    @classmethod
    def of(
        cls,
        batch: pl.DataFrame,
        *,
        roles: Roles,
        settings: CodecSettings,
        known: Collection[str],
    ) -> Self:
        """Return what a fit needs to know of a batch."""
        watch = TextWatch(owner="Codec", known=known)
        watch.see(batch)
        typed = without_empty_types(batch, roles.dtypes)
        return cls(summary=CodecSummary.of(typed, roles=roles, settings=settings), watch=watch)

    def __add__(self, other: FitSummary) -> FitSummary:
        return FitSummary(summary=self.summary + other.summary, watch=self.watch + other.watch)

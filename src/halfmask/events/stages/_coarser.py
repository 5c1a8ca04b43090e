"""Coarser: the labels that a hierarchy has for a value, from level to level."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from halfmask._errors import HierarchyError
from halfmask.data import Hierarchy, Intervals
from halfmask.events.block._values import Kind, written_text
from halfmask.events.block._words import exact_float, lookup_word

if TYPE_CHECKING:
    from pathlib import Path

    from halfmask.events.actions import HierarchySection
    from halfmask.events.block._words import Token

_MOST_KNOWN = 1 << 16


class Coarser:
    """Looks up the labels of values.

    Examples
    --------
    >>> from halfmask.events import Kind
    >>> from halfmask.events.actions import HierarchySection
    >>> coarser = Coarser(HierarchySection(intervals=(10.0,)), folder=None)
    >>> [label.decode() for _, label in coarser.labels((Kind.INTEGER, b"27"))]
    ['[20, 30)', '*']
    """

    __slots__ = ("_known", "_rule", "_tree")

    def __init__(self, section: HierarchySection, *, folder: Path | None) -> None:
        made = section.made(folder)
        self._known: dict[Token, tuple[Token, ...]] = {}
        self._rule = None if isinstance(made, Hierarchy) else made
        self._tree: dict[str, tuple[Token, ...]] = {}
        if isinstance(made, Hierarchy):
            levels = [made.labels(level) for level in range(1, made.height)]
            self._tree = {
                leaf: tuple(_token(labels[at]) for labels in levels)
                for at, leaf in enumerate(made.leaves)
            }

    def labels(self, token: Token) -> tuple[Token, ...]:
        """Return the labels of a value, the finest first; none where the hierarchy lacks it."""
        known = self._known.get(token)
        if known is None:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            known = self._known[token] = self._made(*token)
        return known

    def _made(self, kind: Kind, token: bytes) -> tuple[Token, ...]:
        word = lookup_word(kind, token)
        if word is None or kind is Kind.NULL:
            return ()
        if self._rule is None:
            return self._tree.get(word, ())
        numeric = isinstance(self._rule, Intervals)
        try:
            value = exact_float(word) if numeric else word
            if value is None:
                return ()
            tree = self._rule.build(pl.Series([value]), column="values")
        except (HierarchyError, ValueError):
            return ()
        return tuple(_token(tree.labels(level)[0]) for level in range(1, tree.height))


def _token(label: str) -> Token:
    return Kind.STRING, written_text(label)

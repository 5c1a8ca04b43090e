"""The page of a release: its claims, its weaknesses and the blocks that its job hands over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from halfmask.claims import Claim

__all__ = ["AnyBlock", "BarsBlock", "TableBlock", "TextBlock", "page_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Sentences under a heading."""

    title: str
    sentences: Sequence[str]

    def html(self) -> Iterator[str]:
        """Yield the block's lines."""
        yield from (f"<p>{escape(each)}</p>" for each in self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlock:
    """A table under a heading."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def html(self) -> Iterator[str]:
        """Yield the block's lines."""
        yield "<table>"
        yield f"<tr>{''.join(f'<th>{escape(each)}</th>' for each in self.columns)}</tr>"
        for row in self.rows:
            yield f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>"
        yield "</table>"


@dataclass(frozen=True, slots=True, kw_only=True)
class BarsBlock:
    """Shares from 0 to 1 as bars under a heading."""

    title: str
    shares: Mapping[str, float]

    def html(self) -> Iterator[str]:
        """Yield the block's lines."""
        yield "<table>"
        for name, share in self.shares.items():
            bar = f'<meter min="0" max="1" value="{share:.4f}"></meter> {share:.1%}'
            yield f"<tr><th>{escape(name)}</th><td>{bar}</td></tr>"
        yield "</table>"


AnyBlock: TypeAlias = TextBlock | TableBlock | BarsBlock


def page_of(
    kind: str, claims: Sequence[Claim], weaknesses: Sequence[str], blocks: Sequence[AnyBlock]
) -> str:
    """Return the page as HTML: no script, nothing from elsewhere, every text escaped."""
    all_blocks = [
        TextBlock(title="Claims", sentences=[each.sentence() for each in claims]),
        TextBlock(title="Weaknesses", sentences=weaknesses),
        *blocks,
    ]
    lines = [
        "<!doctype html>",
        '<html lang="en"><meta charset="utf-8">',
        f"<title>Release report: {escape(kind)}</title>",
        "<style>body{font:16px sans-serif;max-width:50em;margin:2em auto}</style>",
        f"<h1>Release report: {escape(kind)}</h1>",
        "<p>The verifier confirmed these claims on disk before the release got its name.</p>",
    ]
    for block in all_blocks:
        lines += [f"<h2>{escape(block.title)}</h2>", *block.html()]
    return "\n".join([*lines, "</html>", ""])

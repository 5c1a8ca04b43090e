"""The page of a release: its claims, its weaknesses and the blocks that its job hands over.

A page is one file without script, network, external font or image; its policy (CSP) forbids all of
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias

from halfmask.plots.svg import without_controls

if TYPE_CHECKING:
    from halfmask.claims import Claim
    from halfmask.plots.svg import Chart

_NUMBER: Final = re.compile(r"[\d,.<>% —]*")
_STYLE: Final = """
:root { color-scheme: light dark; --paper: #f5f2ec; --ink: #1b2430; --soft: #55606e;
  --line: #ddd6c9; --bar: #a64b06; --after: #0f6f68; --wash: #f6ead9; --bad: #a92318; }
@media (prefers-color-scheme: dark) { :root { --paper: #11161c; --ink: #e9edf2; --soft: #a5b0bd;
  --line: #303a46; --bar: #f0a35a; --after: #5fc7bd; --wash: #33291a; --bad: #ff9a8b; } }
body { max-width: 1024px; margin: 2rem auto; padding: 0 28px; background: var(--paper);
  color: var(--ink); font: 16px/1.55 "Inter", "Segoe UI", "Helvetica Neue", Arial, sans-serif;
  font-variant-numeric: tabular-nums; }
h1, h2 { font-family: Georgia, "Liberation Serif", serif; font-weight: 600; line-height: 1.2;
  overflow-wrap: anywhere; }
h2 { margin-top: 2.6rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { max-width: 74ch; }
.soft, caption { color: var(--soft); font-size: .875rem; }
.lead { padding: 10px 20px; border-left: 6px solid var(--bar); background: var(--wash); }
.warn { border-color: var(--bad); font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .925rem; }
caption { text-align: left; padding-bottom: 6px; }
th, td { text-align: left; vertical-align: top; padding: 7px 14px 7px 0; overflow-wrap: anywhere;
  border-top: 1px solid var(--line); }
thead th { color: var(--soft); border-top: 0; border-bottom: 2px solid var(--line); }
.num { text-align: right; white-space: nowrap; }
meter { width: 60%; }
.key { display: flex; flex-wrap: wrap; gap: 20px; margin: .6rem 0; font-size: .875rem;
  color: var(--soft); }
.key span::before { content: ""; display: inline-block; width: 13px; height: 13px;
  margin-right: 7px; border-radius: 3px; vertical-align: -2px; background: var(--after); }
.key .was::before { background: var(--bar); }
.key .line::before { background: none; border: 2px solid var(--bar); box-sizing: border-box; }
.pictures { columns: 3 290px; column-gap: 16px; }
.pictures figure { break-inside: avoid; margin: 0 0 16px; }
.pictures figure, .panel { border: 1px solid var(--line); border-radius: 12px; padding: 14px 18px; }
.panel figure { margin: 0; }
h3 { margin: 0 0 8px; font-size: 1rem; overflow-wrap: anywhere; }
figcaption { margin-top: 8px; font-size: .875rem; color: var(--soft); }
svg.chart { display: block; width: 100%; height: auto; overflow: visible;
  font: 11px "Inter", "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
svg .before { fill: var(--bar); }
svg .after { fill: var(--after); }
svg .outline { fill: none; stroke: var(--bar); stroke-width: 1.8; stroke-linejoin: round; }
svg .floor { stroke: var(--soft); }
svg text { fill: var(--soft); }
svg text.strong { fill: var(--ink); font-weight: 600; }
@media print { :root { --paper: #fff; --ink: #111; --wash: #fff; } }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextBlock:
    """Sentences under a heading.

    Parameters
    ----------
    title
        The heading.
    sentences
        A paragraph each.
    """

    title: str
    sentences: Sequence[str]

    def html(self) -> Iterator[str]:
        """Yield the block's lines."""
        yield from (f"<p>{_text(each)}</p>" for each in self.sentences)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableBlock:
    """A table under a heading; columns of numbers are aligned at their right.

    Parameters
    ----------
    title
        The heading.
    columns
        The names of the columns.
    rows
        The cells of each row, as texts.
    caption
        A sentence above the table.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    def html(self) -> Iterator[str]:
        """Yield the block's lines."""
        styles = [
            ' class="num"' if any(cells) and all(map(_NUMBER.fullmatch, cells)) else ""
            for cells in zip(*self.rows, strict=True)
        ] or [""] * len(self.columns)
        yield '<div class="scroll"><table>'
        if self.caption:
            yield f"<caption>{_text(self.caption)}</caption>"
        yield f"<thead>{_row('th', self.columns, styles)}</thead><tbody>"
        yield from (_row("td", row, styles) for row in self.rows)
        yield "</tbody></table></div>"


@dataclass(frozen=True, slots=True, kw_only=True)
class BarsBlock:
    """Shares from 0 to 1 as bars under a heading.

    Parameters
    ----------
    title
        The heading.
    shares
        The share of each bar, 0 to 1, by its label.
    """

    title: str
    shares: Mapping[str, float]

    def html(self) -> Iterator[str]:
        """Yield the block's lines."""
        yield "<table>"
        for name, share in self.shares.items():
            bar = f'<meter min="0" max="1" value="{share:.4f}"></meter> {share:.1%}'
            yield f"<tr><th>{_text(name)}</th><td>{bar}</td></tr>"
        yield "</table>"


@dataclass(frozen=True, slots=True, kw_only=True)
class PicturesBlock:
    """Charts of an original and a released table under a heading.

    Parameters
    ----------
    title
        The heading.
    sentence
        What the pictures show, above them.
    pictures
        For each the name over it, the chart, and the sentence under it.
    outlined
        Whether charts of numbers draw the original as an outline.
    """

    title: str
    sentence: str
    pictures: Sequence[tuple[str, Chart, str]]
    outlined: bool = False

    def html(self) -> Iterator[str]:
        """Yield the block's lines."""
        yield f"<p>{_text(self.sentence)}</p>"
        outline = '<span class="line">original, as an outline</span>' if self.outlined else ""
        was, now = '<span class="was">original</span>', "<span>released</span>"
        yield f'<div class="key">{was}{outline}{now}</div>'
        many = len(self.pictures) > 1
        yield f'<div class="{"pictures" if many else "panel"}">'
        for name, chart, caption in self.pictures:
            heading = f"<h3><bdi>{_text(name)}</bdi></h3>" if many else ""
            below = f"<figcaption>{_text(caption)}</figcaption>"
            yield f"<figure>{heading}{chart.svg()}{below}</figure>"
        yield "</div>"


AnyBlock: TypeAlias = TextBlock | TableBlock | BarsBlock | PicturesBlock


def page_of(
    kind: str, claims: Sequence[Claim], weaknesses: Sequence[str], blocks: Sequence[AnyBlock]
) -> str:
    """Return the page of a folder that `publish` has verified."""
    lead = ["The verifier confirmed these claims on disk before the release got its name."]
    if any(it.basis == "stated" for it in claims):
        lead.append("What is only stated wasn't confirmed.")
    return html_page(
        f"Release report: {kind}",
        [
            TextBlock(title="Claims", sentences=[each.sentence() for each in claims]),
            TextBlock(title="Weaknesses", sentences=weaknesses),
            *blocks,
        ],
        lead=lead,
    )


def html_page(
    title: str,
    blocks: Sequence[AnyBlock],
    *,
    lead: Sequence[str] = (),
    warnings: Sequence[str] = (),
) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    title, blocks
        Its heading, and what is under it.
    lead, warnings
        Sentences that stand out above the blocks.

    Notes
    -----
    **Guarantees.** The page holds no script, no address of another page and nothing that a browser
    would fetch. Every text goes through HTML escaping; control and direction characters in names
    are replaced.
    """
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        (
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
        ),
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        *(f'<p class="lead warn" role="alert">{_text(each)}</p>' for each in warnings),
        *(f'<p class="lead">{_text(each)}</p>' for each in lead),
    ]
    for block in blocks:
        lines += [f"<h2>{_text(block.title)}</h2>", *block.html()]
    return "\n".join([*lines, "</body></html>", ""])


def _text(text: str) -> str:
    return escape(without_controls(text))


def _row(tag: str, cells: Sequence[str], styles: Sequence[str]) -> str:
    found = (
        f"<{tag}{style}><bdi>{_text(cell)}</bdi></{tag}>"
        for cell, style in zip(cells, styles, strict=True)
    )
    return f"<tr>{''.join(found)}</tr>"

"""The page of a release: blocks, which one template renders.

A page is one file without script, network, external font or image; its policy (CSP) forbids all of
them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

from halfmask.plots.svg import without_controls

if TYPE_CHECKING:
    from typing import Self

    from jinja2 import Environment

    from halfmask.claims import Manifest
    from halfmask.plots.geo_map import GeoMap
    from halfmask.plots.svg import Chart

_NUMBER: Final = re.compile(r"(at (least|most) )?[\d,.<>% —]*")
NAME_LETTERS: Final = 80


class StyledCell(str):
    """A cell of a table in a style, with bars of shares from 0 to 1, each with its colour."""

    __slots__ = ("shares", "style")
    style: str
    shares: Sequence[tuple[float, str]]

    def __new__(cls, text: str, style: str = "", shares: Sequence[tuple[float, str]] = ()) -> Self:
        """Make a cell; colours and styles are classes of the style sheet."""
        made = super().__new__(cls, text)
        made.style, made.shares = style, shares
        return made


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Sentences under a heading.

    Parameters
    ----------
    title
        The heading.
    sentences
        A paragraph each.
    style
        How they are set, ``code`` with its lines and blanks; ``good``, ``bad``, ``warned`` and
        ``notice`` stand out in a box.
    """

    form: ClassVar[str] = "text"
    title: str
    sentences: Sequence[str]
    style: Literal["", "soft", "list", "code", "warning", "notice", "good", "bad", "warned"] = ""


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table under a heading; columns of numbers are aligned at their right.

    Parameters
    ----------
    title
        The heading.
    columns
        The names of the columns; none: the table has no head.
    rows
        The cells of each row, as texts.
    caption
        A sentence above the table.
    """

    form: ClassVar[str] = "table"
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""

    @property
    def alignments(self) -> list[str]:
        """The class of each column: ``num`` where all cells are numbers."""
        return [
            "num" if any(cells) and all(map(_NUMBER.fullmatch, cells)) else ""
            for cells in zip(*self.rows, strict=True)
        ] or [""] * len(self.columns)


@dataclass(frozen=True, slots=True)
class BarsBlock:
    """Shares from 0 to 1 as bars under a heading.

    Parameters
    ----------
    title
        The heading.
    shares
        The share of each bar, 0 to 1, by its label.
    series
        The colour of each bar.
    """

    form: ClassVar[str] = "bars"
    title: str
    shares: Mapping[str, float]
    series: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
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
    series
        What the two colours are of; empty where the pictures say so themselves.
    numbers
        The head of the charts' labels, where their numbers are listed.
    """

    form: ClassVar[str] = "pictures"
    title: str
    sentence: str
    pictures: Sequence[tuple[str, Chart | GeoMap, str]]
    outlined: bool = False
    series: tuple[str, str] = ("original", "released")
    numbers: str = ""


@dataclass(frozen=True, slots=True)
class ChangeBlock:
    """A number before and after, large; or one alone."""

    form: ClassVar[str] = "change"
    title: ClassVar[str] = ""
    was: str
    now: str
    unit: str = ""


@dataclass(frozen=True, slots=True)
class ChapterBlock:
    """Blocks under a heading of their own, as cards in two columns, or as a page when printed."""

    form: ClassVar[str] = "chapter"
    title: str
    blocks: Sequence[AnyBlock]
    style: Literal["", "cards", "summary"] = ""


AnyBlock: TypeAlias = (
    "TextBlock | TableBlock | BarsBlock | PicturesBlock | ChangeBlock | ChapterBlock"
)


def checked_blocks(checked: Sequence[str]) -> list[AnyBlock]:
    """Return what a page says of earlier releases; nothing where it wasn't checked."""
    return [TextBlock("Checked against earlier releases", checked)] if checked else []


def page_of(
    manifest: Manifest, blocks: Sequence[AnyBlock], summary: Sequence[AnyBlock] = ()
) -> str:
    """Return the page of a folder that `publish` has verified."""
    claims = manifest.claims
    lead = ["The verifier confirmed these claims on disk before the release got its name."]
    if any(it.basis == "stated" for it in claims):
        lead.append("What is only stated wasn't confirmed.")
    return html_page(
        f"Release report: {manifest.kind}",
        [
            TextBlock("", lead, "good"),
            *summary,
            TextBlock("Claims", [each.sentence() for each in claims]),
            TextBlock("Weaknesses", manifest.weaknesses, "list"),
            *blocks,
        ],
    )


def html_page(title: str, blocks: Sequence[AnyBlock], *, about: str = "", footer: str = "") -> str:
    """Return a page as HTML.

    Parameters
    ----------
    title, blocks
        Its heading, and what is under it.
    about, footer
        A sentence under the heading, and one under all blocks.

    Notes
    -----
    **Guarantees.** The page holds no script, no address of another page and nothing that a browser
    would fetch. Every text goes through HTML escaping; control and direction characters are
    replaced, so a column's name can't rearrange the page.
    """
    template = _environment().get_template("page.html.j2")
    return template.render(title=shortened(title), blocks=blocks, about=about, footer=footer)


@functools.cache  # it compiles its template once
def _environment() -> Environment:
    """Return a template environment that escapes everything."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 # 30 ms
    from markupsafe import Markup  # noqa: PLC0415 # loads with jinja2

    environment = Environment(
        loader=PackageLoader("halfmask.release", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda it: (
            without_controls(it) if isinstance(it, str) and not hasattr(it, "__html__") else it
        ),
    )
    environment.filters["svg"] = lambda chart: Markup(chart.svg())  # noqa: S704 # escaped there
    environment.filters["percent"] = percent
    return environment


def percent(share: float) -> str:
    """Return a fraction for readers: never 0 % or 100 % where it is only near."""
    if 0.0 < share < 0.001:
        return "< 0.1%"
    if 0.999 < share < 1.0:
        return "> 99.9%"
    return "100%" if share == 1.0 else "0%" if share == 0.0 else f"{share:.1%}"


def shortened(text: str, letters: int = NAME_LETTERS) -> str:
    """Return the text, or its beginning with an ellipsis."""
    return text if len(text) <= letters else text[: letters - 1].rstrip() + "…"

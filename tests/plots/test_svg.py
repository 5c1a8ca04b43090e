"""Drawings can be read in a light and in a dark scheme, whatever words they hold."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET  # what we drew ourselves

import pytest

from halfmask.plots import svg
from halfmask.plots.svg import safe

HEX = re.compile(r"#[0-9a-f]{6}")


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.2."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in parts]
    return sum(weight * it for weight, it in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(scope="module")
def schemes():
    """The drawing of all shapes, and the dark colour of each light one, as its own rules say."""
    colours = [
        svg.INK, svg.SOFT, svg.RULE, svg.BEFORE, svg.AFTER, svg.BAD, svg.GREY, svg.TRACK,
        svg.WASH, svg.BAD_WASH, svg.ALLOWED, svg.OPEN_WASH,
    ]  # fmt: skip
    shapes = [
        shape for it in colours for shape in (svg.rect(0, 0, 9, 9, it), svg.line(0, 0, 9, 9, it))
    ]
    shapes += [svg.circle(1, 1, 1, svg.AFTER), svg.diamond(1, 1, 1, svg.BEFORE), svg.ring(1, 1)]
    drawn = svg.drawing("all", "Title", [svg.card(0, 9), *shapes], height=99, described="Words")
    dark = drawn.partition("@media (prefers-color-scheme:dark)")[2].partition("</style>")[0]
    return drawn, dict(re.findall(r'\[fill="(#\w{6})"\]\{fill:(#\w{6})\}', dark))


def test_every_colour_of_a_drawing_has_a_dark_one(schemes):
    drawn, dark = schemes
    shapes = drawn.partition("</style>")[2]

    assert set(HEX.findall(shapes)) == set(dark)


@pytest.mark.parametrize("words", [svg.INK, svg.SOFT, svg.BEFORE, svg.AFTER, svg.BAD])
def test_words_stand_out_in_both_schemes(schemes, words):
    dark = schemes[1]
    card = re.findall(r'<rect x="24"[^>]*fill="(#\w{6})"', schemes[0])[0]

    assert contrast(words, card) >= 4.5
    assert contrast(dark[words], dark[card]) >= 4.5


def test_a_drawing_has_a_name_and_a_description_for_readers_who_do_not_see_it(schemes):
    root = ET.fromstring(schemes[0])  # noqa: S314 # the same
    names = root.attrib["aria-labelledby"].split()

    assert root.attrib["role"] == "img"
    assert [it.text for it in root if it.attrib.get("id") in names] == ["Title", "Words"]


@pytest.mark.parametrize("letter", ["\0", "\x1b", "\u202e", "\u2066", "\ud800", "\uffff", "\ufffe"])
def test_letters_that_steer_or_that_xml_cannot_hold_are_replaced(letter):
    assert safe(f"a{letter}<b>") == "a\ufffd&lt;b&gt;"

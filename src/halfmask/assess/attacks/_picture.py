"""The findings of a battery as one picture: a line for each, grouped by the kind of attack.

Drawn by hand like the charts of the release report, in its colours: no chart library, a few
kilobytes, the same bytes for the same report. Verdicts are a word and a mark, not a colour alone;
the background is opaque, so that dark viewers show it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from halfmask.assess.attacks._attack import EVERYONE
from halfmask.assess.attacks._finding import VERDICTS, as_share, explain_verdicts
from halfmask.plots import svg
from halfmask.plots.svg import circle, line, rect, safe, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess.attacks._finding import Finding, Verdict
    from halfmask.assess.attacks._report import AttackReport

LEFT, RIGHT = 286.0, 566.0
COLUMNS = (634.0, 694.0, 754.0)
CHIP = 776.0
HEADER, LINE = 128, 15
#: If all of a line's numbers are below it, its track ends here, with a label.
NEAR = 0.1

FAMILIES = {
    "membership": "Membership: was this person in the training data?",
    "attributes": "Attributes: what is this person's secret?",
    "structure": "Structure: what can be read off the model?",
    "tables": "Tables: singling out, linking, inferring",
    "classes": "Classes: what does k-anonymity leave open?",
    "releases": "Releases: what do several disclose together?",
    "encodings": "Encodings: what is read without the key?",
    "hashing": "Hashing: what does a trainer read of hashed rows?",
    "places": "Places: which true places are guessed?",
    "evasion": "Evasion: do small changes of a row flip what is predicted?",
    "poisoning": "Poisoning: what do hostile rows do to the model?",
}

#: Attacks that are known by their initials.
NAMES = {"lira": "LiRA", "rmia": "RMIA"}

#: What a verdict is drawn with: the colour behind it, its mark, and the mark's colour.
CHIPS: dict[Verdict, tuple[str, str, str]] = {
    "resisted": (svg.WASH, "M-4 0l3 3.5l6 -7", svg.AFTER),
    "nothing to resist": (svg.TRACK, "M-4 0h8", svg.SOFT),
    "broken": (svg.BAD_WASH, "M-4 -4l8 8M4 -4l-8 8", svg.BAD),
    "not shown": (svg.OPEN_WASH, "M-5 0h.5M-.2 0h.5M4.5 0h.5", svg.BEFORE),
    "INVALID": (svg.TRACK, "M-4 0h8", svg.SOFT),
}

MASK = (
    "M2 5C12-1 25 2 34 7C43 2 56-1 66 5C68 17 62 32 48 33C41 33 38 25 34 21C30 25 27 33 20 33"
    "C6 32 0 17 2 5ZM10 15C14 9 23 9 28 16C23 21 14 22 10 15ZM58 15C54 9 45 9 40 16C45 21 54 22 58 "
    "15Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One finding with the lines that its words take."""

    finding: Finding
    what: tuple[str, ...]
    why: tuple[str, ...]

    @classmethod
    def of(cls, finding: Finding) -> Row:
        """Break the finding's words into lines."""
        outcome = finding.outcome
        group = "" if outcome.group == EVERYONE else f", {outcome.group}"
        why = finding.why
        follows = "nothing follows" if finding.why_invalid else finding.verdict
        return cls(
            finding=finding,
            what=tuple(wrapped(outcome.measure + group, 38)),
            why=tuple(wrapped(f"{follows}: it {why}", 128)) if why else (),
        )

    @property
    def height(self) -> float:
        """How tall it is, with the air around it."""
        return 32.0 + LINE * (len(self.what) + len(self.why))


def picture(report: AttackReport) -> str:
    """Draw the findings of a report as SVG.

    Notes
    -----
    **Guarantees.** No words can become markup, no number is drawn outside of its track.

    **Edge cases.** Where all numbers of a line are below 0.1, its track ends there, with a label.
    """
    families: dict[str, list[Row]] = {}
    for finding in report.findings:
        family = finding.outcome.attack.partition("/")[0]
        families.setdefault(family, []).append(Row.of(finding))
    parts = [] if families else [_empty()]
    y = float(HEADER)
    for family, rows in families.items():
        parts.append(_family(family, rows, y))
        y += 58 + sum(row.height for row in rows) + 14
    if not families:
        y += 84
    skipped = [f"Not run: {name}, the target lacks {why}." for name, why in report.skipped]
    notes = [_of_measures(report), *(wrapped(words, 140) for words in skipped)]
    notes += [wrapped(f"Left out: {name}: {why}.", 140) for name, why in report.too_few]
    notes += [wrapped(meaning, 140) for meaning in explain_verdicts(report.findings)]
    foot = _foot([words for lines in notes for words in lines], y)
    height = y + foot.count("<text") * LINE + 22
    return svg.drawing(
        "attacks",
        _headline(report),
        (_header(report), *parts, foot),
        height=height,
        described=_described(report),
    )


def _headline(report: AttackReport) -> str:
    counted: dict[str, int] = dict.fromkeys(VERDICTS, 0)
    for finding in report.findings:
        counted[finding.verdict] += 1
    n = len(report.findings)
    if not n:
        return "No findings: no attack was run"
    summary = "1 finding" if n == 1 else f"{n} findings"
    summary += "" if report.measures is None else ", by the measures asked for"
    if n in counted.values():
        every = "" if n == 1 else "all "
        return f"{summary}: {every}{next(word for word in counted if counted[word] == n)}"
    return f"{summary}: {', '.join(f'{many} {word}' for word, many in counted.items() if many)}"


def _described(report: AttackReport) -> str:
    summary = [finding.sentence for finding in report.findings] or ["There are no findings."]
    return " ".join([*summary, *_of_measures(report)])


def _header(report: AttackReport) -> str:
    settings = (
        f"Resisted: with {report.confidence:.0%} confidence at most {report.tolerance:g} above "
        "what is reached without knowledge, by an attack that reaches "
        f"{report.min_control_effect:g} without protection."
    )
    legend = 110.0
    mask = (
        f'<path transform="translate({svg.MARGIN} 18) scale(.44)" fill="{svg.AFTER}" '
        f'fill-rule="evenodd" d="{MASK}"/>'
    )
    parts = [
        mask,
        text(svg.MARGIN + 38, 29, "halfmask attack report", "soft"),
        text(svg.MARGIN, 62, _headline(report), "title"),
        text(svg.MARGIN, 84, settings, "soft"),
        line(svg.MARGIN + 2, legend, svg.MARGIN + 30, legend, svg.AFTER, 3),
        circle(svg.MARGIN + 16, legend, 5.5, svg.AFTER),
        text(svg.MARGIN + 38, legend + 4, "protected, with its interval", "soft"),
        svg.diamond(svg.MARGIN + 218, legend, 5.5, svg.BEFORE),
        text(svg.MARGIN + 230, legend + 4, "unprotected", "soft"),
        rect(svg.MARGIN + 318, legend - 6, 14, 12, svg.ALLOWED),
        line(svg.MARGIN + 318, legend - 8, svg.MARGIN + 318, legend + 8, svg.INK, 2),
        text(
            svg.MARGIN + 338, legend + 4, "without knowledge, and what is tolerated above", "soft"
        ),
    ]
    return "".join(parts)


def _family(family: str, rows: Sequence[Row], y: float) -> str:
    height = 58 + sum(row.height for row in rows)
    parts = [
        svg.card(y, height),
        text(svg.MARGIN + svg.INSET, y + 24, FAMILIES.get(family, family), "family"),
    ]
    for x, words in zip(COLUMNS, ("unprot.", "protected", "without"), strict=True):
        parts.append(text(x, y + 46, words, "small", end=True))
    parts += [
        text(LEFT, y + 46, "0", "small"),
        text(RIGHT, y + 46, "1", "small", end=True),
        line((LEFT + RIGHT) / 2, y + 38, (LEFT + RIGHT) / 2, y + 46, svg.RULE),
    ]
    starts = accumulate((row.height for row in rows), initial=y + 58)
    parts += [_row(row, start) for row, start in zip(rows, starts, strict=False)]
    return "".join(parts)


def _row(row: Row, y: float) -> str:
    finding = row.finding
    verdict, outcome = finding.verdict, finding.outcome
    left = svg.MARGIN + svg.INSET
    dim = verdict == "INVALID"
    short = outcome.attack.rpartition("/")[2]
    name = NAMES.get(short, short.replace("_", " ").replace("-", " "))
    parts = [
        f"<g><title>{safe(finding.sentence)}</title>",
        line(left, y - 6, svg.WIDTH - left, y - 6, svg.RULE),
        text(left, y + 12, name, "name dim" if dim else "name"),
    ]
    parts += [
        text(left, y + 13 + LINE * (number + 1), words, "soft")
        for number, words in enumerate(row.what)
    ]
    below = y + 13 + LINE * (len(row.what) + 1)
    parts += [
        text(left, below + LINE * number, words, "small") for number, words in enumerate(row.why)
    ]
    parts += [_track(finding, y + 14), _numbers(finding, y + 18), _chip(verdict, y + 1), "</g>"]
    return "".join(parts)


def _ends(finding: Finding) -> tuple[float, float, float, float | None]:
    """Return lower end, upper end and reference, in [0, 1], and what isn't protected."""
    risk, reference = finding.risk, finding.outcome.reference.value
    control = finding.positive_control
    unprotected = None if control is None else as_share(control.success.value)
    return risk.low, risk.high, as_share(reference), unprotected


def _track(finding: Finding, y: float) -> str:
    low, high, reference, unprotected = _ends(finding)
    furthest = max(high, reference + finding.allowed, unprotected or 0.0)
    most = NEAR if furthest <= NEAR else 1.0

    def at(share: float) -> float:
        return LEFT + (RIGHT - LEFT) * min(share / most, 1.0)

    dim = finding.verdict == "INVALID"
    after, before, ink = (svg.GREY, svg.GREY, svg.GREY) if dim else (svg.AFTER, svg.BEFORE, svg.INK)
    protected = at(finding.risk.value)
    allowed = at(reference + finding.allowed) - at(reference)
    if not _measured(finding):
        return rect(LEFT, y - 3, RIGHT - LEFT, 6, svg.TRACK, round_=3)
    parts = [
        rect(LEFT, y - 3, RIGHT - LEFT, 6, svg.TRACK, round_=3),
        rect(at(reference), y - 6, allowed, 12, svg.TRACK if dim else svg.ALLOWED),
        line(at(reference), y - 9, at(reference), y + 9, ink, 2),
        line(at(low), y, at(high), y, after, 3),
        "" if unprotected is None else svg.diamond(at(unprotected), y, 5.5, before),
        circle(protected, y, 5.5, after),
    ]
    if most == NEAR:
        parts.append(text(RIGHT, y + 19, f"to {NEAR:g} only", "small", end=True))
    return "".join(parts)


def _numbers(finding: Finding, y: float) -> str:
    _, _, reference, unprotected = _ends(finding)
    near = max(finding.risk.value, reference, unprotected or 0.0) < NEAR
    dim = finding.verdict == "INVALID"
    shown = (unprotected, finding.risk.value, reference) if _measured(finding) else (None,) * 3
    styles = ("dim",) * 3 if dim else ("before", "after", "")
    return "".join(
        text(x, y, "-" if value is None else f"{value:.{4 if near else 3}f}", style, end=True)
        for x, value, style in zip(COLUMNS, shown, styles, strict=True)
    )


def _chip(verdict: Verdict, y: float) -> str:
    fill, path, colour = CHIPS[verdict]
    word = "no raw leak" if verdict == "nothing to resist" else verdict
    return (
        rect(CHIP, y, 86 if word == verdict else 96, 25, fill, round_=12.5)
        + f'<path transform="translate({CHIP + 15:.1f} {y + 12.5:.1f})" d="{path}" fill="none" '
        f'stroke="{colour}" stroke-width="2" stroke-linecap="round"/>'
        + text(CHIP + 25, y + 17, word, verdict.replace(" ", "-"))
    )


def _empty() -> str:
    words = "There are no findings, and so nothing was resisted."
    return svg.card(HEADER, 66) + text(svg.MARGIN + svg.INSET, HEADER + 38, words)


def _of_measures(report: AttackReport) -> list[str]:
    """Say which measures were asked for, and which attacks have none of them."""
    if report.measures is None:
        return []
    summary = f"Measures asked for: {', '.join(report.measures)}."
    if report.left_out:
        summary += f" Left out, because they have none of these: {', '.join(report.left_out)}."
    return wrapped(summary, 140)


def _foot(lines: Sequence[str], y: float) -> str:
    return "".join(
        text(svg.MARGIN, y + 12 + LINE * number, words, "small")
        for number, words in enumerate(lines)
    )


def _measured(finding: Finding) -> bool:
    """Whether there is a number at all: what failed must not look like a half."""
    return not finding.failure and finding.outcome.trials > 0

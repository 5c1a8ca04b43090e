"""Several masking techniques on one table: risk and utility side by side, and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from halfmask._errors import ParameterError
from halfmask._progress import Progress, silent
from halfmask.assess.attacks._inputs import as_table
from halfmask.assess.masking._assessment import arms, html_of
from halfmask.assess.masking._compare import compare_masked
from halfmask.data import open_table
from halfmask.masks import MaskedTable
from halfmask.plots import svg
from halfmask.plots.svg import diamond, line, rect, text, wrapped
from halfmask.release import TableBlock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from halfmask.assess.attacks import Finding
    from halfmask.assess.masking._assessment import MaskingAssessment
    from halfmask.masks import AnyTableMask, Mask


_TOP, _LINE, _NAME = 142.0, 34.0, 22
#: Where each track begins, and its length; a track is a share from 0 to 1.
_TRACKS = (("linked", 210.0), ("interval", 378.0), ("overlap", 546.0))
_LONG = 112.0
_HEADS = (
    (210.0, "people linked", "diamond: control"),
    (378.0, "interval disclosure", "diamond: control"),
    (546.0, "interval overlap", "of a regression"),
    (756.0, "IL1s", "0: best"),
    (852.0, "pMSE ratio", "logistic"),
)
_CONTROLS = {"linked": "linked_control", "interval": "interval_control"}


def technique_picture(rows: Sequence[Mapping[str, Any]]) -> str:
    """Draw risk and utility of techniques as SVG, a line for each.

    Notes
    -----
    **Guarantees.** No words can become markup; the same rows give the same bytes.
    """
    title = f"Risk and utility of {len(rows)} techniques"
    height = _TOP + 30 + _LINE * len(rows)
    parts = [
        text(svg.MARGIN, 34, "halfmask masking", "soft"),
        text(svg.MARGIN, 64, title, "title"),
        svg.card(84, height - 100),
    ]
    for x, head, below in _HEADS:
        end = x > 700
        parts += [text(x, 108, head, "name", end=end), text(x, 124, below, "small", end=end)]
    for place, row in enumerate(rows):
        parts += _technique(row, _TOP + _LINE * place)
    return svg.drawing("techniques", title, parts, height=height)


def _technique(row: Mapping[str, Any], y: float) -> list[str]:
    left = svg.MARGIN + svg.INSET
    parts = [
        line(left, y - 8, svg.WIDTH - left, y - 8, svg.RULE),
        text(left, y + 14, wrapped(row["technique"], _NAME)[0], "name"),
        text(756, y + 14, _number(row["il1s"], ".3f"), end=True),
        text(852, y + 14, _number(row["pmse_ratio_logistic"], ".3g"), end=True),
    ]
    for name, x in _TRACKS:
        share = row[name]
        if share is None:
            parts.append(text(x, y + 14, "not measured", "small"))
            continue
        colour = svg.AFTER if name == "overlap" else svg.BEFORE
        parts += [
            rect(x, y + 2, _LONG, 14, svg.TRACK, round_=3),
            rect(x, y + 2, _LONG * min(1.0, share), 14, colour, round_=3),
            text(x + _LONG + 6, y + 14, f"{share:.0%}", "small"),
        ]
        if name == "linked":
            ends = (x + _LONG * row["linked_low"], x + _LONG * row["linked_high"])
            parts.append(line(ends[0], y + 9, ends[1], y + 9, svg.INK, 1.5))
        if row.get(_CONTROLS.get(name, "")) is not None:
            parts.append(diamond(x + _LONG * row[_CONTROLS[name]], y + 9, 4, svg.INK))
    return parts


def _number(value: float | None, form: str) -> str:
    return "not measured" if value is None else format(value, form)


#: What a technique is called that changes nothing.
UNMASKED = "unmasked"
_NONE = "—"


@dataclass(frozen=True, slots=True, kw_only=True)
class TechniqueComparison:
    """The assessments of several techniques on one table.

    Parameters
    ----------
    assessments
        The assessment of each technique, by the name that it was given.
    """

    assessments: Mapping[str, MaskingAssessment]

    def __post_init__(self) -> None:
        if not self.assessments:
            raise ParameterError("There is no technique to compare.")

    def to_frame(self) -> pl.DataFrame:
        """Return one row for each technique; shares are in [0, 1].

        Columns: ``technique``; ``linked`` by the ``method`` that links most people (by key columns
        where they were given), with ``linked_low``, ``linked_high``, ``linked_control``,
        ``linked_guess``, ``linked_unmasked`` and ``linkage_verdict``; ``interval``,
        ``interval_control`` and ``interval_guess``, means of interval disclosure by rank over the
        columns where the attack is valid; ``unique``, rows unique on the key columns; ``il1s``;
        ``correlation``, the mean change; ``pmse_ratio_logistic``, ``pmse_ratio_cart``;
        ``overlap``. What wasn't measured is null.
        """
        rows = [_row(name, each) for name, each in self.assessments.items()]
        words = dict.fromkeys(("technique", "method", "linkage_verdict"), pl.String)
        schema: dict[str, Any] = {name: words.get(name, pl.Float64) for name in rows[0]}
        return pl.DataFrame(rows, schema=schema)

    def to_dict(self) -> dict[str, Any]:
        """Return each assessment under its technique's name, for JSON."""
        return {name: each.to_dict() for name, each in self.assessments.items()}

    def to_svg(self) -> str:
        """Draw risk and utility of each technique side by side."""
        return technique_picture(self.to_frame().to_dicts())

    def block(self) -> TableBlock:
        """Return the table of `to_frame` for a page."""
        heads = {
            "technique": "technique",
            "linked": "linked right",
            "linked_control": "control",
            "linked_guess": "guess",
            "linked_unmasked": "unmasked",
            "linkage_verdict": "verdict",
            "interval": "interval disclosure",
            "interval_control": "control",
            "unique": "unique rows",
            "il1s": "IL1s",
            "pmse_ratio_logistic": "pMSE ratio",
            "overlap": "interval overlap",
        }
        return TableBlock(
            title="Risk and utility by technique",
            columns=tuple(heads.values()),
            rows=[[_cell(name, row[name]) for name in heads] for row in self.to_frame().to_dicts()],
            caption="Linked right: people linked to their own masked row by the best method. "
            "Interval overlap: of a regression on masked and on original rows; 1 is best.",
        )

    def __repr__(self) -> str:
        return f"TechniqueComparison({', '.join(self.assessments)})"

    def _repr_html_(self) -> str:
        """Show the table of `block` in a notebook."""
        return html_of([self.block()])


def compare_techniques(  # noqa: PLR0913 # keyword-only, each with a default
    original: object,
    techniques: Mapping[str, Mapping[str, Mask] | Sequence[AnyTableMask]],
    *,
    key: bytes,
    columns: Sequence[str] | None = None,
    key_columns: Sequence[str] | None = None,
    target: str | None = None,
    categories: Sequence[str] = (),
    linked_people: int = 1_000,
    random_state: int = 0,
    progress: Progress = silent,
) -> TechniqueComparison:
    """Mask a table by several techniques, and measure risk and utility of each.

    Parameters
    ----------
    original
        The table, as a frame of any library.
    techniques
        By a name of your own: the mask of each column, or a list of masks of several columns and
        of rows. Each is applied to the original alone.
    key
        32 secret bytes.
    columns, key_columns, target, categories, linked_people, random_state
        As of `compare_masked`.
    progress
        Called with the name of each technique and the fraction that is done.

    Returns
    -------
    TechniqueComparison
        First the table without a mask, as ``"unmasked"``, then each technique.

    Raises
    ------
    ParameterError
        If there is no technique, or one is called ``"unmasked"``.
    HalfmaskError
        As `mask_table` and `compare_masked` do.

    See Also
    --------
    compare_masked : Measures one masked table, masked by any software.

    Examples
    --------
    >>> import numpy as np
    >>> import polars as pl
    >>> from halfmask.masks import RankSwapping, Rounding
    >>> rng = np.random.default_rng(0)
    >>> drawn = rng.integers([1000, 18], [9000, 90], (300, 2))
    >>> people = pl.DataFrame(drawn, schema=["pay", "age"])
    >>> found = compare_techniques(
    ...     people,
    ...     {
    ...         "rounded": {"pay": Rounding(base=100), "age": Rounding(base=5)},
    ...         "swapped": [RankSwapping(columns=("pay", "age"), max_rank_distance=0.1)],
    ...     },
    ...     key=bytes(32),
    ... )
    >>> frame = found.to_frame()
    >>> frame["technique"].to_list()
    ['unmasked', 'rounded', 'swapped']
    >>> bool(frame["linked"][0] > frame["linked"][1] > frame["linked"][2])
    True
    """
    if not techniques or UNMASKED in techniques:
        raise ParameterError(
            "The 'techniques' parameter of compare_techniques must have at least one technique, "
            f"and none called {UNMASKED!r}."
        )
    table = as_table(original)
    source = open_table(table)
    found = {}
    for place, (name, masks) in enumerate({UNMASKED: {}, **techniques}.items()):
        progress(name, place / (1 + len(techniques)))
        of_columns = masks if isinstance(masks, Mapping) else {}
        of_tables = () if isinstance(masks, Mapping) else masks
        masked = MaskedTable.of(source, of_columns, of_tables, key=key)
        found[name] = compare_masked(
            masked.unmasked.read(),
            masked.masked.read(),
            columns=columns,
            key_columns=key_columns,
            target=target,
            categories=categories,
            linked_people=linked_people,
            random_state=random_state,
        )
    progress("done", 1.0)
    return TechniqueComparison(assessments=found)


def _row(name: str, found: MaskingAssessment) -> dict[str, Any]:
    ratios = {fit.model: fit.ratio for fit in found.propensity}
    return {
        "technique": name,
        **_linkage(found),
        **_interval(found),
        "unique": None
        if found.uniqueness is None
        else found.uniqueness[1].worse.uniqueness.share.value,
        "il1s": found.il1s,
        "correlation": found.correlations.mean,
        "pmse_ratio_logistic": ratios["logistic"],
        "pmse_ratio_cart": ratios["cart"],
        "overlap": None if found.overlap is None else found.overlap.mean,
    }


def _linkage(found: MaskingAssessment) -> dict[str, Any]:
    """Return the linkage with most right links, of those that are valid where any is."""
    best = max(
        found.linkage.findings,
        key=lambda each: (
            each.outcome.measure.endswith("quasi-identifiers"),
            each.verdict != "INVALID",
            each.outcome.success.value,
        ),
    )
    risk, raw = arms(best), best.positive_control
    return {
        "method": best.outcome.attack.rsplit("-", 1)[-1],
        "linked": risk.value,
        "linked_low": risk.low,
        "linked_high": risk.high,
        "linked_control": risk.control,
        "linked_guess": risk.baseline,
        "linked_unmasked": None if raw is None else raw.success.value,
        "linkage_verdict": best.verdict,
    }


def _interval(found: MaskingAssessment) -> dict[str, float | None]:
    """Return means over the columns whose interval disclosure by rank is valid."""

    def by_rank(finding: Finding) -> bool:
        return "of the ranks" in finding.outcome.measure and finding.verdict != "INVALID"

    risks = [arms(each) for each in found.intervals if by_rank(each)]
    means = {
        "interval": [each.value for each in risks],
        "interval_control": [each.control or 0.0 for each in risks],
        "interval_guess": [each.baseline or 0.0 for each in risks],
    }
    return {name: sum(each) / len(each) if each else None for name, each in means.items()}


def _cell(name: str, value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or _NONE
    if name in {"overlap", "il1s"}:
        return f"{value:.3f}"
    return f"{value:.3g}" if name.startswith("pmse") else f"{value:.1%}"

"""Generalizations: the coarse answers that a minimized model needs of each feature."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from halfmask._errors import ColumnNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A cell of a table as JSON has it; dates are ISO 8601.
Plain = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Part:
    """One answer that a person may give for a feature, and the model's value.

    Parameters
    ----------
    label
        How a form may name it, such as ``"31 to 45"``.
    representative
        The value that stands for it; it may be a value that one fitted row alone has.
    share
        The share of the fitted rows that give this answer, in [0, 1].
    low, high
        For a range: it holds ``low <= value < high``; ``None`` on a side without an end.
    values
        For a group of categories: the categories.
    """

    label: str
    representative: Plain
    share: float
    low: Plain = None
    high: Plain = None
    values: tuple[Plain, ...] = ()

    def __repr__(self) -> str:
        return f"Part(of {self.share:.1%} of the rows)"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FeatureGeneralization:
    """How coarsely one feature may be asked for.

    Parameters
    ----------
    name
        The feature.
    asked
        ``"not needed"``; ``"ranges"`` or ``"groups"``, whose ``parts`` are the answers; or
        ``"unchanged"``.
    parts
        The answers, in order. For a feature that isn't needed one, with the value that the model
        gets for everybody; for one that stays unchanged none.
    ncp
        The information lost, in [0, 1]: the normalized certainty penalty over the fitted rows.
    bits_before, bits_after
        The entropy of the feature's values and of the answers, in bits a person.
    """

    name: str
    asked: Literal["not needed", "ranges", "groups", "unchanged"]
    parts: tuple[Part, ...]
    ncp: float
    bits_before: float
    bits_after: float

    def __repr__(self) -> str:
        many = f", {len(self.parts)} parts" if self.asked in ("ranges", "groups") else ""
        return f"FeatureGeneralization({self.name!r}, {self.asked}{many})"

    @property
    def text(self) -> str:
        """One line such as ``"age: below 31 / 31 to 44 / 45 or more"``."""
        if self.asked in ("not needed", "unchanged"):
            return f"{self.name}: {self.asked}"
        return f"{self.name}: {' / '.join(part.label for part in self.parts)}"

    def to_dict(self) -> dict[str, object]:
        """Return plain dictionaries, lists, texts and numbers."""
        fields: dict[str, object] = {
            "name": self.name,
            "asked": self.asked,
            "ncp": self.ncp,
            "bits_before": self.bits_before,
            "bits_after": self.bits_after,
        }
        if self.asked == "not needed":
            return fields | {"representative": self.parts[0].representative}
        if self.asked == "unchanged":
            return fields
        parts = []
        for part in self.parts:
            where: dict[str, object] = {"low": part.low, "high": part.high}
            if self.asked == "groups":
                where = {"values": list(part.values)}
            shown = {"label": part.label, "representative": part.representative}
            parts.append({**shown, "share": part.share, **where})
        return fields | {"parts": parts}


@dataclass(frozen=True, slots=True, repr=False)
class Generalizations:
    """The ranges or groups to ask for, for each feature of a model.

    Parameters
    ----------
    features
        The generalization of each feature, in order.

    Guarantees
    ----------
    It holds no row. For each feature it holds cut points, categories, and, for each answer, a
    representative value and the share of rows that give the answer. ``repr`` shows none of these.

    Edge cases
    ----------
    A cut point or representative is the value of a fitted row, possibly of a single person. If it
    is confidential, round it before you publish the answers.

    Examples
    --------
    >>> ages = FeatureGeneralization(
    ...     name="age",
    ...     asked="ranges",
    ...     parts=(
    ...         Part(label="below 31", representative=24, share=0.5, high=31),
    ...         Part(label="31 or more", representative=40, share=0.5, low=31),
    ...     ),
    ...     ncp=0.5,
    ...     bits_before=5.9,
    ...     bits_after=1.0,
    ... )
    >>> answers = Generalizations((ages,))
    >>> answers
    Generalizations(0 not needed, 1 coarser, 0 unchanged)
    >>> print(answers.text)
    age: below 31 / 31 or more
    """

    features: tuple[FeatureGeneralization, ...]

    def __repr__(self) -> str:
        not_needed, kept = len(self.not_needed), len(self.unchanged)
        coarser = len(self.features) - not_needed - kept
        return f"Generalizations({not_needed} not needed, {coarser} coarser, {kept} unchanged)"

    @property
    def not_needed(self) -> tuple[str, ...]:
        """The features that needn't be asked for."""
        return tuple(f.name for f in self.features if f.asked == "not needed")

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The features that the model needs unchanged."""
        return tuple(f.name for f in self.features if f.asked == "unchanged")

    @property
    def ncp(self) -> float:
        """The information lost, in [0, 1], mean over the features."""
        return sum(f.ncp for f in self.features) / len(self.features)

    @property
    def text(self) -> str:
        """One line a feature, for the author of the form."""
        return "\n".join(feature.text for feature in self.features)

    def to_dict(self) -> dict[str, object]:
        """Return plain dictionaries, lists, texts and numbers."""
        return {"features": [feature.to_dict() for feature in self.features]}

    def to_json(self) -> str:
        """Return `to_dict` as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def __getitem__(self, name: str) -> FeatureGeneralization:
        """Return the generalization of one feature."""
        for feature in self.features:
            if feature.name == name:
                return feature
        raise ColumnNotFoundError.of(
            [name], [feature.name for feature in self.features], where="the minimized features"
        )

    def __iter__(self) -> Iterator[FeatureGeneralization]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)

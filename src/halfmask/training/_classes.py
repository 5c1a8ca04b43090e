"""Classes: a partition of the rows as a model sees them, and what it is made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from halfmask.training._guides import comparable
from halfmask.training._points import ClassRows
from halfmask.training._recount import has_majority_label
from halfmask.training._representatives import REPRESENTATIVES
from halfmask.training._trials import Judge, Trial

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halfmask.anonymize import Anonymizer
    from halfmask.training._anonymizing import Anonymizing
    from halfmask.training._encoding import Encoding
    from halfmask.training._guidance import Guidance
    from halfmask.training._partitions import Led
    from halfmask.training._prepared import Prepared
    from halfmask.training._refining import Answers

__all__ = ["Classes", "Whole"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """What all partitions of the same rows are made of.

    Parameters
    ----------
    anonymizing
        The table, and how classes of it are made.
    estimator
        The model, not fitted.
    encoding
        How it sees rows, fitted.
    encoded, labels
        The rows as it sees them, (rows, columns), and their labels.
    guidance
        What may lead.
    seed
        What halves are drawn from.
    """

    anonymizing: Anonymizing = field(repr=False)
    estimator: Any
    encoding: Encoding
    encoded: NDArray[np.float64] = field(repr=False)
    labels: NDArray[Any] = field(repr=False)
    guidance: Guidance
    seed: int

    @classmethod
    def of(
        cls,
        ready: Prepared,
        anonymizing: Anonymizing,
        labels: NDArray[Any],
        *,
        estimator: Any,  # noqa: ANN401 # scikit-learn ships no types
        seed: int,
    ) -> Whole:
        """Take what is ready."""
        return cls(
            anonymizing=anonymizing,
            estimator=estimator,
            encoding=ready.encoding,
            encoded=ready.encoded,
            labels=labels,
            guidance=ready.guidance,
            seed=seed,
        )

    def of_part(self, places: NDArray[np.int64]) -> Whole:
        """Return some of the rows."""
        return replace(
            self,
            anonymizing=self.anonymizing.of_part(places),
            encoded=self.encoded[places],
            labels=self.labels[places],
            guidance=self.guidance.of(places),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Classes:
    """A partition of the rows, as the model would see them.

    Parameters
    ----------
    name
        What the partition is called.
    anonymizer
        Its fitted anonymizer.
    rows
        The rows that aren't suppressed and their classes.
    judge
        Judges points of them.
    led
        What led the classes.
    kept
        Which rows of all aren't suppressed.
    whole
        What all partitions of the rows are made of.
    """

    name: str
    anonymizer: Anonymizer
    rows: ClassRows
    judge: Judge
    led: Led
    kept: NDArray[np.bool_] = field(repr=False)
    whole: Whole = field(repr=False)

    @classmethod
    def of(cls, whole: Whole, led: Led) -> Classes:
        """Make classes, and take the rows that aren't suppressed."""
        anonymizer, encoding = whole.anonymizing.fitted(led), whole.encoding
        cells = anonymizer.cells_.astype(np.int64)
        kept = cells >= 0
        encoded, labels, cells = whole.encoded[kept], whole.labels[kept], cells[kept]
        depends, shares = encoding.depends_, bool(is_classifier(whole.estimator))
        parts, cut = tuple(encoding.parts_), anonymizer.plan_.partition.features_cut()
        if led.by_encoding:
            parts = tuple(np.arange(cut.shape[1])[:, None])
        else:
            parted = list(anonymizer.plan_.quasi_identifiers)
            cut = cut[:, [parted.index(name) for name in encoding.quasi_identifiers]]
        rows = ClassRows(
            encoded=encoded[:, depends],
            others=encoded[:, ~depends],
            classes=cells,
            guide=whole.guidance.said[kept],
            majority=has_majority_label(labels if shares else None, cells),
            shares=shares,
            parts=parts,
            cut=cut,
        )
        judge = Judge(
            estimator=whole.estimator,
            encoded=encoded,
            labels=labels,
            depends=depends,
            guarantees=anonymizer.guarantees,
            seed=whole.seed,
            as_they_are=whole.guidance.as_they_are,
        )
        return cls(
            name=led.name,
            anonymizer=anonymizer,
            rows=rows,
            judge=judge,
            led=led,
            kept=kept,
            whole=whole,
        )

    def of_part(
        self, places: NDArray[np.int64], said: NDArray[np.float64] | None = None
    ) -> Classes:
        """Return a partition of some of its rows, made in the same way.

        Parameters
        ----------
        places
            Where they are among those that aren't suppressed.
        said
            What a guide says of them instead, (places, outputs).
        """
        of_all = np.flatnonzero(self.kept)[places]
        whole, led = self.whole.of_part(of_all), self.led.of(of_all)
        if said is not None:
            if self.led.guide is self.whole.guidance.said:
                led = replace(led, guide=said)
            whole = replace(whole, guidance=replace(whole.guidance, said=said))
        return Classes.of(whole, led)

    @property
    def guide(self) -> NDArray[np.float64]:
        """What led the classes, (rows, outputs)."""
        return self.led.guide[self.kept]

    def trial(self, name: str, points: NDArray[np.float64], model: Any = None) -> Trial:  # noqa: ANN401
        """Judge points."""
        return self.judge.trial(name, points, self.rows.classes, model)

    def represented(self, name: str) -> Trial:
        """Judge a representative."""
        return self.trial(name, REPRESENTATIVES[name](self.rows))

    def trained(self, points: NDArray[np.float64]) -> Answers:
        """Return a model of points and its answers."""
        return self.answers(self.judge.trained(points, self.rows.classes))

    def answers(self, model: Any) -> Answers:  # noqa: ANN401 # the same
        """Return a model, its score on rows as they were, and what it says of them."""
        losses = self.judge.losses(model, np.arange(len(self.rows.classes)))
        said = comparable(model, self.judge.encoded)
        return model, self.judge.score(float(losses.mean())), said

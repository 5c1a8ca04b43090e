"""What the cells of a group share: the split, the encoding, the raw model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ml_models.datasets import DATASETS, split
from ml_models.encoding import Encoder
from ml_models.models import trained
from ml_models.selection import selected
from ml_models.task import Task

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from ml_models.datasets import Dataset, Split
    from ml_models.encoding import Matrix
    from ml_models.models import Model
    from ml_models.plan import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """One group's split, encoding and raw model."""

    group: Group
    dataset: Dataset
    split: Split
    encoder: Encoder
    train: Matrix
    test: Matrix
    raw: Model
    probabilities: NDArray[np.float64]
    cache: Path

    @classmethod
    def of(cls, group: Group, cache: Path, most_rows: int | None) -> Scene:
        """Read, split, encode and train the raw model."""
        dataset = DATASETS[group.data]()
        parts = split(dataset, group.seed, most_rows)
        if group.select:
            dataset, parts = selected(dataset, parts, group.seed)
        encoder = Encoder.fitted(parts.train, dataset.numeric, dataset.categorical)
        train = encoder.encode(parts.train)
        raw = trained(group.trains, train, parts.y_train, group.seed)
        return cls(
            group=group,
            dataset=dataset,
            split=parts,
            encoder=encoder,
            train=train,
            test=encoder.encode(parts.test),
            raw=raw,
            probabilities=raw.predict_proba(train),
            cache=cache,
        )

    def task(self, k: int) -> Task:
        """Return what a method is given."""
        return Task(
            split=self.split,
            encoder=self.encoder,
            encoded=self.train,
            model=self.raw,
            model_name=self.group.trains,
            probabilities=self.probabilities,
            quasi_identifiers=self.dataset.qi_sets[self.group.qi],
            k=k,
            seed=self.group.seed,
            ks=tuple(sorted({k for _, k in self.group.cells if k})),
            cache=self.cache,
        )

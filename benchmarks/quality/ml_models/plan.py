"""What is to be measured, the bars first: every seed of a stage before the next stage."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from ml_models.methods import EXTRAS, METHODS, OURS, OURS_AT_ONCE
from ml_models.store import Key

KS = (10, 50, 100, 200, 500, 1000)
BAR_KS = (50, 100, 200, 500, 1000)
RAW = "raw"
#: What the paper has no figure or table of gets fewer seeds.
FEWER_SEEDS = 3
FEWER = {
    *(("accuracy", "adult", qi, "rf") for qi in ("10", "12")),
    *(("accuracy", "adult", "12", model) for model in ("gb", "dt")),
    *(("accuracy", "loan", "18", model) for model in ("rf", "gb", "dt")),
    ("membership", "loan", "18", "nn-large"),
}
#: Sixteen shadow models, each guided and trained anew, take as long as three seeds of a figure.
ONE_SEED = {("shadows", "adult", "12", "rf"), ("shadows", "loan", "18", "rf")}
#: What stands beside ours everywhere, and in figures 2 to 4; in figure 5 everything does.
BESIDE = (OURS, OURS_AT_ONCE, "toolkit", "toolkit-qi", "mondrian")
CLASSIC = (*BESIDE, "hilbert", "r+ tree")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Cells that share the split, the encoding and the raw model.

    Parameters
    ----------
    kind
        `accuracy`, `membership`, `shadows` (membership with shadow models) or `attribute`.
    data, qi, model, seed
        What they share.
    select
        Whether attributes are selected before, as in figure 3.
    in_order
        Whether the split is in the file's order, as in table 2; else it is random.
    cells
        Method and k of each cell; k is 0 where there is none.
    """

    kind: str
    data: str
    qi: str
    model: str
    seed: int
    cells: tuple[tuple[str, int], ...]
    select: bool = False
    in_order: bool = False

    @property
    def name(self) -> str:
        """How it is called while it runs."""
        return f"{self.kind} {self.data} {self.qi} QI {self.model} seed {self.seed}"

    def without(self, methods: set[str]) -> Group:
        """Return the group without the cells of some methods."""
        return replace(self, cells=tuple(cell for cell in self.cells if cell[0] not in methods))

    def key(self, method: str, k: int) -> Key:
        """Return the key of one of its cells."""
        return Key(self.kind, self.data, self.qi, self.model, method, k, self.seed)


def groups(seeds: Iterable[int]) -> list[Group]:
    """List everything, in the order in which it is to be measured."""
    numbers = list(seeds)
    stages = [
        [("accuracy", "adult", "12", "nn"), ("accuracy", "adult", "10", "nn")],
        [("membership", "adult", "12", "rf"), ("attribute", "nursery", "8", "dt")],
        [("accuracy", "adult", "8", "nn"), ("accuracy", "loan", "18", "nn")],
        [("membership", "loan", "18", "rf"), ("membership", "adult", "12", "nn-large")],
        [("shadows", "adult", "12", "rf")],
        [("accuracy", "adult", qi, "rf") for qi in ("12", "10", "8")],
        [("accuracy", "adult", "8", "gb"), ("accuracy", "adult", "8", "dt")],
        [("accuracy", "nursery", "8", "dt"), ("shadows", "loan", "18", "rf")],
        [("accuracy", "adult", "12", model) for model in ("gb", "dt")],
        [("membership", "loan", "18", "nn-large")],
        [("accuracy", "loan", "18", model) for model in ("dt", "gb", "rf")],
    ]
    return [
        _group(*each, seed)
        for stage in stages
        for place, seed in enumerate(numbers)
        for each in stage
        if place < _most_seeds(each)
    ]


def _most_seeds(each: tuple[str, str, str, str]) -> float:
    if each in ONE_SEED:
        return 1
    return FEWER_SEEDS if each in FEWER else math.inf


def _group(kind: str, data: str, qi: str, model: str, seed: int) -> Group:
    cells: list[tuple[str, int]]
    if kind == "accuracy":
        cells = _accuracy_cells(data, qi, model)
    else:
        cells = [*ATTACKED[kind, data, model]]
    figure_3 = kind == "accuracy" and (data, qi) == ("adult", "8") and model != "nn"
    return Group(
        kind=kind,
        data=data,
        qi=qi,
        model=model,
        seed=seed,
        cells=tuple(cells),
        select=figure_3,
        in_order=kind == "attribute",
    )


def _accuracy_cells(data: str, qi: str, model: str) -> list[tuple[str, int]]:
    """List the raw model, every method of this place at every k, and what is only shown once."""
    methods = [*BESIDE]
    if model == "nn" or (data, qi) == ("adult", "8"):
        methods = [*CLASSIC]
    if model == "nn" and (data, qi) in (("adult", "12"), ("loan", "18")):
        methods = [name for name in METHODS if name not in EXTRAS]
    if (data, qi) in (("adult", "12"), ("nursery", "8")):
        methods.remove("toolkit-qi")  # all attributes are quasi-identifiers: it is `toolkit`
    cells = [(RAW, 0)] + [(method, k) for k in KS for method in methods]
    if (data, qi, model) == ("adult", "12", "nn"):
        cells += [(method, k) for k in (50, 100, 1000) for method in EXTRAS]
        cells.append(("dp epsilon=2.11", 0))
    if (data, qi, model) == ("adult", "12", "rf"):
        cells += [("dp epsilon=10", 0), ("dp epsilon=1", 0)]
    return cells


#: What is attacked, as in the paper's tables 1 and 2: a method and its k.
ATTACKED: dict[tuple[str, str, str], list[tuple[str, int]]] = {
    ("membership", "adult", "rf"): [
        (RAW, 0),
        (OURS, 50),
        (OURS, 100),
        ("dp epsilon=10", 0),
        ("dp epsilon=1", 0),
    ],
    ("membership", "adult", "nn-large"): [
        (RAW, 0),
        (OURS_AT_ONCE, 25),
        (OURS_AT_ONCE, 50),
        ("dp epsilon=2.11", 0),
    ],
    ("membership", "loan", "rf"): [
        (RAW, 0),
        (OURS, 100),
        ("dp epsilon=10", 0),
        ("dp epsilon=1", 0),
    ],
    ("membership", "loan", "nn-large"): [(RAW, 0), (OURS_AT_ONCE, 200), ("dp epsilon=3.1", 0)],
    ("shadows", "adult", "rf"): [(RAW, 0), (OURS_AT_ONCE, 50), (OURS, 50)],
    ("shadows", "loan", "rf"): [(RAW, 0), (OURS_AT_ONCE, 100)],
    ("attribute", "nursery", "dt"): [(RAW, 0), (OURS, 100)],
}

"""What is to be measured: the paper's figures and tables, and what goes on from them.

The bars come first; every seed of a stage is measured before the next stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ml_models.methods import EXTRAS, METHODS, OURS, OURS_AT_ONCE
from ml_models.store import Key

KS = (10, 50, 100, 200, 500, 1000)
BAR_KS = (50, 100, 200, 500, 1000)
RAW = "raw"
#: The toolkit's two ways: its tree on all columns, or on the quasi-identifiers alone.
TOOLKIT = ("toolkit", "toolkit-qi")
#: What stands beside ours everywhere, and in figures 2 to 4; in figure 5 everything does.
BESIDE = (OURS, *TOOLKIT, "mondrian")
#: What else is measured where the paper has other lines.
MORE = {
    ("adult", "12", "nn"): [(method, k) for k in (50, 100, 1000) for method in EXTRAS],
    **{
        ("adult", qi, model): [(OURS_AT_ONCE, k) for k in KS]
        for qi, model in (("10", "nn"), ("8", "nn"), ("8", "rf"), ("8", "gb"), ("8", "dt"))
    },
}
Stage: TypeAlias = tuple[tuple[str, str, str, str], ...]
#: The stages of the paper's figures 2 to 5 and tables 1 and 2, every seed.
PAPERS = (
    (("accuracy", "adult", "12", "nn"), ("accuracy", "adult", "10", "nn")),
    (("membership", "adult", "12", "rf"), ("membership", "loan", "18", "rf")),
    (("membership", "adult", "12", "nn-large"), ("membership", "loan", "18", "nn-large")),
    (("accuracy", "loan", "18", "nn"), ("accuracy", "adult", "8", "rf")),
    (("accuracy", "adult", "8", "nn"), ("accuracy", "adult", "8", "gb")),
    (("accuracy", "adult", "8", "dt"), ("attribute", "nursery", "8", "dt")),
)
#: What goes on from there: shadow models, and all other data and models.
BEYOND = (
    (("shadows", "adult", "12", "rf"), ("strangers", "adult", "12", "rf")),
    (("strangers", "adult", "12", "nn-large"), ("strangers", "loan", "18", "nn-large")),
    (("accuracy", "adult", "12", "rf"), ("accuracy", "adult", "10", "rf")),
    (("accuracy", "nursery", "8", "dt"), ("shadows", "loan", "18", "rf")),
    (("strangers", "loan", "18", "rf"),),
    (("accuracy", "adult", "12", "gb"), ("accuracy", "adult", "12", "dt")),
    tuple(("more", *scene) for scene in MORE),
    (("accuracy", "loan", "18", "dt"), ("accuracy", "loan", "18", "gb")),
    (("accuracy", "loan", "18", "rf"), ("membership", "loan", "18", "gb")),
)
#: Sixteen shadow models, each guided and trained anew, take as long as three seeds of a figure. A
#: stranger is one: rows as they are after protection are compared with what it says of them.
ONE_SEED = ("shadows", "strangers")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Cells that share the split, the encoding and the raw model.

    Parameters
    ----------
    kind
        `accuracy`, `membership`, `strangers` (membership by rows as they are after protection,
        too), `shadows` (the same with shadow models) or `attribute`.
    data, qi, model, seed
        What they share.
    select
        Whether attributes are selected before, as in figure 3.
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

    @property
    def name(self) -> str:
        """How it is called while it runs."""
        return f"{self.kind} {self.data} {self.qi} QI {self.model} seed {self.seed}"

    @property
    def trains(self) -> str:
        """The name of its model in `models.MODELS`: the large network is another for each data."""
        return f"{self.model} {self.data}" if self.model == "nn-large" else self.model

    def without(self, methods: set[str]) -> Group:
        """Return the group without the cells of some methods."""
        return replace(self, cells=tuple(cell for cell in self.cells if cell[0] not in methods))

    def key(self, method: str, k: int) -> Key:
        """Return the key of one of its cells."""
        return Key(self.kind, self.data, self.qi, self.model, method, k, self.seed)


def groups(seeds: Sequence[int], *, beyond: bool = True) -> list[Group]:
    """List everything, in the order in which it is to be measured; or what the paper has."""
    stages: list[Stage] = [*PAPERS, *(BEYOND if beyond else ())]
    return [
        _group(*each, seed)
        for stage in stages
        for place, seed in enumerate(seeds)
        for each in stage
        if place == 0 or each[0] not in ONE_SEED
    ]


def selects(place: tuple[str, str, str]) -> bool:
    """Return whether attributes are selected at a place, as in figure 3."""
    data, qi, model = place
    return (data, qi) == ("adult", "8") and model != "nn"


def _group(kind: str, data: str, qi: str, model: str, seed: int) -> Group:
    if kind == "accuracy":
        cells = _accuracy_cells(data, qi, model)
    elif kind == "more":
        cells = MORE[data, qi, model]
    else:
        cells = [*ATTACKED["membership" if kind == "strangers" else kind, data, model]]
    return Group(
        kind="accuracy" if kind == "more" else kind,
        data=data,
        qi=qi,
        model=model,
        seed=seed,
        cells=tuple(cells),
        select=selects((data, qi, model)),
    )


def _accuracy_cells(data: str, qi: str, model: str) -> list[tuple[str, int]]:
    """List the raw model, every method of this place at every k, and what is only shown once."""
    methods = [*BESIDE]
    measured = any(("accuracy", data, qi, model) in stage for stage in PAPERS)
    if not measured and model != "nn" and (data, qi) != ("adult", "8"):
        methods.append(OURS_AT_ONCE)
    if model == "nn" and (data, qi) in (("adult", "12"), ("loan", "18")):
        methods = [name for name in METHODS if name not in EXTRAS]
    if (data, qi) in (("adult", "12"), ("nursery", "8")):
        methods.remove("toolkit-qi")  # all attributes are quasi-identifiers: it is `toolkit`
    cells = [(RAW, 0)] + [(method, k) for k in KS for method in methods]
    if (data, qi, model) == ("adult", "12", "nn"):
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
    ("membership", "loan", "gb"): [(RAW, 0), (OURS, 100), (OURS, 1000)],
    ("membership", "loan", "nn-large"): [(RAW, 0), (OURS_AT_ONCE, 200), ("dp epsilon=3.1", 0)],
    ("shadows", "adult", "rf"): [(RAW, 0), (OURS_AT_ONCE, 50), (OURS, 50)],
    ("shadows", "loan", "rf"): [(RAW, 0), (OURS_AT_ONCE, 100)],
    ("attribute", "nursery", "dt"): [(RAW, 0), ("paper", 100), (OURS, 100)],
}

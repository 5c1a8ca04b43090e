"""SDV's Gaussian copula or CTGAN on the job that the command line names.

Runs inside the peer's venv. The job is a JSON file: `rows` (CSV), `synthesizer` ("copula" or
"ctgan"), `epochs`, `n`, `out` (CSV), `seed`, `categories` (columns of text), `minutes` after which
no further epoch begins. Prints one JSON line: the seconds of `fit` and of `sample`, the seconds of
the processor in `fit`, and the epochs that were done. SDV is under the Business Source License: it
is a rival here, and nothing of the project depends on it.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import ctgan.synthesizers.ctgan as training
import numpy as np
import pandas as pd
import torch
from sdv.metadata import Metadata
from sdv.single_table import CTGANSynthesizer, GaussianCopulaSynthesizer


class Epochs:
    """The epochs of a training, as its progress bar counts them, until a time is over."""

    done = 0
    until = float("inf")

    def __init__(self, planned: range, **_: object) -> None:
        self._planned = planned

    def __iter__(self) -> Iterator[int]:
        for epoch in self._planned:
            if time.perf_counter() > Epochs.until:
                return
            yield epoch
            Epochs.done += 1
            seconds = time.process_time()
            print(
                f"{Epochs.done} epochs, {seconds:.0f} s of a processor", file=sys.stderr, flush=True
            )

    def set_description(self, _: str) -> None:
        """Show nothing: the losses of both networks say nothing here."""


def main() -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    np.random.seed(job["seed"])  # noqa: NPY002 # the peer draws from the global generator
    torch.manual_seed(job["seed"])
    categories = set(job["categories"])
    # "None" is a category of the diabetes table; only an empty cell is missing.
    rows = pd.read_csv(
        job["rows"],
        dtype=dict.fromkeys(categories, str),
        keep_default_na=False,
        na_values=[""],
    )
    kinds = {name: "categorical" if name in categories else "numerical" for name in rows}
    columns = {name: {"sdtype": kind} for name, kind in kinds.items()}
    metadata = Metadata.load_from_dict({"tables": {"rows": {"columns": columns}}})
    if job["synthesizer"] == "ctgan":
        training.tqdm = Epochs
        Epochs.until = time.perf_counter() + 60 * job["minutes"]
        model = CTGANSynthesizer(metadata, epochs=job["epochs"], enable_gpu=False, verbose=True)
    else:
        model = GaussianCopulaSynthesizer(metadata)
    started, worked = time.perf_counter(), time.process_time()
    model.fit({"rows": rows})
    fitted, work = time.perf_counter(), time.process_time() - worked
    drawn = model.sample(job["n"])
    drawn = drawn["rows"] if isinstance(drawn, dict) else drawn
    drawn.to_csv(job["out"], index=False)
    sampled = time.perf_counter()
    seconds = {"fit": fitted - started, "sample": sampled - fitted}
    print(json.dumps({**seconds, "processor": work, "epochs": Epochs.done}))


if __name__ == "__main__":
    main()

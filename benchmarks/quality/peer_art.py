"""ART's attacks on the models and rows of a file that the command line names.

Runs inside the peer's venv. Writes the changed rows of each model and attack beside the file, and
prints one JSON line: the seconds of CPU that each took.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from art.attacks.evasion import DecisionTreeAttack, HopSkipJump, ZooAttack
from art.estimators.classification import SklearnClassifier
from hostile.models import TREE, model_of


def main() -> None:
    path = Path(sys.argv[1])
    given = np.load(path)
    names, counts = json.loads(sys.argv[2]), json.loads(sys.argv[3])
    changed, seconds = {"held": given["held"]}, {}
    for name in names:
        model = model_of(name).fit(given["rows"], given["labels"])
        changed[f"{name}/predicted"] = model.predict(given["held"])
        asked = SklearnClassifier(model, clip_values=(0, 1))
        linf = {"norm": np.inf, "verbose": False, "max_iter": 50, "init_eval": 100}
        attacks = {
            "HopSkipJump": lambda: HopSkipJump(asked, max_eval=1_000, **linf),  # noqa: B023 # at once
            "HopSkipJump, as it comes": lambda: HopSkipJump(asked, max_eval=10_000, **linf),  # noqa: B023 # at once
            "ZOO": lambda: ZooAttack(asked, verbose=False),  # noqa: B023 # at once
            "DecisionTreeAttack": lambda: DecisionTreeAttack(asked, verbose=False),  # noqa: B023 # at once
        }
        for attack, make in attacks.items():
            n = counts.get(attack, 0)
            if not n or (attack == "DecisionTreeAttack" and name != TREE):
                continue
            np.random.seed(0)  # noqa: NPY002 # it draws from there
            start = time.process_time()
            with contextlib.redirect_stdout(sys.stderr):
                found = make().generate(given["held"][:n].astype(np.float32))
            seconds[f"{name}/{attack}"] = time.process_time() - start
            changed[f"{name}/{attack}"] = found
    np.savez(path.with_name("changed.npz"), **changed)
    print(json.dumps(seconds))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

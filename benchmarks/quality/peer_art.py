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
from hostile.models import model_of

ATTACKS = {
    "HopSkipJump": HopSkipJump,
    "ZOO": ZooAttack,
    "DecisionTreeAttack": DecisionTreeAttack,
}
#: ZOO as in ART's own notebooks of scikit-learn: its defaults are for images and fail here.
SETTINGS = {
    "HopSkipJump": {"norm": np.inf, "max_iter": 50, "init_eval": 100},
    "ZOO": {
        "max_iter": 20,
        "learning_rate": 0.1,
        "binary_search_steps": 10,
        "initial_const": 1e-3,
        "use_resize": False,
        "use_importance": False,
        "nb_parallel": 1,
        "variable_h": 0.2,
    },
}


def main() -> None:
    path = Path(sys.argv[1])
    given, changed, seconds = np.load(path), {}, {}
    for name, counts in json.loads(sys.argv[2]).items():
        model = model_of(name).fit(given["rows"], given["labels"])
        changed[f"{name}/predicted"] = model.predict(given["held"])
        asked = SklearnClassifier(model, clip_values=(0, 1))
        for attack, n in counts.items():
            np.random.seed(0)  # noqa: NPY002 # it draws from there
            start = time.process_time()
            with contextlib.redirect_stdout(sys.stderr):
                made = ATTACKS[attack](asked, **SETTINGS.get(attack, {}), verbose=False)
                found = made.generate(given["held"][:n].astype(np.float32))
            seconds[f"{name}/{attack}"] = time.process_time() - start
            changed[f"{name}/{attack}"] = found
    np.savez(path.with_name("changed.npz"), **changed)
    print(json.dumps(seconds))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()

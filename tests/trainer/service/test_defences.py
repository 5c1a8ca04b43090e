"""A client who poisons, through the service: without defences it does harm, with them none."""

from __future__ import annotations

import hashlib
import json
import shutil
from typing import Any

import numpy as np
import pytest

from halfmask._errors import ParameterError, TrainerError
from halfmask.hashing import HashedRows
from halfmask.trainer.client import TrainerClient
from halfmask.trainer.defences import ClientCaps, Defences, Guard, NormClip
from halfmask.trainer.store import Limits, Store, bytes_of, replay_log
from trainer.service.stage import (  # type: ignore[import-not-found] # beside, no package
    ARROW,
    Trainer,
    refused,
)

BITS = 6
CLIP = {"weight": 1.0}
GUARD: dict[str, Any] = {"tolerance": 0.02, "drift": 0.03, "min_rows": 300}
DEFENCES = {"clip": CLIP, "guard": GUARD, "every": 500, "pause": 2_000}


def rows_of(n, seed, *, flipped=False, weight=None, labels=True):
    """Rows whose first feature says the label nine times out of ten."""
    rng = np.random.default_rng(seed)
    found = rng.integers(0, 2, n)
    codes = np.where(rng.random(n) < 0.9, found, 1 - found)
    return HashedRows(
        indices=np.column_stack([found, rng.integers(2, 60, (n, 2))]).astype(np.uint32),
        labels=(1 - codes if flipped else codes).astype(np.int32) if labels else None,
        weights=None if weight is None else np.full(n, weight, np.float32),
        bits=BITS,
    )


CANARIES = bytes_of(rows_of(400, 77))


def judged(trainer, name="m", sent=CANARIES, **more):
    path = f"/v1/models/{name}/canaries"
    return trainer.ask("POST", path, content=sent, headers={"Content-Type": ARROW}, **more)


def made(trainer, name="m", defences=DEFENCES):
    found = trainer.create(name, bits=BITS, defences=defences)
    if defences and defences.get("guard"):
        assert judged(trainer, name).status_code == 200
    return found


def play(trainer, name="m", *, poison=True):
    """Three honest clients and, at the end, one who sends flipped rows of great weight."""
    honest = [trainer.header("learn", client=f"c{each}") for each in range(3)]
    intruder = trainer.header("learn", client="x")
    for turn in range(24):
        sent = bytes_of(rows_of(100, turn))
        assert trainer.learn(sent, name=name, token=honest[turn % 3]).status_code == 200
        if poison and turn >= 16:
            bad = bytes_of(rows_of(100, 1_000 + turn, flipped=True, weight=50.0))
            assert trainer.learn(bad, name=name, token=intruder).status_code == 200
    trainer.digest(name)


def accuracy(trainer, name="m"):
    fresh = rows_of(2_000, 5_000)
    assert fresh.labels is not None
    bare = bytes_of(rows_of(2_000, 5_000, labels=False))
    content = np.array(trainer.predict(bare, name=name).json()["predictions"])
    return float(((content >= 0.5) == (fresh.labels == 1)).mean())


def metrics(trainer, name="m"):
    return trainer.ask("GET", f"/v1/models/{name}/metrics").json()


@pytest.mark.slow
def test_a_client_who_poisons_breaks_a_bare_model_and_no_defended_one(trainer):
    for name, defences in (("bare", None), ("clean", None), ("held", DEFENCES)):
        made(trainer, name, defences)
        play(trainer, name, poison=name != "clean")
    found = metrics(trainer, "held")["defences"]

    assert accuracy(trainer, "clean") > 0.85
    assert accuracy(trainer, "bare") < 0.3, "the attack has power"
    assert accuracy(trainer, "held") > 0.85
    assert metrics(trainer, "bare")["defences"] is None
    assert found["canaries"] == 400
    assert found["clipped"] > 0
    assert found["refused"] > 0
    assert found["rollbacks"] >= 1
    assert found["taken_back"] == sum(sum(each["clients"].values()) for each in found["latest"])
    assert {len(client) for each in found["latest"] for client in each["clients"]} == {16}
    shown = trainer.ask("GET", "/metrics").text
    assert 'halfmask_rows_defended{how="taken_back"}' in shown
    assert trainer.tenant not in shown


def test_a_cap_holds_for_each_token_and_not_for_trusted_ones(trainer):
    token, text = trainer.service.store.tokens.create(
        client="owner", tenant=trainer.tenant, scopes=frozenset({"learn"})
    )
    owner = {"Authorization": f"Bearer {text}"}
    caps = {"share": 0.5, "free": 150, "trusted": [token.id.hex()]}
    found = made(trainer, defences={"caps": caps})
    for seed in range(3):
        trainer.learn(bytes_of(rows_of(100, seed)))
    trainer.digest()
    assert metrics(trainer)["rows"] == 200, "the third batch counts for nothing"
    assert metrics(trainer)["defences"]["capped"] == 200
    for seed in range(3):
        trainer.learn(bytes_of(rows_of(100, 10 + seed)), token=owner)
    trainer.digest()
    assert metrics(trainer)["rows"] == 500
    assert found["defences"]["caps"]["trusted"] == [token.id.hex()]


def remembered(state):
    """Return the digest of all that a learner is, and what its defences remember."""
    return hashlib.sha256(state.learner.to_bytes()).hexdigest()


def state_of(folder):
    """Return what is remembered in a folder that nobody uses, and what its log alone gives."""
    store = Store(folder, limits=Limits(keep_log=True))
    store.open_models()
    (model,) = store.models()
    state, facts = model.state, model.facts
    store.close()
    replayed = replay_log(facts.settings, folder / "models" / facts.id)
    assert replayed.summary() == state.summary()
    return remembered(state), remembered(replayed)


@pytest.mark.slow
def test_all_that_defences_know_is_replayed_bit_by_bit(tmp_path):
    """In the middle of a stretch, from the log alone, and again from a snapshot; and set back."""
    with Trainer(tmp_path / "t") as trainer:
        made(trainer)
        play(trainer)
        trainer.ask("POST", "/v1/models/m/snapshots")
        seq = trainer.ask("GET", "/v1/models/m").json()["logged"]
        trainer.learn(bytes_of(rows_of(130, 1)))
        assert judged(trainer, sent=bytes_of(rows_of(350, 78))).status_code == 200
        trainer.learn(bytes_of(rows_of(130, 2)))
        trainer.ask("POST", "/v1/models/m/rollback", json={"snapshot": seq})
        trainer.learn(bytes_of(rows_of(140, 3)))
        trainer.digest()
        live = remembered(trainer.model().state)
        assert metrics(trainer)["defences"]["canaries"] == 350, "a rollback keeps newer canaries"
        # As a killed process leaves it: no snapshot is made at its end.
        shutil.copytree(tmp_path / "t", tmp_path / "killed")
    assert state_of(tmp_path / "killed") == (live, live)
    assert state_of(tmp_path / "t") == (live, live)


def test_a_guard_without_canaries_lets_nothing_in_also_after_a_restart(tmp_path):
    with Trainer(tmp_path / "t") as trainer:
        trainer.create(bits=BITS, defences=DEFENCES)
        refused(trainer.learn(bytes_of(rows_of(10, 1))), 409, "no-canaries")
        assert trainer.predict(bytes_of(rows_of(10, 1, labels=False))).status_code == 200
    with Trainer(tmp_path / "t") as again:
        refused(again.learn(bytes_of(rows_of(10, 1))), 409, "no-canaries")
        assert judged(again).json() == {"ok": True, "seq": 1, "rows": 400, "replayed": False}
        assert again.learn(bytes_of(rows_of(10, 1))).status_code == 200
    with Trainer(tmp_path / "t") as last:
        assert last.learn(bytes_of(rows_of(10, 1))).status_code == 200
        assert last.digest() == last.digest()


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"other": 1},
        {"clip": {"weight": 0}},
        {"clip": {"weight": "1"}},
        {"clip": {"norm": -1}},
        {"clip": {"norm": float("inf")}},
        {"caps": {}},
        {"caps": {"share": 0}},
        {"caps": {"share": 1.5}},
        {"caps": {"share": 0.5, "trusted": ["anna"]}},
        {"guard": {"tolerance": 0.1}},
        {"guard": {"tolerance": 0, "drift": 0.1}},
        {"guard": {"tolerance": 0.1, "drift": 2}},
        {"guard": {**GUARD, "margins": True}},
        {"guard": {**GUARD, "min_rows": 0}},
        {"clip": CLIP, "every": 0},
        {"clip": CLIP, "every": 10**7},
        {"clip": CLIP, "pause": -1},
        {"clip": CLIP, "pause": True},
        [],
        "all",
    ],
)
def test_defences_that_cant_be_are_refused(trainer, wrong):
    # httpx wouldn't write Infinity.
    text = json.dumps({"name": "m", "bits": BITS, "defences": wrong})
    sent = {"Content-Type": "application/json"}
    answer = trainer.ask("POST", "/v1/models", content=text, headers=sent)

    refused(answer, 422)
    assert trainer.ask("GET", "/v1/models").json()["models"] == []


BAD_CANARIES = {
    "nothing": (b"", 422),
    "no Arrow": (b"no Arrow", 422),
    "no labels": (bytes_of(rows_of(400, 1, labels=False)), 422),
    "too few": (bytes_of(rows_of(299, 1)), 422),
    "weights": (bytes_of(rows_of(400, 1, weight=1.0)), 422),
    "too long": (b"x" * ((1 << 20) + 1), 413),
}


@pytest.mark.parametrize("case", BAD_CANARIES)
def test_canaries_that_cant_be_are_refused_and_change_nothing(trainer, case):
    sent, status = BAD_CANARIES[case]
    made(trainer)
    trainer.digest()
    before = remembered(trainer.model().state)

    refused(judged(trainer, sent=sent), status)
    assert trainer.ask("GET", "/v1/models/m").json()["logged"] == 1
    assert remembered(trainer.model().state) == before


@pytest.mark.slow
def test_canaries_are_for_those_who_administer_a_model_with_a_guard(trainer):
    made(trainer, "plain", None)
    made(trainer, "clipped", {"clip": CLIP})
    made(trainer)

    refused(judged(trainer, "plain"), 409, "no-guard")
    refused(judged(trainer, "clipped"), 409, "no-guard")
    refused(judged(trainer, token=trainer.header("learn", "read", "predict")), 403, "forbidden")
    refused(judged(trainer, token=trainer.header(tenant="other")), 404, "not-found")


def test_canaries_arent_shown_and_count_for_no_quota(trainer):
    owner = trainer.header("admin", "learn", "read", rows_quota=10)
    trainer.create(bits=BITS, defences=DEFENCES, token=owner)
    assert judged(trainer, token=owner).status_code == 200
    assert trainer.learn(bytes_of(rows_of(10, 1)), token=owner).status_code == 200
    content = trainer.ask("GET", "/v1/models/m").json()

    assert content["defences"]["guard"]["min_rows"] == 300
    assert "defences" not in content["settings"]
    assert len(str(content)) < 1_500


def test_the_client_of_python_makes_and_judges_defended_models(trainer):
    url, token = str(trainer.client.base_url), trainer.everything["Authorization"][7:]
    defences = Defences(
        clip=NormClip(weight=2.0, norm=9.0),
        caps=ClientCaps(share=0.5, trusted=frozenset({"0" * 16})),
        guard=Guard(**GUARD),
        every=200,
    )
    with TrainerClient(url, token=token) as client:
        for loss in ("logistic", "hinge"):
            made = client.create(
                loss, loss=loss, bits=BITS, defences=defences, canaries=rows_of(400, 7)
            )
            stored = dict(made.info["defences"])
            assert stored["guard"].pop("margins") == (loss == "hinge")
            assert Defences.from_dict(stored) == defences
            client.push(loss, [rows_of(450, 1)])
            assert metrics(trainer, loss)["defences"]["canaries"] == 400
        client.judge_by("hinge", rows_of(500, 8))
        client.judge_by("hinge", rows_of(500, 8))
        trainer.digest("hinge")
        assert metrics(trainer, "hinge")["defences"]["canaries"] == 500
        with pytest.raises(ParameterError, match="Canaries are for a guard"):
            client.create("m", loss="logistic", bits=BITS, canaries=rows_of(400, 7))
        with pytest.raises(TrainerError) as few:
            client.create(
                "few", loss="logistic", bits=BITS, defences=defences, canaries=rows_of(4, 7)
            )
        assert few.value.status == 422
        with pytest.raises(TrainerError) as blind:
            client.push("few", [rows_of(4, 7)])
        assert blind.value.word == "no-canaries"

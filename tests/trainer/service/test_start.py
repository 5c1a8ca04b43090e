"""A missing dependency of the service is named, and unneeded ones aren't imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from halfmask._errors import MissingDependencyError, ParameterError, TrainerError
from halfmask.trainer.service import create_app, serve
from halfmask.trainer.store import Limits

EXTRA = ("fastapi", "orjson", "prometheus_client", "uvicorn")


@pytest.mark.parametrize("name", EXTRA)
def test_a_missing_extra_is_named(tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)

    for start in (create_app, serve):
        with pytest.raises(MissingDependencyError, match=r"halfmask\[serve\]"):
            start(tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.slow
def test_the_rooms_import_no_web_server():
    code = (
        "import sys, halfmask.trainer.service, halfmask.trainer.store, halfmask.cli\n"
        f"print(*{set(EXTRA)!r} & set(sys.modules), 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert done.stdout.split() == ["False"]


def test_a_folder_of_something_else_stays_as_it_is(tmp_path):
    (tmp_path / "CANARY").write_text("mine")

    with pytest.raises(TrainerError) as caught:
        create_app(tmp_path)

    assert "CANARY" not in str(caught.value)
    assert [each.name for each in tmp_path.iterdir()] == ["CANARY"]


def test_a_folder_in_a_folder_that_isnt_there_cant_be_made(tmp_path):
    with pytest.raises(TrainerError):
        create_app(tmp_path / "none" / "t")


@pytest.mark.parametrize(
    "wrong",
    [
        {"body_bytes": 0},
        {"body_bytes": 1 << 20, "backlog_bytes": 1 << 20},
        {"body_bytes": 1 << 29, "backlog_bytes": 1 << 31},
        {"snapshots_kept": 0},
        {"free_bytes": -1},
    ],
)
def test_limits_that_dont_fit_together_are_refused(wrong):
    with pytest.raises(ParameterError):
        Limits(**wrong)

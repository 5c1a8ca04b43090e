"""Renames in one step: onto nothing, or two names swapped; and where the kernel knows none."""

from __future__ import annotations

import pytest

from halfmask.data.io import atomic
from halfmask.data.io.atomic import exchange, rename_new


@pytest.fixture(params=[True, False], ids=["kernel", "fallback"])
def known(request, monkeypatch):
    """Whether the kernel knows the renames."""
    if not request.param:
        monkeypatch.setattr(atomic, "_rename", lambda *_: False)
    return request.param


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_free_name_is_taken(tmp_path, kind):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("new") if kind == "file" else source.mkdir()

    rename_new(source, target)

    assert [path.name for path in tmp_path.iterdir()] == ["target"]


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_name_that_is_taken_stays(tmp_path, kind):
    source, target = tmp_path / "source", tmp_path / "target"
    target.write_text("old")
    source.write_text("new") if kind == "file" else source.mkdir()

    with pytest.raises(FileExistsError):
        rename_new(source, target)

    assert target.read_text() == "old"
    assert source.exists()


def test_two_names_are_swapped_where_that_is_known(tmp_path, known):
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.write_text("a file")

    assert exchange(one, other) == known
    assert one.is_file() == known


def test_what_is_not_there_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        exchange(tmp_path / "one", tmp_path / "other")

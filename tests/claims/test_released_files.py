"""Files of a release have plain names and are plain files."""

from __future__ import annotations

import pytest

from halfmask.claims.manifest import check_name, entries_of, released_file


@pytest.mark.parametrize(
    "name",
    [
        "data/..",
        "data/.",
        "data/",
        "data",
        "data//x",
        "../data/x",
        "/data/x",
        "data/x/y",
        "data/../x",
        "data\\x",
        "data/x\\..\\y",
        "data/C:x",
        "data/x\0y",
        "data/\u2025",
        "data/..%c0%af",
        "data/.hidden",
        "data/con.parquet",
        "data/NUL",
        "data/x.",
        "data/" + "x" * 300,
        "file:///data/x",
        "data/x\n",
    ],
)
def test_names_that_lead_elsewhere_are_no_names(name):
    assert not check_name(name, "data")


def test_links_and_folders_are_no_released_files(folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_text("")
    (folder.path / "data" / "link").symlink_to(outside / "x")
    (folder.path / "linked").symlink_to(outside)
    (folder.path / "data" / "empty").mkdir()

    assert released_file(folder.path, "data/part-00000.parquet") is not None
    assert released_file(folder.path, "data/link") is None
    assert released_file(folder.path, "linked/x") is None
    assert released_file(folder.path, "data/empty") is None
    assert released_file(folder.path, "data/absent") is None
    assert entries_of(folder.path) >= {"data/link", "linked", "data/empty/"}
    assert "linked/x" not in entries_of(folder.path)

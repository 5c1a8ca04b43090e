"""The page of the benchmarks names each file, and says which of them are no scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
FILES = sorted(
    path.relative_to(FOLDER)
    for pattern in ("*.py", "*/*.py")
    for path in FOLDER.glob(pattern)
    if path.name != "__init__.py"
)


@pytest.mark.parametrize("file", FILES, ids=str)
def test_the_page_names_each_file_and_marks_parts(file):
    """Peers' scripts share a row."""
    text = (FOLDER / file).read_text(encoding="utf-8")
    part = '__name__ == "__main__"' not in text
    named = [f"`{file}`", f"`{file.name}`"]

    if file.name.startswith("peer_") and not part:
        named.append(f"`{file.parent}/peer_*.py`")
    mark = " (part)" if part else ""
    assert any(f"{name}{mark}" in PAGE for name in named)
    assert ("not run by itself." in text) == part

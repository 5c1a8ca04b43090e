"""Each job has a notebook that runs as it stands, shows pictures, and names no machine."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "notebooks"
JOBS = ("release", "train", "robustness", "encode", "hash", "events")
LINK = re.compile(r"\]\(([^)\s]+)\)")
MACHINE = re.compile(r"/home/|/root/|/Users/|/work/|/tmp/|[A-Z]:\\")


def notebook(job):
    return nbformat.read(FOLDER / f"{job}.ipynb", as_version=4)


def code(cells):
    return [cell for cell in cells if cell.cell_type == "code"]


def kinds(cell):
    """Return the kinds of what a cell shows: texts, tables, pictures.

    What is empty is a line of progress that was shown while the cell ran.
    """
    shown = [output.get("data", {"text": output.get("text", "")}) for output in cell.outputs]
    return sorted({kind for data in shown for kind, value in data.items() if value})


def test_each_job_has_a_notebook():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(JOBS)


@pytest.mark.parametrize("job", JOBS)
def test_a_notebook_is_small_and_shows_pictures(job):
    book = notebook(job)

    assert 10 <= len(book.cells) <= 15
    assert sum("image/png" in kinds(cell) for cell in code(book.cells)) >= 1
    assert (FOLDER / f"{job}.ipynb").stat().st_size < 150_000


@pytest.mark.parametrize("job", JOBS)
def test_what_is_stored_names_no_machine_and_no_error(job):
    for cell in code(notebook(job).cells):
        assert cell.execution_count is not None
        for output in cell.outputs:
            assert output.output_type != "error"
            assert output.get("name") != "stderr"
            assert MACHINE.search(str(output.get("text", output.get("data", "")))) is None


@pytest.mark.parametrize("job", JOBS)
def test_links_of_a_notebook_lead_somewhere(job):
    for cell in notebook(job).cells:
        for link in LINK.findall(cell.source) if cell.cell_type == "markdown" else ():
            assert (FOLDER / link).exists(), link


@pytest.mark.slow
@pytest.mark.parametrize("job", JOBS)
def test_a_notebook_runs_and_shows_what_is_stored(job, tmp_path):
    """The same kinds of outputs, cell by cell; numbers of models may differ in digits."""
    for data in ("adult", "events"):
        (tmp_path / data).symlink_to(ROOT / "examples" / data)
    (tmp_path / "notebooks").mkdir()
    book = notebook(job)
    stored = [kinds(cell) for cell in code(book.cells)]

    NotebookClient(
        book,
        kernel_name="python3",
        timeout=300,
        resources={"metadata": {"path": str(tmp_path / "notebooks")}},
    ).execute()

    assert [kinds(cell) for cell in code(book.cells)] == stored

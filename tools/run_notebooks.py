"""Run the notebooks of examples/notebooks/ and store what their cells show."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def main() -> None:
    """Run those that are named, or all; times and versions aren't stored."""
    named = [Path(name) for name in sys.argv[1:]]
    for path in named or sorted(FOLDER.glob("*.ipynb")):
        book = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # ships few types
        folder = {"metadata": {"path": str(path.parent)}}
        NotebookClient(book, kernel_name="python3", timeout=300, resources=folder).execute()
        for cell in book.cells:
            cell.metadata = {}
            if "outputs" in cell:  # without the lines of progress, which are empty now
                cell.outputs = [it for it in cell.outputs if any(it.get("data", {0: 1}).values())]
        book.metadata = METADATA
        nbformat.write(book, path)  # type: ignore[no-untyped-call] # the same
        print(path.name)


if __name__ == "__main__":
    main()

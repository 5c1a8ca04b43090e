"""A folder whose files workers write, and which gets its name when all of them are there."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halfmask._errors import ReleaseError
from halfmask.data import atomic_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class PartFolder:
    """Where workers write the files of a folder, before it has its name."""

    folder: Path
    ending: str

    def path(self, number: int) -> Path:
        """Return where a file is to be written; one that is there is replaced."""
        if not self.folder.is_dir():
            raise ReleaseError(
                "A worker can't write to the folder of the output.",
                hint="Give OUT in a folder that every worker sees under the same path.",
            )
        return self.folder / _name(number, self.ending)


@contextmanager
def folder_of_parts(
    out: str | Path, *, n_parts: int, ending: str, overwrite: bool
) -> Iterator[PartFolder]:
    """Give a folder to write files into, which gets its name when the block ends.

    Guarantees
    ----------
    The folder appears whole or not at all, and holds these files alone: what a worker that was
    lost had begun is removed.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     out = pathlib.Path(home) / "sent"
    ...     with folder_of_parts(out, n_parts=1, ending=".txt", overwrite=False) as parts:
    ...         _ = parts.path(0).write_text("rows")
    ...     [path.name for path in out.iterdir()]
    ['part-000000.txt']
    """
    marker = _name(0, ending)
    with atomic_folder(out, overwrite=overwrite, marker=marker) as folder:
        yield PartFolder(folder, ending)
        expected = {_name(number, ending) for number in range(n_parts)}
        for path in folder.iterdir():
            if path.name not in expected:
                path.unlink()
            expected.discard(path.name)
        if expected:
            raise ReleaseError(
                f"{len(expected)} of {n_parts} files that workers wrote aren't in the folder of "
                "the output.",
                hint="Give OUT in a folder that every worker sees under the same path.",
            )


def _name(number: int, ending: str) -> str:
    return f"part-{number:06d}{ending}"

"""Releases made by hand: a frame and claims in, a folder out, without what protect is made of."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from halfmask.release._manifest import (
    Claim,
    DataFile,
    Evidence,
    Manifest,
    ReleasedColumn,
    RowCounts,
    SupportFile,
    write_manifest,
)

WRITERS: dict[str, Callable[[pl.DataFrame, Path], None]] = {
    "parquet": lambda frame, path: frame.write_parquet(path),
    "csv": lambda frame, path: frame.write_csv(path),
    "arrow": lambda frame, path: frame.write_ipc(path),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
}

NO_EVIDENCE = Evidence(achieved=0, classes=0, rows=0, smallest_class=0)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@dataclasses.dataclass
class Folder:
    """A release folder that a test can break in every way."""

    path: Path
    manifest: Manifest

    @property
    def parts(self) -> list[Path]:
        return [self.path / each.name for each in self.manifest.files]

    def rewrite(self, **changes: Any) -> Folder:
        self.manifest = dataclasses.replace(self.manifest, **changes)
        write_manifest(self.manifest, self.path)
        return self


class Maker:
    """Builds release folders under a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.made = 0

    def __call__(
        self,
        frame: pl.DataFrame,
        claims: Sequence[Claim],
        *,
        roles: Mapping[str, str],
        kinds: Mapping[str, str] | None = None,
        trees: Mapping[str, Sequence[Sequence[str]]] | None = None,
        fmt: str = "parquet",
        n_parts: int = 1,
    ) -> Folder:
        self.made += 1
        path = self.root / f"release-{self.made}"
        (path / "data").mkdir(parents=True)
        files = []
        step = -(-frame.height // n_parts) or 1
        for number in range(n_parts):
            part = frame.slice(number * step, step)
            name = f"data/part-{number:05d}.{fmt}"
            WRITERS[fmt](part, path / name)
            files.append(self._file(path, name, fmt, part.height))
        manifest = Manifest(
            created="2026-11-21T09:00:00Z",
            software={"halfmask": "0.1.0"},
            policy_sha256="0" * 64,
            rows=RowCounts(n_in=frame.height, n_out=frame.height, n_suppressed=0),
            files=tuple(files),
            support=self._trees(path, trees or {}),
            columns=tuple(
                ReleasedColumn(
                    name=name,
                    role=roles[name],
                    kind=(kinds or {}).get(name, "categorical"),
                    recoding="ranges" if roles[name] == "quasi_identifier" else None,
                    dtype="str",
                )
                for name in frame.columns
            ),
            method={"name": "by hand"},
            claims=tuple(claims),
        )
        write_manifest(manifest, path)
        return Folder(path, manifest)

    @staticmethod
    def _file(path: Path, name: str, fmt: str, n_rows: int) -> DataFile:
        return DataFile(
            name=name,
            format=fmt,
            sha256=sha256(path / name),
            n_bytes=(path / name).stat().st_size,
            n_rows=n_rows,
        )

    @staticmethod
    def _trees(
        path: Path, trees: Mapping[str, Sequence[Sequence[str]]]
    ) -> tuple[SupportFile, ...]:
        found = []
        for number, (column, rows) in enumerate(trees.items()):
            (path / "support").mkdir(exist_ok=True)
            name = f"support/{number}.csv"
            with (path / name).open("w", newline="", encoding="utf-8") as file:
                csv.writer(file, delimiter=";").writerows(rows)
            found.append(SupportFile(name=name, column=column, sha256=sha256(path / name)))
        return tuple(found)


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    """A function that writes a release folder from a frame and claims."""
    return Maker(tmp_path)

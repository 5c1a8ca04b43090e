"""The project: a folder with a policy file, the table that is open, and the file's versions.

Nothing outside of the folder is read or written but the table that the terminal named.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import polars as pl
import tomlkit

from halfmask import microdata
from halfmask._errors import DataError, ParameterError, PolicyError
from halfmask.data import ReadOptions, atomic_file, is_database_url, open_table
from halfmask.description.reading_section import READING, reading_of, with_reading
from halfmask.microdata.policy_class import policy_class
from halfmask.workbench._history import History, digest_of
from halfmask.workbench._json_files import read_json, write_json

if TYPE_CHECKING:
    from halfmask.crosstabs import TablesPolicy
    from halfmask.data import Source
    from halfmask.microdata import Policy

_OUTSIDE: Final = "Changed outside of the workbench"
#: The seed of samples: the same table gives the same numbers each time a page is opened.
_SEED: Final = 20261129
#: Of a table that is shown whole: about 8 GB of numbers. A small file may unpack to any size.
_MOST_CELLS: Final = 1 << 30
#: What is kept of one table, such as the order of its rows by a column.
_MOST_KEPT: Final = 16

_Made = TypeVar("_Made")


@dataclass(frozen=True, slots=True)
class Waiting:
    """A file that couldn't be read, and how it was read: its owner may say it better."""

    path: Path
    reading: Mapping[str, Any]


class Project:
    """A folder, its policy file and the table that the policy is about."""

    def __init__(self, folder: Path, table: str | None = None, policy: Path | None = None) -> None:
        self.folder = folder.resolve()
        self.hidden = self.folder / ".halfmask"
        if self.hidden.is_symlink():
            raise ParameterError("'.halfmask' in the folder is a link, and leads elsewhere.")
        self.hidden.mkdir(exist_ok=True)
        self.hidden.chmod(0o700)
        self._state = self.hidden / "project.json"
        self._distrust()
        stored = read_json(self._state)
        known = Path(str(stored.get("policy") or "policy.toml")).name
        self.policy_file = self._policy_at(policy or self.folder / known)
        name = self.policy_file.name
        remembered = _part(stored, "tables").get(name)
        #: What is open: a path, or the address of a database, which is never kept on disk.
        self.table = table or remembered
        #: How the table is read while there is no policy, as `[input]` of a policy has it.
        self.reading: dict[str, Any] = {}
        if self.table is not None and self.table == remembered:
            self.reading = _part(_part(stored, "readings"), name)
        self.waiting: Waiting | None = None
        #: Rows are shown whose cell in a column has a text: a cell may not be in an address.
        self.search: tuple[int, str] | None = None
        self._kept: dict[tuple[object, object], Any] = {}
        self._remember()

    def _distrust(self) -> None:
        """Forget what came along with a folder from elsewhere: somebody may have sent it."""
        home, own = self.hidden / "home", str(self.hidden.stat().st_ino)
        if home.is_file() and home.read_text("utf-8") == own:
            return
        shutil.rmtree(self.hidden / "jobs", ignore_errors=True)
        self._state.unlink(missing_ok=True)
        # What is in it is for its owner alone, whichever way the folder goes.
        (self.hidden / ".gitignore").write_text("*\n", encoding="utf-8")
        home.write_text(own, encoding="utf-8")

    def _policy_at(self, given: Path) -> Path:
        where = given.resolve()
        if where.parent != self.folder:
            raise ParameterError("The policy must lie in the folder of the workbench.")
        return where

    def __repr__(self) -> str:
        return f"Project(has_table={self.has_table}, has_policy={self.has_policy})"

    # ------------------------------------------------------------------ table

    @property
    def has_table(self) -> bool:
        """Whether a table is open and still there."""
        file = self.table_file
        return self.table is not None and (file is None or file.exists())

    @property
    def table_file(self) -> Path | None:
        """The file of the table, unless it is in a database."""
        if self.table is None or is_database_url(self.table):
            return None
        return Path(self.table)

    def open(self, table: str, reading: Mapping[str, Any] | None = None) -> None:
        """Take another table; one that can't be read leaves the one that is open.

        A reading replaces how tables are read: in the policy, or until there is one. A table that
        was open before comes with its policy.
        """
        before = self.policy_file
        if reading is None and table != self.table:
            known = self.folder / str(self._policies().get(_path_of(table), before.name))
            self.policy_file = known if known.is_file() else before
        try:
            self._open(table, reading)
        except BaseException:
            self.policy_file = before
            raise

    def _open(self, table: str, reading: Mapping[str, Any] | None) -> None:
        options = self.options_with({} if reading is None and not self.has_policy else reading)
        source = open_table(table, options=options)
        if reading is not None and self.has_policy:
            self._write_reading(options)
        self.reading = {} if self.has_policy else dict(reading or {})
        self.table, self.search = table, None
        self._kept = {(self._table_state(), "source"): source}
        self._remember()

    def start_over(self, table: str, reading: Mapping[str, Any]) -> None:
        """Take another table, without the policy: its file stays, the next gets another name."""
        before = self.policy_file
        stem = "policy" if is_database_url(table) else Path(table).name.partition(".")[0]
        names = (f"{stem}{number or ''}.policy.toml" for number in range(1_000))
        taken = {name for path, name in self._policies().items() if path != _path_of(table)}
        free = (self.folder / name for name in names if name not in taken)
        self.policy_file = next(it for it in free if not os.path.lexists(it))
        try:
            self._open(table, reading)
        except BaseException:
            self.policy_file = before
            raise

    def options_with(self, reading: Mapping[str, Any] | None) -> ReadOptions:
        """Return the options of the policy, with another reading of the file itself."""
        options = self._policy_options()
        if reading is None:
            return options
        usual = ReadOptions()
        return replace(options, **{key: reading.get(key, getattr(usual, key)) for key in READING})

    def _write_reading(self, options: ReadOptions) -> None:
        """Write how the table is read into the policy, as a version."""
        reading = reading_of(options)
        if reading_of(self._policy_options()) == reading:
            return
        text = self.policy_text()
        document = tomlkit.parse(text)
        section = document.get("input")
        if section is None:
            text = with_reading(text, options)
        else:
            for key in READING:
                section.pop(key, None)
            section.update(reading)
            text = tomlkit.dumps(document)
        self.replace(text, "How the table is read")

    def inside(self, name: str) -> Path:
        """Return a file's path in the folder; names that lead elsewhere are refused."""
        where = self.folder / name
        if not name or "\0" in name or not where.resolve().is_relative_to(self.folder):
            raise ParameterError("The name must be that of a file in the folder of the workbench.")
        return where

    def read_options(self) -> ReadOptions:
        """Return how the table is read: as the policy says, or as it was said without one."""
        return self.options_with(None if self.has_policy else self.reading)

    def _policy_options(self) -> ReadOptions:
        """Return how the policy reads tables; a policy of tables of counts says nothing of it."""
        policy = self.any_policy() if self.has_policy else None
        options: ReadOptions = getattr(policy, "read_options", ReadOptions)()
        return options

    def source(self, options: ReadOptions | None = None) -> Source:
        """Return the opened table, read as the policy says, or by options that are given."""
        table = self.table
        if table is None or not self.has_table:
            raise DataError("No table is open.", hint="Choose one on the page Data.")
        if options is not None:
            return open_table(table, options=options)
        return self.kept("source", lambda: open_table(table, options=self.read_options()))

    def rows(self) -> pl.DataFrame:
        """Return all rows as the policy reads them; they are read once for each file."""
        return self.kept("rows", self._all_rows)

    def _all_rows(self) -> pl.DataFrame:
        source = self.source()
        if source.n_rows * len(source.columns) > _MOST_CELLS:
            raise DataError(
                f"The table has {source.n_rows:,} rows and {len(source.columns):,} columns, more "
                "than the workbench opens.",
                hint="Open a part of it here, and protect the whole of it in the terminal.",
            )
        return pl.concat(source.batches(), how="vertical")

    def sample(self, n: int) -> pl.DataFrame:
        """Return so many rows, drawn with a fixed seed, or all of a smaller table."""
        rows = self.rows()
        return rows if rows.height <= n else rows.sample(n, seed=_SEED)

    def kept(self, name: object, make: Callable[[], _Made]) -> _Made:
        """Return what is made of the table: once, until the file or how it is read changes."""
        key = (self._table_state(), name)
        held = self._kept  # another request may replace it
        if key in held:
            found: _Made = held[key]
            return found
        made = make()
        same = [it for it in self._kept.items() if it[0][0] == key[0]]
        # The table itself was made first.
        self._kept = dict([*same[:2], *same[2:][-_MOST_KEPT:], (key, made)])
        return made

    def _table_state(self) -> tuple[object, ...]:
        """Return what changes when the table does, or how it is read."""
        file, options = self.table_file, self.read_options()
        files = [] if file is None else sorted(file.iterdir()) if file.is_dir() else [file]
        stats = [each.stat() for each in files if each.exists()]
        seen = [(it.st_mtime_ns, it.st_size, it.st_ino) for it in stats]
        # Places are derived, and the options' own text leaves that out.
        return (self.table, repr((options, dict(options.derived))), *seen)

    # ------------------------------------------------------------------ policy

    @property
    def has_policy(self) -> bool:
        """Whether the policy file is there."""
        return self.policy_file.is_file()

    @property
    def stamp(self) -> str:
        """What changes when the policy does: a form of an older page is refused by it."""
        return digest_of(self.policy_file.read_bytes())[:16] if self.has_policy else "none"

    @property
    def history(self) -> History:
        """The versions of the policy file; one that others changed is one of them."""
        name = hashlib.sha256(self.policy_file.name.encode()).hexdigest()[:16]
        history = History(self.hidden / "history" / name)
        if self.has_policy:
            why = _OUTSIDE if history.versions else "Opened"
            history.add(self.policy_file.read_bytes(), why)
        return history

    def policy_text(self) -> str:
        """Return the policy file's text."""
        try:
            return self.policy_file.read_bytes().decode("utf-8-sig")
        except FileNotFoundError:
            raise PolicyError("There is no policy.", hint="Make one on the page Columns.") from None
        except UnicodeDecodeError:
            raise PolicyError("The policy file isn't in UTF-8.") from None

    def any_policy(self) -> Policy | TablesPolicy:
        """Return the policy: of people, or of tables of counts."""
        return self._read(self.policy_text())

    def policy(self) -> Policy:
        """Return the policy of people; it raises for one of tables of counts."""
        return microdata.Policy.from_toml(self.policy_text(), folder=self.folder)

    def _read(self, text: str) -> Policy | TablesPolicy:
        return policy_class(text).from_toml(text, folder=self.folder)

    def use(self, name: str, text: str | None = None, why: str = "Made") -> None:
        """Take another policy file of the folder, or write it; what isn't valid changes nothing."""
        where = self._policy_at(self.inside(name))
        if text is None and not where.is_file():
            raise PolicyError("The folder has no such policy.", hint="Choose another one.")
        self._read(where.read_bytes().decode("utf-8-sig", "replace") if text is None else text)
        self.policy_file, self.reading = where, {}
        if text is None:
            self._remember()
        else:
            self.replace(text, why)

    @contextmanager
    def editing(self, why: str) -> Iterator[tomlkit.TOMLDocument]:
        """Change the policy as a document; what isn't valid raises, and the file stays."""
        document = tomlkit.parse(self.policy_text())
        yield document
        self.replace(tomlkit.dumps(document), why)

    def replace(self, text: str, why: str) -> None:
        """Write another policy as a version; what isn't valid raises, and the file stays."""
        self._read(text)
        history = self.history  # knows what is there before it is replaced
        history.add(text.encode(), why)
        self._put(text.encode(), history)

    def undo(self) -> str | None:
        """Go back one version; return what is undone."""
        history = self.history
        undone = history.undoes
        if undone is not None:
            self._put(history.go(-1), history)
        return undone

    def redo(self) -> str | None:
        """Go forward to a version that was undone; return what is done again."""
        history = self.history
        done = history.redoes
        if done is not None:
            self._put(history.go(1), history)
        return done

    def _put(self, content: bytes, history: History) -> None:
        """Put a version into force: the file and the history that says so."""
        with atomic_file(self.policy_file, overwrite=True) as file:
            file.write(content)
        history.save()
        self._remember()

    def _remember(self) -> None:
        """Keep which table belongs to which policy file, for the next start."""
        if self.has_policy:
            self.history.save()
        stored, name = read_json(self._state), self.policy_file.name
        tables, policies = _part(stored, "tables"), self._policies()
        if self.table is not None and not is_database_url(self.table):  # it may hold a password
            tables[name] = _path_of(self.table)
            policies[tables[name]] = name
        readings = _part(stored, "readings") | {name: self.reading}
        state = {"policy": name, "tables": tables, "policies": policies, "readings": readings}
        write_json(self._state, state)

    def _policies(self) -> dict[str, Any]:
        """Return which policy file each table was last open with."""
        return _part(read_json(self._state), "policies")


def _path_of(table: str) -> str:
    return os.path.abspath(table)  # noqa: PTH100 # keeps links


def _part(stored: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a part of what was stored, or nothing if it is damaged."""
    part = stored.get(name)
    return dict(part) if isinstance(part, dict) else {}

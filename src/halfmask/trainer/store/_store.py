"""A trainer's folder: its lists, its models, and the lock that lets one service at a time in."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from halfmask._errors import HalfmaskError, TrainerError
from halfmask.data import atomic_file
from halfmask.trainer.store._database import Database
from halfmask.trainer.store._limits import Limits, RefusedError
from halfmask.trainer.store._log import sync_folder
from halfmask.trainer.store._model import Model, ModelFacts
from halfmask.trainer.store._queue import FULL, disk_failed, disk_full
from halfmask.trainer.store._record import EXAMPLES
from halfmask.trainer.store._snapshots import LOG, SNAPSHOTS
from halfmask.trainer.store._state import complete_settings, warm_up, warm_up_all
from halfmask.trainer.store._tokens import Tokens

DATABASE, MODELS, LOCK, KEY, FORMAT = "lists.sqlite", "models", "lock", "token.key", "format"
_FORMAT = b"halfmask trainer 1\n"


def open_lists(folder: str | Path, *, create: bool) -> tuple[Database, Tokens]:
    """Open a trainer's lists without its models; a service may be running.

    Parameters
    ----------
    folder
        The folder. The one that it lies in must be there.
    create
        Whether it is made where it isn't there.

    Raises
    ------
    TrainerError
        If it isn't there, or isn't a trainer's.
    """
    path = Path(folder)
    if create and not (path / FORMAT).exists():
        _make(path)
    try:
        made = (path / FORMAT).read_bytes()
    except OSError:
        made = b""
    if made != _FORMAT:
        raise TrainerError(
            "The folder isn't one of a trainer, or is one of another version.",
            hint="halfmask serve FOLDER makes one that isn't there.",
        )
    database = Database(path / DATABASE)
    return database, Tokens(database, path / KEY)


class Store:
    """Everything that a trainer keeps.

    Parameters
    ----------
    folder
        Where; it is made where it isn't there, for its owner alone.
    limits
        What bounds it.
    flushed
        Called with the requests and seconds of each flush of a log to the disk.

    Raises
    ------
    TrainerError
        If it isn't a trainer's folder, or another service is using it.

    Guarantees
    ----------
    A model that was made is there after a death of the process; one that was deleted isn't, and
    what it had on the disk is removed at the next start at the latest.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        limits: Limits | None = None,
        flushed: Callable[[int, float], None] = lambda _requests, _seconds: None,
    ) -> None:
        self.limits = Limits() if limits is None else limits
        self.folder = Path(folder)
        self._flushed = flushed
        self._lock = threading.Lock()
        self._models: dict[tuple[str, str], Model | None] = {}
        self.broken: set[tuple[str, str]] = set()
        self.ready, self._closing = False, threading.Event()
        self.database, self.tokens = open_lists(folder, create=True)
        try:
            self._folder_lock = _locked(self.folder / LOCK)
        except TrainerError:
            self.database.close()
            raise
        for (identity,) in self.database.rows("SELECT id FROM models WHERE deleted = 1"):
            self._unlist(identity)
        self.rows_sent = dict(
            self.database.rows("SELECT client, SUM(rows) FROM usage GROUP BY client")
        )

    def open_models(self) -> None:
        """Bring all models back from the disk. One that can't be is named in `broken`."""
        kept = {facts.id for facts in self._facts()}
        for path in (self.folder / MODELS).iterdir():
            if path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)
        for facts in self._facts():
            try:
                model = self._opened(facts)
            except (HalfmaskError, OSError):
                self.broken.add((facts.tenant, facts.name))
                continue
            for mark in model.unindexed:
                if mark.kind == EXAMPLES:
                    self.count(mark.client, mark.rows)
            with self._lock:
                self._models[facts.tenant, facts.name] = model
        self.ready = True

    def warm_up(self) -> None:
        """Compile what models of all kinds need, so that the first one needn't wait."""
        warm_up_all(self._closing)

    def stop_warming(self) -> None:
        """Compile no more than what is being compiled now."""
        self._closing.set()

    def create(self, tenant: str, name: str, settings: dict[str, Any]) -> Model:
        """Make a model.

        Parameters
        ----------
        tenant, name
            The tenant, and the name of the model.
        settings
            The settings of the model, as the API takes them.

        Raises
        ------
        RefusedError
            409 if the tenant has one of that name, or as many as it may.
        ParameterError
            If the settings are none of a learner's.
        """
        # Whole, so that they stay what they are when defaults of a later version are others.
        settings = complete_settings(settings)
        with self._lock:
            self._check_free(tenant, name)
            self._models[tenant, name] = None  # the name is taken while it is being made
        try:
            model = self._made(tenant, name, settings)
        except BaseException as error:
            with self._lock:
                del self._models[tenant, name]
            if isinstance(error, OSError):
                raise disk_full() if error.errno in FULL else disk_failed() from None
            raise
        with self._lock:
            self._models[tenant, name] = model
        return model

    def model(self, tenant: str, name: str) -> Model:
        """Return a model.

        Parameters
        ----------
        tenant, name
            The tenant, and the name of the model.

        Raises
        ------
        RefusedError
            404 if the tenant has no model of that name; 503 if it can't be opened.
        """
        with self._lock:
            found = self._models.get((tenant, name))
        if found is not None:
            return found
        if (tenant, name) in self.broken:
            raise RefusedError(
                "What is on the disk of this model was altered; it can't be used.",
                status=503,
                word="broken",
                hint="The operator of the service has to restore it from a backup, or delete it.",
            )
        if not self.ready:
            raise _starting()
        raise RefusedError("There is no such model.", status=404, word="not-found")

    def models(self, tenant: str | None = None) -> list[Model]:
        """Return the models of a tenant, or of all, by name.

        Parameters
        ----------
        tenant
            The tenant; ``None``: all of them.
        """
        with self._lock:
            found = [each for each in self._models.values() if each is not None]
        return sorted(
            (each for each in found if tenant in {None, each.facts.tenant}),
            key=lambda each: each.facts.name,
        )

    def delete(self, tenant: str, name: str) -> None:
        """Delete a model, with all that it has on the disk.

        Parameters
        ----------
        tenant, name
            The tenant, and the name of the model.
        """
        if not self.ready:
            raise _starting()
        with self._lock:
            model = self._models.get((tenant, name))
            # A name whose model is None is being made or deleted by another thread.
            taken = model is None and (tenant, name) in self._models
            known = model is not None or ((tenant, name) in self.broken and not taken)
            if known:
                self._models[tenant, name] = None
        if not known:
            raise RefusedError("There is no such model.", status=404, word="not-found")
        try:
            identity = self._marked_deleted(tenant, name)
        except BaseException:
            with self._lock:
                del self._models[tenant, name]
                if model is not None:
                    self._models[tenant, name] = model
            raise
        if model is not None:
            model.close()
        shutil.rmtree(self.folder / MODELS / identity, ignore_errors=True)
        # Not before it is closed: until then it lists what it learns.
        with suppress(RefusedError):  # the next start does it
            self._unlist(identity)
        with self._lock:
            self._models.pop((tenant, name), None)
            self.broken.discard((tenant, name))

    def count(self, client: bytes, rows: int, *, quota: int | None = None) -> None:
        """Count rows that a client has had logged, or hasn't after all.

        Parameters
        ----------
        client
            The client, as the log names it.
        rows
            The number of rows; negative if they weren't logged after all.
        quota
            The most rows that the client may send; ``None``: no limit.

        Raises
        ------
        RefusedError
            403 if it had more than its quota then; nothing is counted.
        """
        with self._lock:
            sent = self.rows_sent.get(client, 0) + rows
            if quota is not None and sent > quota:
                raise RefusedError(
                    "This token's quota of rows is used up, or this batch has more than is left.",
                    status=403,
                    word="quota",
                    hint="The operator of the service makes tokens with larger quotas.",
                )
            self.rows_sent[client] = sent

    def close(self) -> None:
        """Close all models, each with a snapshot, and let another service in."""
        for model in self.models():
            model.close()
        self.database.close()
        os.close(self._folder_lock)

    def _check_free(self, tenant: str, name: str) -> None:
        if not self.ready:
            raise _starting()
        if (tenant, name) in self._models or (tenant, name) in self.broken:
            raise RefusedError("There is a model of that name.", status=409, word="exists")
        if sum(owner == tenant for owner, _ in self._models) >= self.limits.models_per_tenant:
            raise RefusedError(
                f"A tenant has at most {self.limits.models_per_tenant} models.",
                status=409,
                word="too-many",
                hint="Delete one.",
            )

    def _made(self, tenant: str, name: str, settings: dict[str, Any]) -> Model:
        facts = ModelFacts(
            id=secrets.token_hex(16),
            tenant=tenant,
            name=name,
            settings=settings,
            created=time.time(),
        )
        folder = self.folder / MODELS / facts.id
        for path in (folder, folder / LOG, folder / SNAPSHOTS):
            path.mkdir(mode=0o700)
        sync_folder(folder)
        sync_folder(folder.parent)
        row = (facts.id, tenant, name, json.dumps(settings), facts.created)
        with self.database.writing() as run:
            run("INSERT INTO models (id, tenant, name, settings, created) VALUES (?,?,?,?,?)", row)
        return self._opened(facts)

    def _marked_deleted(self, tenant: str, name: str) -> str:
        facts = next(each for each in self._facts() if (each.tenant, each.name) == (tenant, name))
        with self.database.writing() as run:
            run("UPDATE models SET deleted = 1 WHERE id = ?", (facts.id,))
        return facts.id

    def _unlist(self, identity: str) -> None:
        """Forget a model that was deleted, except for how many rows each client sent."""
        with self.database.writing() as run:
            run(
                "INSERT INTO usage SELECT client, '', rows, bytes FROM usage WHERE model = ? "
                "ON CONFLICT DO UPDATE SET rows = rows + excluded.rows, "
                "bytes = bytes + excluded.bytes",
                (identity,),
            )
            run("DELETE FROM usage WHERE model = ?", (identity,))
            run("DELETE FROM keys WHERE model = ?", (identity,))
            run("DELETE FROM models WHERE id = ?", (identity,))

    def _opened(self, facts: ModelFacts) -> Model:
        warm_up(facts.settings)
        return Model(
            facts,
            self.folder / MODELS / facts.id,
            database=self.database,
            limits=self.limits,
            flushed=self._flushed,
        )

    def _facts(self) -> list[ModelFacts]:
        rows = self.database.rows(
            "SELECT id, tenant, name, settings, created FROM models WHERE deleted = 0"
        )
        return [
            ModelFacts(
                id=identity, tenant=tenant, name=name, settings=json.loads(text), created=created
            )
            for identity, tenant, name, text, created in rows
        ]


def _make(path: Path) -> None:
    try:
        path.mkdir(mode=0o700, exist_ok=True)
        if any(path.iterdir()):
            return
        (path / MODELS).mkdir(mode=0o700)
        with atomic_file(path / FORMAT) as file:
            file.write(_FORMAT)
    except OSError:
        raise TrainerError(
            "The trainer's folder can't be made.", hint="Check its parent folder."
        ) from None


def _locked(path: Path) -> int:
    """Return a lock that the process has until it ends, however it ends."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise TrainerError(
            "Another service is using this folder.", hint="Stop it first, or use another folder."
        ) from None
    return descriptor


def _starting() -> RefusedError:
    return RefusedError(
        "The trainer is bringing its models back from the disk.",
        status=503,
        word="starting",
        hint="GET /ready shows when it is ready.",
        retry_after=1.0,
    )

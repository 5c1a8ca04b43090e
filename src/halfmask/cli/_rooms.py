"""The rooms that commands work in, such as ``rooms.encode``: each is imported when it is used.

`--help` needs none of them, and polars or numba take half a second or more.
"""
# ruff: noqa: F401, PLC0414 # the imports are for mypy, which wants names twice that others take

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import halfmask.assess.attacks.encodings
    import halfmask.assess.hardening
    import halfmask.assess.masking
    import halfmask.assess.robustness
    import halfmask.claims.manifest
    import halfmask.data.io.atomic
    import halfmask.data.io.database_url
    import halfmask.data.io.object_folder
    import halfmask.databases.reversal
    import halfmask.description.proposal
    import halfmask.description.reading_section
    import halfmask.dp.ledger
    import halfmask.dp.queries
    import halfmask.events.description
    import halfmask.events.report
    import halfmask.events.streams
    import halfmask.microdata.attacked
    import halfmask.microdata.exploring
    import halfmask.microdata.opening
    import halfmask.microdata.policy_class
    import halfmask.trainer.client.content_key
    import halfmask.trainer.queries
    import halfmask.trainer.service
    import halfmask.trainer.store
    import halfmask.vault.private_files
    import halfmask.verifier.checks
    import halfmask.verifier.events
    import halfmask.verifier.tables.part
    import halfmask.verifier.verdict
    from halfmask import assess as assess
    from halfmask import book as book
    from halfmask import claims as claims
    from halfmask import crosstabs as crosstabs
    from halfmask import data as data
    from halfmask import databases as databases
    from halfmask import description as description
    from halfmask import dp as dp
    from halfmask import encode as encode
    from halfmask import engines as engines
    from halfmask import events as events
    from halfmask import hashing as hashing
    from halfmask import masks as masks
    from halfmask import microdata as microdata
    from halfmask import trainer as trainer
    from halfmask import vault as vault
    from halfmask import verifier as verifier
    from halfmask import workbench as workbench
else:

    class _Room:
        """A module, and the modules in it, that are imported when a name of them is asked for."""

        def __init__(self, module: str) -> None:
            self._module = module

        def __getattr__(self, name: str) -> object:
            found = getattr(importlib.import_module(self._module), name, None)
            if found is None or isinstance(found, ModuleType):
                return _room(f"{self._module}.{name}")
            return found

    def _room(module: str) -> _Room:
        # Who looks into a module asks for names that no room has, such as `__wrapped__`.
        if module.rpartition(".")[2].startswith("_") or find_spec(module) is None:
            raise AttributeError(module)
        return _Room(module)

    def __getattr__(name: str) -> _Room:
        return _room(f"halfmask.{name}")

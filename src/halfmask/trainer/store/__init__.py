"""What a trainer keeps, in one folder: lists in SQLite, examples in logs, weights in snapshots.

Start with `Store`. A `Model` takes batches (`submit`), gives a `Receipt` for each when it is on
the disk, and learns them in the order of its log; whatever happens to the process, a new `Store`
of the same folder has learned each of them once. `replay_log` computes from the log alone what the
weights have to be. Nothing here knows of HTTP but the status that a `RefusedError` names.
"""

from __future__ import annotations

from halfmask.trainer.store._curve import Curve
from halfmask.trainer.store._limits import Budget, Lease, Limits, RefusedError
from halfmask.trainer.store._log import ExampleLog
from halfmask.trainer.store._model import Model, ModelFacts
from halfmask.trainer.store._queue import Batch, Receipt
from halfmask.trainer.store._record import CANARIES, EXAMPLES, Entry, Record
from halfmask.trainer.store._snapshots import Snapshot, replay_log
from halfmask.trainer.store._store import Store, open_lists
from halfmask.trainer.store._stream import Unpacked, bytes_of, unpack
from halfmask.trainer.store._tokens import SCOPES, Scope, Token, Tokens, parts_of

__all__ = [
    "CANARIES",
    "EXAMPLES",
    "SCOPES",
    "Batch",
    "Budget",
    "Curve",
    "Entry",
    "ExampleLog",
    "Lease",
    "Limits",
    "Model",
    "ModelFacts",
    "Receipt",
    "Record",
    "RefusedError",
    "Scope",
    "Snapshot",
    "Store",
    "Token",
    "Tokens",
    "Unpacked",
    "bytes_of",
    "open_lists",
    "parts_of",
    "replay_log",
    "unpack",
]

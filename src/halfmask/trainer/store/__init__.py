"""What a trainer keeps, in one folder: lists in SQLite, examples in logs, weights in snapshots.

Start with `Store`. A `Model` takes batches (`submit`), gives a `Receipt` for each when it is on
the disk, and learns them in the order of its log; whatever happens to the process, a new `Store`
of the same folder has learned each of them once. `replay_log` computes from the log alone what the
weights have to be. Nothing here knows of HTTP but the status that a `RefusedError` names.
"""

from __future__ import annotations

from halfmask.trainer.store._curve import Curve as Curve
from halfmask.trainer.store._limits import Budget as Budget
from halfmask.trainer.store._limits import Lease as Lease
from halfmask.trainer.store._limits import Limits, RefusedError
from halfmask.trainer.store._log import ExampleLog as ExampleLog
from halfmask.trainer.store._model import Model, ModelFacts
from halfmask.trainer.store._queue import Batch as Batch
from halfmask.trainer.store._queue import Receipt
from halfmask.trainer.store._record import CANARIES as CANARIES
from halfmask.trainer.store._record import EXAMPLES as EXAMPLES
from halfmask.trainer.store._record import Entry as Entry
from halfmask.trainer.store._snapshots import Snapshot
from halfmask.trainer.store._snapshots import replay_log as replay_log
from halfmask.trainer.store._store import Store, open_lists
from halfmask.trainer.store._stream import Unpacked as Unpacked
from halfmask.trainer.store._stream import bytes_of
from halfmask.trainer.store._stream import unpack as unpack
from halfmask.trainer.store._tokens import SCOPES, Scope, Token, Tokens
from halfmask.trainer.store._tokens import parts_of as parts_of

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "SCOPES",
    "Limits",
    "Model",
    "ModelFacts",
    "Receipt",
    "RefusedError",
    "Scope",
    "Snapshot",
    "Store",
    "Token",
    "Tokens",
    "bytes_of",
    "open_lists",
]

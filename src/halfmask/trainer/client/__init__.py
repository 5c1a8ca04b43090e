"""A trainer service seen from home: hashed rows go there, predictions come back.

Start with `TrainerClient`. It sends `halfmask.hashing.HashedRows` and nothing else of a table; a
`Journal` remembers what was acknowledged, and `RetryPolicy` sets how long it waits for a service
that is busy or away. It needs httpx (the extra ``client``) and no compiler.
"""

from __future__ import annotations

from halfmask.trainer.client._client import TrainerClient
from halfmask.trainer.client._hashed_source import HashedSource
from halfmask.trainer.client._journal import Journal
from halfmask.trainer.client._model_admin import RemoteModel
from halfmask.trainer.client._sending import Pushed
from halfmask.trainer.client._transport import RetryPolicy

__all__ = ["HashedSource", "Journal", "Pushed", "RemoteModel", "RetryPolicy", "TrainerClient"]

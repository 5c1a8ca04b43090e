"""Reversible encodings of tables for a machine that must not know what it learns from.

Start with `Codec`: it is fitted at home, encodes rows to send, and decodes the results.
It is no encryption: its `claims` state for which learners predictions stay unchanged, its
`weaknesses` what an attacker with known rows learns. `CodecPlan` is what has to stay secret.
"""

from __future__ import annotations

from halfmask.encode._codec import Codec
from halfmask.encode._decoded_files import decode_file, decode_predictions_file
from halfmask.encode._encoded_folder import encode_folder
from halfmask.encode._files import EncodedFormat, FileCount, encode_file, fit_file
from halfmask.encode._plan import CodecPlan
from halfmask.encode._plan_bytes import PLAN_VERSION as PLAN_VERSION
from halfmask.encode._plan_bytes import plan_from_bytes as plan_from_bytes
from halfmask.encode._plan_bytes import plan_to_bytes as plan_to_bytes
from halfmask.encode._receipts import EncodingReceipt
from halfmask.encode._settings import Learner, LearnerClaim, Task, Weakness
from halfmask.encode.series import Event, SeriesCodec, SeriesState

# Public names are in `__all__`; the others are for other rooms.
__all__ = [
    "Codec",
    "CodecPlan",
    "EncodedFormat",
    "EncodingReceipt",
    "Event",
    "FileCount",
    "Learner",
    "LearnerClaim",
    "SeriesCodec",
    "SeriesState",
    "Task",
    "Weakness",
    "decode_file",
    "decode_predictions_file",
    "encode_file",
    "encode_folder",
    "fit_file",
]

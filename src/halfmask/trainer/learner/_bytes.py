"""A learner as bytes, and back: a head of JSON, numbers as they are, and a checksum of all.

::

    8 bytes    b"hmlearn1", whose last byte is the version
    4 bytes    the length of the head, little-endian
    head       JSON: settings, counts, progress, and whether there are scales
    model      float32, little-endian: (slots + 1, lanes, outputs)
    scales     float32, little-endian: (slots,), if there are any
    32 bytes   SHA-256 of all before
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DataError
from halfmask.trainer.learner._state import LearnerSettings, LearnerState, ProgressiveValidation

if TYPE_CHECKING:
    from numpy.typing import NDArray

_NAME, _VERSION = b"hmlearn", b"1"
_LENGTH = struct.Struct("<I")
_NUMBER = np.dtype("<f4")
_CHECKSUM = 32


def learner_to_bytes(settings: LearnerSettings, state: LearnerState) -> bytes:
    """Return a learner's settings and state as bytes; the same learner gives the same ones."""
    head = {
        "settings": dataclasses.asdict(settings),
        "counts": state.counts.tolist(),
        "progress": dataclasses.asdict(state.progress),
        "scales": state.scales is not None,
    }
    text = json.dumps(head, sort_keys=True, allow_nan=False).encode()
    parts: list[bytes | memoryview] = [_NAME + _VERSION, _LENGTH.pack(len(text)), text]
    parts += map(_raw, _arrays(state))
    checksum = hashlib.sha256()
    for part in parts:
        checksum.update(part)
    return b"".join([*parts, checksum.digest()])


def learner_from_bytes(data: bytes) -> tuple[LearnerSettings, LearnerState]:
    """Return the settings and the state that bytes hold."""
    view = memoryview(data)
    if bytes(view[: len(_NAME)]) != _NAME or len(view) < len(_NAME) + 1 + _LENGTH.size + _CHECKSUM:
        raise _unreadable()
    if bytes(view[len(_NAME) : len(_NAME) + 1]) != _VERSION:
        raise DataError(
            "The learner is of another version than this halfmask reads, or damaged.",
            hint="Use the version of halfmask that wrote it.",
        )
    body = view[:-_CHECKSUM]
    if hashlib.sha256(body).digest() != bytes(view[-_CHECKSUM:]):
        raise _unreadable()
    try:
        return _read(body[len(_NAME) + 1 :])
    except (KeyError, ValueError, TypeError, IndexError, struct.error, RecursionError):
        # ParameterError of settings that can't be is a ValueError, too.
        raise _unreadable() from None


def digest_of(state: LearnerState) -> str:
    """Return the SHA-256 of what decides all predictions and all further learning, as hex."""
    digest = hashlib.sha256(state.counts.astype("<f8").tobytes())
    for array in _arrays(state):
        digest.update(_raw(array))
    return digest.hexdigest()


def _arrays(state: LearnerState) -> list[NDArray[np.float32]]:
    return [state.model] if state.scales is None else [state.model, state.scales]


def _raw(array: NDArray[np.float32]) -> memoryview:
    return np.ascontiguousarray(array, dtype=_NUMBER).reshape(-1).data.cast("B")


def _read(body: memoryview) -> tuple[LearnerSettings, LearnerState]:
    (length,) = _LENGTH.unpack_from(body)
    head = json.loads(bytes(body[_LENGTH.size : _LENGTH.size + length]))
    settings = LearnerSettings(**head["settings"])
    shape = (settings.slots + 1, settings.lanes, settings.outputs)
    model, rest = _array(body[_LENGTH.size + length :], shape)
    scales = None
    if head["scales"]:
        scales, rest = _array(rest, (settings.slots,))
    counts = np.array(head["counts"], dtype=np.float64)
    progress: dict[str, Any] = head["progress"]
    state = LearnerState(
        model=model,
        scales=scales,
        counts=counts,
        progress=ProgressiveValidation(**progress),
        bound=float(max(model.max(), -model.min())),
    )
    sound = (
        len(rest) == 0
        and counts.shape == (2,)
        and np.isfinite(counts).all()
        and np.isfinite(state.bound)
        and (scales is None or (np.isfinite(scales).all() and scales.min() >= 0))
        and (settings.lanes == 1 or model[:, -1].min() >= 0)
        and (state.progress.right_sum is not None) == settings.answers
    )
    if not sound:
        raise _unreadable()
    return settings, state


def _array(data: memoryview, shape: tuple[int, ...]) -> tuple[NDArray[np.float32], memoryview]:
    size = int(np.prod(shape)) * _NUMBER.itemsize
    if len(data) < size:
        raise _unreadable()
    numbers = np.frombuffer(data[:size], dtype=_NUMBER).astype(np.float32)
    return numbers.reshape(shape), data[size:]


def _unreadable() -> DataError:
    return DataError(
        "The bytes hold no learner, or a damaged one.", hint="Give what to_bytes() gave."
    )

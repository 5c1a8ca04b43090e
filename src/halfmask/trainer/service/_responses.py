"""Responses of the service: JSON and errors, each of one shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import orjson
from fastapi.responses import Response

from halfmask._errors import (
    BudgetError,
    DataError,
    HalfmaskError,
    ParameterError,
    PolicyError,
    SchemaError,
)
from halfmask.trainer.store import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

JSON = "application/json"
ARROW_STREAM = "application/vnd.apache.arrow.stream"
_WORDS = {400: "bad-request", 404: "not-found", 405: "method", 413: "too-large", 422: "body"}


def json_of(content: dict[str, Any], *, status: int = 200) -> Response:
    """Return a successful response."""
    body = orjson.dumps({"ok": True, **content}, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status_code=status, media_type=JSON)


def error_of(
    what: str,
    *,
    status: int,
    word: str | None = None,
    hint: str | None = None,
    errors: Sequence[str] = (),
    headers: dict[str, str] | None = None,
) -> Response:
    """Return an error response. It holds no value of the request."""
    content = {
        "ok": False,
        "error": what,
        "errors": list(errors) or [what],
        "hint": hint,
        "code": word or _WORDS.get(status, "http"),
        "status": status,
    }
    return Response(orjson.dumps(content), status_code=status, media_type=JSON, headers=headers)


def refusal_of(error: HalfmaskError) -> Response:
    """Return the response of one of our errors."""
    if isinstance(error, RefusedError):
        headers = {}
        if error.retry_after is not None:
            headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
        if error.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return error_of(
            error.what, status=error.status, word=error.word, hint=error.hint, headers=headers
        )
    if isinstance(error, BudgetError):
        return error_of(error.what, status=403, word=error.code, hint=error.hint)
    if isinstance(error, DataError | ParameterError | PolicyError | SchemaError):
        return error_of(error.what, status=422, word=error.code, hint=error.hint)
    return error_of(error.what, status=503, word=error.code, hint=error.hint)


def arrow_of(found: NDArray[np.float32], learned: int) -> bytes:
    """Return predictions as a stream of one field `p`."""
    import pyarrow as pa  # noqa: PLC0415 # it takes 0.2 s

    column = pa.array(found.reshape(-1))
    if found.ndim > 1:
        item = pa.field("item", pa.float32(), nullable=False)
        column = pa.FixedSizeListArray.from_arrays(column, type=pa.list_(item, found.shape[1]))
    metadata = {"halfmask.format": "predictions/1", "halfmask.learned": str(learned)}
    schema = pa.schema([pa.field("p", column.type, nullable=False)], metadata=metadata)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays([column], schema=schema))
    return bytes(sink.getvalue())

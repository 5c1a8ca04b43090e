"""Schemas of requests and responses in JSON, as OpenAPI describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Finite = Annotated[float, Field(allow_inf_nan=False)]


class _Strict(BaseModel):
    """A request: no other fields, and no other types."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class ClipRequest(_Strict):
    """Bounds of each row; the fields are those of `NormClip`."""

    weight: Annotated[Finite, Field(gt=0, le=1e15)] = 1.0
    norm: Annotated[Finite, Field(gt=0, le=1e15)] | None = None


class CapsRequest(_Strict):
    """Bounds of each client, which is a token; the fields are those of `ClientCaps`."""

    share: Annotated[Finite, Field(gt=0, le=1)]
    free: Annotated[Finite, Field(ge=0, le=1e15)] = 1000.0
    trusted: Annotated[
        list[Annotated[str, Field(pattern=r"^[0-9a-f]{16}$")]], Field(max_length=1000)
    ] = []


class GuardRequest(_Strict):
    """The guard, which judges by canaries; the fields are those of `Guard`."""

    tolerance: Annotated[Finite, Field(gt=0, le=1)]
    drift: Annotated[Finite, Field(gt=0, le=1)]
    min_rows: Annotated[int, Field(ge=1, le=1_000_000)] = 500


class DefencesRequest(_Strict):
    """What defends a model; the fields are those of `Defences`."""

    clip: ClipRequest | None = None
    caps: CapsRequest | None = None
    guard: GuardRequest | None = None
    every: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    pause: Annotated[int, Field(ge=0, le=1_000_000_000)] = 100_000


class NewModel(_Strict):
    """A model to be made; the fields but the name are those of `OnlineLearner`."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
    loss: Literal["logistic", "hinge", "squared", "softmax", "quantile"] = "logistic"
    optimizer: Literal["sgd", "adagrad", "ftrl"] = "adagrad"
    bits: Annotated[int, Field(ge=1, le=31)] = 22
    rate: Annotated[Finite, Field(gt=0, le=1e6)] | None = None
    decay: Annotated[Finite, Field(ge=0, le=1)] = 0.5
    l1: Annotated[Finite, Field(ge=0, le=1e6)] = 0.0
    l2: Annotated[Finite, Field(ge=0, le=1e6)] = 0.0
    beta: Annotated[Finite, Field(gt=0, le=1e6)] = 1.0
    classes: Annotated[int, Field(ge=2, le=1 << 12)] = 2
    tau: Annotated[Finite, Field(gt=0, lt=1)] = 0.5
    normalized: bool = True
    invariant: bool = True
    intercept: bool = True
    random_state: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    defences: DefencesRequest | None = None


class RollbackRequest(_Strict):
    """The snapshot to go back to."""

    snapshot: Annotated[int, Field(ge=0, lt=1 << 63)]


class RowsOfJson(BaseModel):
    """Rows by hand. Labels and weights are for examples only."""

    model_config = ConfigDict(extra="forbid")

    rows: list[list[Annotated[int, Field(ge=0, lt=1 << 31)]]]
    values: list[list[float]] | None = None
    labels: list[float] | None = None
    weights: list[Annotated[float, Field(ge=0)]] | None = None


class Failed(BaseModel):
    """An error. It holds no value of the request."""

    ok: Literal[False]
    error: str
    errors: list[str]
    hint: str | None
    code: str
    status: int


class Done(BaseModel):
    """It was done."""

    ok: Literal[True]


class Acknowledged(Done):
    """The batch is on the disk, under its number in the model's log."""

    seq: int
    rows: int
    replayed: bool


class Predictions(Done):
    """One number a row, or one for each class; `learned` is the last batch that is in them."""

    predictions: list[float] | list[list[float]]
    learned: int


class ModelResponse(Done):
    """A model. `logged` batches are on the disk, and of them `learned` are in the weights."""

    name: str
    loss: str
    bits: int
    classes: int
    rows: int
    settings: dict[str, str | int | float | bool]
    defences: dict[str, Any] | None
    created: float
    logged: int
    learned: int
    stopped: bool
    disk_bytes: int
    digest: str | None = None


class Models(Done):
    """The models of the token's tenant."""

    models: list[ModelResponse]


class CurvePoint(BaseModel):
    """The means of the rows since the point before; `rows` are those learned until here."""

    rows: int
    loss: float | None
    accuracy: float | None


class Rollback(BaseModel):
    """A harmful stretch of `rows`: how many rows of which clients were taken back, and why."""

    why: str
    rows: int
    clients: dict[str, int]


class DefencesResponse(BaseModel):
    """How many rows the defences changed or left out; `latest` are the last rollbacks."""

    clipped: int
    capped: int
    refused: int
    taken_back: int
    rollbacks: int
    latest: list[Rollback]
    canaries: int


class Metrics(Done):
    """Progressive validation: each row is predicted before it is learned from."""

    rows: int
    loss: float | None
    accuracy: float | None
    curve: list[CurvePoint]
    logged: int
    learned: int
    skipped: int
    skipped_rows: int
    defences: DefencesResponse | None


class SnapshotResponse(Done):
    """A snapshot: what the model was after the batch of that number."""

    snapshot: int
    automatic: bool
    made: float
    bytes: int
    rows: int
    loss: float | None
    accuracy: float | None


class SnapshotList(Done):
    """The snapshots of a model, the oldest first."""

    snapshots: list[SnapshotResponse]

"""Bodies of the query service's requests."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class AskedQuestion(BaseModel):
    """A question in SQL, and what its answer may cost."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    sql: Annotated[str, Field(min_length=1, max_length=10_000)]
    epsilon: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
    delta: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    noise: Literal["laplace", "gaussian"] = "laplace"

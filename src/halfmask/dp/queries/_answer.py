"""Answer of a question: values with intervals, and what they cost."""

from __future__ import annotations

import base64
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from halfmask._errors import IntegrityError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from halfmask.dp.queries._plan import Noise, QueryPlan


@dataclass(frozen=True, slots=True)
class PrivateAnswer:
    """What was answered; it may be shown to whom the budget was set for.

    Parameters
    ----------
    frame
        A row for each group: its keys, and each aggregate with the ends of its 95 % interval.
    epsilon
        What was paid for it.
    delta
        What was paid for it.
    noise
        ``"laplace"`` or ``"gaussian"``.
    guarantee
        The guarantee of the whole ledger, in words.
    errors
        The error of each aggregate in words, as the plan states it.
    uncovered
        What no interval covers, in words: rows that are left out, and values that are clamped.
    charge
        The number of the charge in the ledger.
    from_book
        Whether it was asked before, so that nothing was charged.
    """

    frame: pl.DataFrame
    epsilon: float
    delta: float
    noise: Noise
    guarantee: str
    errors: tuple[str, ...]
    uncovered: tuple[str, ...]
    charge: int
    from_book: bool

    @property
    def value(self) -> int | float:
        """The value of a question with one aggregate and no groups."""
        values = self.frame.columns[:: 3 if self.frame.width == 3 else 1]
        if self.frame.height != 1 or len(values) != 1:
            raise ParameterError(
                f"The answer has {self.frame.height:,} rows of {self.frame.width} columns.",
                hint="Read its frame.",
            )
        return self.frame.item(0, 0)  # type: ignore[no-any-return] # a number

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as a dictionary of JSON."""
        return {
            "rows": json.loads(self.frame.write_json()),
            "epsilon": self.epsilon,
            "delta": self.delta,
            "noise": self.noise,
            "guarantee": self.guarantee,
            "errors": list(self.errors),
            "uncovered": list(self.uncovered),
            "charge": self.charge,
            "from_book": self.from_book,
        }

    @staticmethod
    def to_text(frame: pl.DataFrame, plan: QueryPlan) -> str:
        """Return what the ledger keeps of an answer.

        Parameters
        ----------
        frame
            The values.
        plan
            The plan by which they were made.
        """
        written = io.BytesIO()
        frame.write_ipc_stream(written)
        kept = {
            "frame": base64.b64encode(written.getvalue()).decode(),
            "epsilon": plan.epsilon,
            "delta": plan.delta,
        }
        return json.dumps(kept)

    @classmethod
    def from_text(
        cls,
        text: str,
        plan_of: Callable[..., QueryPlan],
        *,
        noise: Noise,
        guarantee: str,
        charge: int,
        from_book: bool,
    ) -> Self:
        """Return the answer that a ledger kept, with the names that are asked for now.

        Parameters
        ----------
        text
            What `to_text` wrote.
        plan_of
            Plans the question: `PrivateQuery.plan`.
        noise
            With which it was asked.
        guarantee
            The guarantee of the ledger, in words.
        charge
            The number of the charge.
        from_book
            Whether it was asked before.
        """
        try:
            kept = json.loads(text)
            frame = pl.read_ipc_stream(io.BytesIO(base64.b64decode(kept["frame"])))
            plan = plan_of(epsilon=kept["epsilon"], delta=kept["delta"], noise=noise)
            frame.columns = plan.question.labels
        except (ValueError, KeyError, TypeError, ParameterError, pl.exceptions.PolarsError):
            raise IntegrityError("An answer in the ledger is damaged.") from None
        return cls(
            frame=frame,
            epsilon=plan.epsilon,
            delta=plan.delta,
            noise=noise,
            guarantee=guarantee,
            errors=tuple(each.sentence() for each in plan.expected_errors()),
            uncovered=plan.uncovered(),
            charge=charge,
            from_book=from_book,
        )

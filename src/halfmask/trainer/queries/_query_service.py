"""What the routes of the query service share: the table, its ledger, tokens, threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from halfmask._errors import DataError
from halfmask.dp.queries import query_sql
from halfmask.trainer.service._access import Access, demand
from halfmask.trainer.service._meters import Meters
from halfmask.trainer.store import Budget, RefusedError, Token, open_lists

if TYPE_CHECKING:
    from collections.abc import Mapping

    from halfmask.dp.queries import PrivateAnswer, PrivateQuery, PrivateTable, QueryPlan
    from halfmask.trainer.service._options import ServiceOptions


class AskedQuestion(BaseModel):
    """A question in SQL, and what its answer may cost."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    sql: Annotated[str, Field(min_length=1, max_length=10_000)]
    epsilon: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)]
    delta: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    noise: Literal["laplace", "gaussian"] = "laplace"


Result = TypeVar("Result")


class QueryService:
    """One table with a budget, for analysts with tokens.

    Questions are answered one after the other by one thread, so that the time of one doesn't
    depend on how many there are more than on their number.
    """

    def __init__(
        self,
        folder: str | Path,
        table: PrivateTable,
        *,
        public: Mapping[str, object],
        step_seconds: float,
        options: ServiceOptions,
    ) -> None:
        self.options = options
        self.step_seconds = step_seconds
        self.meters = Meters()
        self.backlog = Budget(options.limits.backlog_bytes)
        self._table = table
        self._public = dict(public)
        self._database, tokens = open_lists(folder, create=True)
        self._token_pool = ThreadPoolExecutor(1, "tokens")
        self._answering = ThreadPoolExecutor(1, "answer")
        self.access = Access(tokens, self._token_pool)

    async def run(self, function: Callable[..., Result], *values: object) -> Result:
        """Run a function in the thread that answers."""
        return await asyncio.get_running_loop().run_in_executor(self._answering, function, *values)

    def close(self) -> None:
        """Finish the question that is being answered, then close the lists."""
        self._answering.shutdown(wait=True)
        self._token_pool.shutdown(wait=True)
        self._database.close()

    def describe(self, token: Token) -> dict[str, Any]:
        """Return what an analyst may know of the table: nothing of it depends on its rows."""
        self._admit(token)
        terms = self._table.ledger.terms
        allowed, spent = self._table.ledger.share_of(token.client)
        return {
            "dataset": terms.dataset,
            "columns": dict(terms.columns),
            "bounds": {name: list(ends) for name, ends in terms.bounds.items()},
            "keys": {name: list(listed) for name, listed in terms.keys.items()},
            "unit": terms.unit.to_dict(),
            "guarantee": terms.sentence(),
            "public_tables": sorted(self._public),
            "epsilon": allowed,
            "spent": spent,
        }

    def plan(self, token: Token, asked: AskedQuestion) -> QueryPlan:
        """Return cost and expected error; nothing is charged."""
        return self._question(token, asked).plan(
            epsilon=asked.epsilon, delta=asked.delta, noise=asked.noise
        )

    def answer(self, token: Token, asked: AskedQuestion) -> PrivateAnswer:
        """Charge the analyst's share and the whole budget, and answer."""
        question = self._question(token, asked)
        try:
            return question.answer(
                epsilon=asked.epsilon, delta=asked.delta, noise=asked.noise, analyst=token.client
            )
        except DataError:
            raise RefusedError(
                "The table can't be read as it was when the service began.",
                status=503,
                word="table",
                hint="The operator of the service has to restore it.",
            ) from None

    def _question(self, token: Token, asked: AskedQuestion) -> PrivateQuery:
        self._admit(token)
        # Who has no share may not read the book, either.
        self._table.ledger.share_of(token.client)
        return query_sql(self._table, asked.sql, public=self._public)

    def _admit(self, token: Token) -> None:
        demand(token, "read")
        if token.tenant != self._table.ledger.terms.dataset:
            raise RefusedError("There is no such data set.", status=404, word="not-found")

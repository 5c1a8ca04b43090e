"""A service for analysts: questions to a table under a budget, over HTTP.

Start with :func:`serve_queries`, or with :func:`create_query_app` under an ASGI server of your own.
It has the parts of :mod:`halfmask.trainer.service`: tokens, limits, errors of one shape. A token's
client is the analyst, who has a share of the budget in the table's ledger; its tenant is the data
set. The extras ``serve`` and ``dp`` install what it needs.
"""

from __future__ import annotations

from halfmask.trainer.queries._query_start import create_query_app, serve_queries

__all__ = ["create_query_app", "serve_queries"]

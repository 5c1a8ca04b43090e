"""The trainer as a service: models that learn online from hashed rows, over HTTP.

Start with `serve`, or with `create_app` under an ASGI server of your own. The middleware checks
tokens; the routes read bodies and hand them to `halfmask.trainer.store`, which acknowledges them
when they are on the disk. FastAPI, uvicorn, orjson and prometheus-client are the extra ``serve``;
nothing else of halfmask imports them.
"""

from __future__ import annotations

from halfmask.trainer.service._options import ServiceOptions
from halfmask.trainer.service._start import create_app, serve

__all__ = ["ServiceOptions", "create_app", "serve"]

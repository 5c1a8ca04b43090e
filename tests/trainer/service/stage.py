"""A trainer in this process, and rows for it."""

from __future__ import annotations

import dataclasses
import threading
import time

import httpx
import numpy as np

from halfmask.hashing import HashedRows
from halfmask.trainer.service import ServiceOptions
from halfmask.trainer.service._app import application
from halfmask.trainer.service._serving import server_of
from halfmask.trainer.store import Limits, bytes_of

BITS, WIDTH = 10, 5
ARROW = "application/vnd.apache.arrow.stream"
ALL = ("read", "predict", "learn", "admin", "metrics")
LIMITS = Limits(body_bytes=1 << 20, backlog_bytes=8 << 20, free_bytes=0, keep_log=True)
OPTIONS = ServiceOptions(limits=LIMITS)


def hashed(n=20, *, seed=0, labels=True, bits=BITS, width=WIDTH):
    """Rows whose label follows from their first index."""
    rng = np.random.default_rng(seed)
    indices = rng.integers(0, 1 << bits, (n, width)).astype(np.uint32)
    codes = (indices[:, 0] & 1).astype(np.int32) if labels else None
    return HashedRows(indices=indices, bits=bits, labels=codes)


def body(n=20, **more):
    return bytes_of(hashed(n, **more))


class Guest:
    """A client of a service that has every scope in a tenant of its own."""

    def __init__(self, trainer, tenant):
        self.tenant = tenant
        self.folder, self.service, self.client = trainer.folder, trainer.service, trainer.client
        self.everything = self.header()

    def model(self, name="m"):
        return self.service.store.model(self.tenant, name)

    def header(self, *scopes, tenant=None, client="anna", **more):
        """Make a token and return the header that holds it."""
        _, text = self.service.store.tokens.create(
            client=client, tenant=tenant or self.tenant, scopes=frozenset(scopes or ALL), **more
        )
        return {"Authorization": f"Bearer {text}"}

    def ask(self, method, path, *, token=None, **more):
        headers = {**(token or self.everything), **more.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **more)

    def create(self, name="m", *, token=None, **more):
        wish = {"name": name, "bits": BITS} | more
        answer = self.ask("POST", "/v1/models", json=wish, token=token)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def learn(self, content, *, name="m", key=None, token=None, kind=ARROW, **headers):
        sent = {"Content-Type": kind, **headers}
        if key is not None:
            sent["Idempotency-Key"] = key
        path = f"/v1/models/{name}/examples"
        return self.ask("POST", path, content=content, headers=sent, token=token)

    def predict(self, content, *, name="m", token=None, kind=ARROW, **headers):
        path, sent = f"/v1/models/{name}/predict", {"Content-Type": kind, **headers}
        return self.ask("POST", path, content=content, headers=sent, token=token)

    def digest(self, name="m"):
        """Return the digest of the weights after all that was logged."""

        def learned():
            content = self.ask("GET", f"/v1/models/{name}").json()
            return content["learned"] == content["logged"]

        self.until(learned)
        return self.ask("GET", f"/v1/models/{name}", params={"digest": True}).json()["digest"]

    @staticmethod
    def until(condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, "nothing happened"
            time.sleep(0.005)


class Trainer(Guest):
    """A service on a port of this machine, and a client of it that has every scope."""

    def __init__(self, folder, options=OPTIONS, *, tls=None, **client):
        self.folder = folder
        self.tenant = "acme"
        self.port = None
        app = application(folder, options)
        self.server = server_of(app, host="127.0.0.1", port=0, tls=tls, started=self._listens)
        self.service = app.state.service
        self._client = {"trust_env": False, "timeout": 120, **client}
        self._scheme = "https" if tls else "http"
        self._listening = threading.Event()
        self._thread = threading.Thread(target=self.server.run, daemon=True)
        self.everything = self.header()

    def _listens(self, port):
        self.port = port
        self._listening.set()

    def __enter__(self):
        self._thread.start()
        assert self._listening.wait(20), "the service didn't start"
        self.client = httpx.Client(
            base_url=f"{self._scheme}://127.0.0.1:{self.port}", **self._client
        )
        self.until(lambda: self.service.store.ready)
        return self

    def __exit__(self, *_):
        self.client.close()
        self.server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()


def with_limits(**more):
    return dataclasses.replace(OPTIONS, limits=dataclasses.replace(LIMITS, **more))


def refused(answer, status, code=None):
    """Check that an answer is an error of the one shape."""
    content = answer.json()
    assert answer.status_code == status, content
    assert set(content) == {"ok", "error", "errors", "hint", "code", "status"}
    assert content["ok"] is False
    assert content["status"] == status
    if code is not None:
        assert content["code"] == code
    return content

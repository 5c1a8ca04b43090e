"""Models of a service, and what is done to them: made, shown, judged, kept, set back, deleted."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote

from halfmask._errors import ParameterError, TrainerError
from halfmask.trainer.client._flow import arrow_body

if TYPE_CHECKING:
    from halfmask.hashing import HashedRows
    from halfmask.trainer.client._flow import Compression
    from halfmask.trainer.client._transport import Transport
    from halfmask.trainer.defences import Defences


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteModel:
    """A model of a service.

    Parameters
    ----------
    name
        By which it is asked for.
    loss
        What it minimizes, such as ``"logistic"``.
    bits
        Its rows have indices below ``2 ** bits``.
    classes
        How many classes its labels have.
    rows
        How many rows it has learned from.
    info
        All facts from the service, by name.
    """

    name: str
    loss: str
    bits: int
    classes: int
    rows: int
    info: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, info: object) -> Self:
        """Return the model that an answer of a service is about.

        Parameters
        ----------
        info
            The JSON object of the answer.

        Raises
        ------
        TrainerError
            If the answer is about none.
        """
        if isinstance(info, dict):
            found = {**info.get("settings", {}), **info} if _plain(info) else info
            name, loss = found.get("name"), found.get("loss")
            counts = [found.get("bits"), found.get("classes", 2), found.get("rows", 0)]
            if isinstance(name, str) and isinstance(loss, str) and all(map(_is_count, counts)):
                return cls(
                    name=name,
                    loss=loss,
                    bits=counts[0],
                    classes=counts[1],
                    rows=counts[2],
                    info=found,
                )
        raise TrainerError("The service's answer describes no model.")


def _plain(info: Mapping[str, Any]) -> bool:
    return isinstance(info.get("settings", {}), dict)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


#: A machine that never made such a model compiles its loops first.
_MAKING_SECONDS = 300.0


class ModelAdmin:
    """The models of a service, as `TrainerClient` manages them."""

    _transport: Transport
    _compression: Compression

    def create(
        self,
        name: str,
        *,
        loss: str,
        bits: int,
        defences: Defences | None = None,
        canaries: HashedRows | None = None,
        **settings: object,
    ) -> RemoteModel:
        """Make a model.

        Parameters
        ----------
        name
            By which it will be asked for.
        loss, bits, settings
            As of `halfmask.trainer.learner.OnlineLearner`: ``optimizer``, ``rate``, ``classes``
            and so on; what isn't given is as the service has it.
        defences
            What bounds rows and clients, and what takes back what harms. A client is a token there:
            `ClientCaps.trusted` are ids of tokens, as ``halfmask serve token list`` shows them.
            The `margins` of a `Guard` follow from the loss.
        canaries
            As of `judge_by`; a model with a guard learns nothing before it has some.

        Raises
        ------
        TrainerError
            If there is one of that name, or the service doesn't accept a setting.
        ParameterError
            If there are canaries and no guard.

        Notes
        -----
        **Edge cases.** The first model of a kind on a new machine waits for a compiler, for some
        seconds or many: an answer is waited for at least 300 s. If the canaries are refused, the
        model is there without them.
        """
        payload = {"name": name, "loss": loss, "bits": bits, **settings}
        if defences is not None:
            payload["defences"] = _as_payload(defences)
        if canaries is not None and (defences is None or defences.guard is None):
            raise ParameterError("Canaries are for a guard, and these defences have none.")
        made = RemoteModel.of(
            self._transport.json(
                "POST", "/v1/models", value=payload, harmless=False, seconds=_MAKING_SECONDS
            )
        )
        if canaries is not None:
            self.judge_by(name, canaries)
        return made

    def judge_by(self, name: str, canaries: HashedRows) -> None:
        """Let a model's guard judge by other canaries from now on.

        Parameters
        ----------
        name
            The model's, which was made with a guard.
        canaries
            Rows with labels and without weights, hashed as all others, that no client sends or
            knows; at least as many as the guard needs, and of one body's length.

        Raises
        ------
        TrainerError
            If the model has no guard, or the canaries can't be its own.

        Notes
        -----
        **Guarantees.** When it returns, they are on the service's disk, and whatever is pushed from
        then on is judged by them. They stay there, over restarts and rollbacks, until others come.
        """
        body = arrow_body(canaries, self._compression)
        self._transport.request("POST", path_of(name, "canaries"), body=body)

    def models(self) -> tuple[RemoteModel, ...]:
        """Return the models that the token may see."""
        payload = self._transport.json("GET", "/v1/models")
        listed = payload.get("models", ()) if isinstance(payload, dict) else ()
        return tuple(RemoteModel.of(each) for each in listed)

    def model(self, name: str) -> RemoteModel:
        """Return the facts about a model.

        Parameters
        ----------
        name
            The name of the model.
        """
        return RemoteModel.of(self._transport.json("GET", path_of(name)))

    def delete(self, name: str) -> None:
        """Delete a model, with all that it learned.

        Parameters
        ----------
        name
            The name of the model.
        """
        self._transport.json("DELETE", path_of(name))

    def metrics(self, name: str, *, wait_seconds: float = 0.0) -> dict[str, Any]:
        """Return how a model does, on rows before it learned from them.

        Parameters
        ----------
        name
            The name of the model.
        wait_seconds
            How long to wait at most until it has learned what was acknowledged before the call.
        """
        end, pause, logged = time.monotonic() + wait_seconds, 0.05, None
        while True:
            found: dict[str, Any] = self._transport.json("GET", path_of(name, "metrics"))
            logged = found.get("logged", 0) if logged is None else logged
            left = end - time.monotonic()
            if found.get("learned", 0) >= logged or left <= 0:
                return found
            time.sleep(min(pause, left))
            pause = min(2.0 * pause, 1.0)

    def snapshot(self, name: str) -> dict[str, Any]:
        """Keep a model as it is now, to go back to.

        Parameters
        ----------
        name
            The name of the model.
        """
        found: dict[str, Any] = self._transport.json(
            "POST", path_of(name, "snapshots"), value={}, harmless=False
        )
        return found

    def snapshots(self, name: str) -> tuple[dict[str, Any], ...]:
        """Return the snapshots that a model may go back to.

        Parameters
        ----------
        name
            The name of the model.
        """
        payload = self._transport.json("GET", path_of(name, "snapshots"))
        return tuple(payload.get("snapshots", ()) if isinstance(payload, dict) else ())

    def rollback(self, name: str, snapshot: object) -> dict[str, Any]:
        """Make a model what it was at a snapshot. What it learned since is forgotten.

        Parameters
        ----------
        name
            The name of the model.
        snapshot
            The number of the snapshot.
        """
        found: dict[str, Any] = self._transport.json(
            "POST", path_of(name, "rollback"), value={"snapshot": snapshot}
        )
        return found


def path_of(name: str, *behind: str) -> str:
    """Return the path of a model, or of what is behind it."""
    return "/".join(("/v1/models", quote(name, safe=""), *behind))


def _as_payload(defences: Defences) -> dict[str, Any]:
    """Return defences as the service takes them."""
    payload = defences.to_dict()
    if payload["guard"] is not None:
        del payload["guard"]["margins"]
    return payload

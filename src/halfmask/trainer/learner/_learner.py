"""The online learner: it predicts hashed rows, and learns from each in passing."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._errors import DivergenceError, ParameterError
from halfmask._validation import integer_at_least, number_between
from halfmask.trainer.learner._bytes import digest_of, learner_from_bytes, learner_to_bytes
from halfmask.trainer.learner._learning import (
    Examples,
    average_states,
    bound_after,
    check_rows,
    frozen,
    learn_all,
    learn_threaded,
)
from halfmask.trainer.learner._state import LearnerSettings, LearnerState, Undo, rate_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.hashing import HashedRows
    from halfmask.trainer.learner._state import Loss, Optimizer, ProgressiveValidation


class OnlineLearner:
    """A linear model of hashed features that learns from each row once, in order.

    Parameters
    ----------
    loss
        ``"logistic"`` and ``"hinge"`` for labels 0 and 1, ``"softmax"`` for ``classes`` of them,
        ``"squared"`` for means of numbers, ``"quantile"`` for their quantile ``tau``.
    bits
        1 to 31: there are ``2 ** bits`` weights of 32 bits for each class, and a bias.
    optimizer
        ``"adagrad"`` stores one more number for each weight, ``"ftrl"`` two, ``"sgd"`` none.
    rate
        The learning rate, above 0; by default 0.5, for ``"ftrl"`` 0.1.
    decay
        0 to 1, for ``"sgd"`` only: the rate after t rows is ``rate / (1 + t) ** decay``.
    l1, l2, beta
        For ``"ftrl"`` only, as in its paper: with L1 most weights stay zero.
    classes
        At least 2; more than 2 for ``"softmax"`` only.
    tau
        The quantile, between 0 and 1.
    normalized
        Whether updates don't depend on the units of values, and hardly on the number of values.
    invariant
        Whether a row of weight h counts like h rows of weight 1, without overshooting its label.
        Not for ``"ftrl"`` and ``"softmax"``, where a weight multiplies the gradient.
    intercept
        Whether there is a bias.
    threads
        1 for one writer. With more, threads learn side by side and may lose each other's updates.
    random_state
        The seed of the row order in later passes.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or two of them don't go together.

    Guarantees
    ----------
    With one thread, the same rows in the same order give the same weights, bit by bit, on machines
    of the same kind. The division into batches doesn't matter. After an error in a call, the
    learner is as it was before the call.

    Edge cases
    ----------
    A row without features updates the bias only. An index that a row has twice gets two updates.
    Rows without values have the value 1 everywhere. If rows with values come later, each slot
    counts as one that has had a 1. Don't use a learner in several threads at once.

    Notes
    -----
    Duchi, Hazan and Singer (JMLR 2011) for AdaGrad; McMahan et al. (KDD 2013) for FTRL-proximal;
    Ross, Mineiro and Langford, "Normalized online learning" (UAI 2013); Karampatziakis and
    Langford, "Online importance weight aware updates" (UAI 2011); Recht et al., "Hogwild!"
    (NeurIPS 2011).

    Examples
    --------
    >>> import numpy as np
    >>> from halfmask.hashing import HashedRows
    >>> rows = HashedRows(
    ...     indices=np.array([[1], [2]] * 50, dtype=np.uint32),
    ...     labels=np.array([0, 1] * 50, dtype=np.int32),
    ...     bits=4,
    ... )
    >>> learner = OnlineLearner(bits=4)
    >>> learner.learn(rows).accuracy
    0.99
    >>> learner.predict(rows)[:2].round() == [0, 1]
    array([ True,  True])
    >>> OnlineLearner.from_bytes(learner.to_bytes()).digest() == learner.digest()
    True
    """

    def __init__(  # noqa: PLR0913 # keyword-only, each with a default
        self,
        *,
        loss: Loss = "logistic",
        bits: int = 22,
        optimizer: Optimizer = "adagrad",
        rate: float | None = None,
        decay: float = 0.0,
        l1: float = 0.0,
        l2: float = 0.0,
        beta: float = 1.0,
        classes: int = 2,
        tau: float = 0.5,
        normalized: bool = True,
        invariant: bool = True,
        intercept: bool = True,
        threads: int = 1,
        random_state: int = 0,
    ) -> None:
        self._settings = LearnerSettings(
            loss=loss,
            bits=bits,
            optimizer=optimizer,
            rate=rate_of(rate, optimizer),
            decay=decay,
            l1=l1,
            l2=l2,
            beta=beta,
            classes=classes,
            tau=tau,
            normalized=normalized,
            invariant=invariant,
            intercept=intercept,
            threads=threads,
            random_state=random_state,
        )
        self._state = LearnerState.fresh(self._settings)

    def __repr__(self) -> str:
        settings = self._settings
        return (
            f"OnlineLearner(loss={settings.loss!r}, bits={settings.bits}, "
            f"optimizer={settings.optimizer!r}, rows={self.progress.rows})"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """What the learner was made with, under the names of the parameters."""
        return asdict(self._settings)

    @property
    def progress(self) -> ProgressiveValidation:
        """How well all rows so far were predicted before they were learnt."""
        return self._state.progress

    @property
    def weights(self) -> NDArray[np.float32]:
        """A copy of the weights: (slots + 1,) or (slots + 1, classes); bias last."""
        weights = self._state.model[:, 0]
        return weights.copy() if self._settings.loss == "softmax" else weights[:, 0].copy()

    def learn(self, rows: HashedRows, *, passes: int = 1) -> ProgressiveValidation:
        """Predict each row, then learn from it.

        Parameters
        ----------
        rows
            With labels, and of the learner's bits.
        passes
            How often the rows are gone through, at least 1: first in their order, then each time
            in another one that follows from `random_state`.

        Returns
        -------
        Progress
            Of the first pass, before whose updates the rows were new.

        Raises
        ------
        ParameterError
            If the rows have other bits, or ``passes`` isn't a number of at least 1.
        DataError
            If there are no labels, or some that the loss has no meaning for.
        DivergenceError
            If predictions or updates grow beyond what 32 bits hold. Nothing was learnt then.
        """
        integer_at_least(1, owner="OnlineLearner.learn", passes=passes)
        examples = Examples.of(rows, self._settings)
        progress = self._attempt(examples, int(passes))
        self._state.progress += progress
        return progress

    def _attempt(self, examples: Examples, passes: int) -> ProgressiveValidation:
        settings, state = self._settings, self._state
        bound = bound_after(settings, state, examples, passes)
        had_scales = state.scales is not None
        if examples.values is not None and settings.normalized:
            state.need_scales()
        elif had_scales:
            examples = examples.of_ones()
        undo = None if np.isfinite(bound) else Undo.of(state, examples.used)
        learn = learn_all if settings.threads == 1 else learn_threaded
        progress = learn(settings, state, examples)
        first = progress
        for number in range(1, passes):
            if progress is None:
                break
            order = np.random.default_rng([settings.random_state, number, state.progress.rows])
            progress = learn(settings, state, examples.reordered(order.permutation(len(examples))))
        if progress is None or first is None:
            if undo is not None:
                undo.restore(state)
            if not had_scales:
                state.scales = None
            raise DivergenceError(
                "Learning diverged: predictions or updates grew beyond what 32 bits hold.",
                hint=_cure(settings, examples),
            )
        state.bound = bound
        return first

    def predict(self, rows: HashedRows) -> NDArray[np.float32]:
        """Return a prediction for each row.

        Parameters
        ----------
        rows
            Hashed rows, of as many bits.

        Returns
        -------
        ndarray
            ``float32``: of ``"logistic"`` the probability of 1, of ``"softmax"`` those of all
            classes, (rows, classes); of ``"hinge"`` the margin; of the others the number.

        Raises
        ------
        ParameterError
            If the rows have other bits.
        """
        from halfmask.kernels.online.predict import (  # noqa: PLC0415 # numba: a second
            predict_classes,
            predict_rows,
        )

        settings, state = self._settings, self._state
        check_rows(rows, settings)
        indptr, indices, values = rows.flat()
        indptr = frozen(indptr)
        bias = float(settings.intercept)
        if settings.loss == "softmax":
            classes = np.empty((len(rows), settings.outputs), np.float32)
            room = np.empty(settings.outputs)
            predict_classes(indptr, indices, values, state.model, bias, room, classes)
            return classes
        out = np.empty(len(rows), np.float32)
        logistic = settings.loss == "logistic"
        predict_rows(indptr, indices, values, state.model[:, :, 0], bias, logistic, out)
        return out

    def copy(self) -> OnlineLearner:
        """Return a learner that goes on from here by itself."""
        return self._of(self._settings, self._state.copy())

    def to_bytes(self) -> bytes:
        """Return the learner as bytes with a checksum, the same for equal learners."""
        return learner_to_bytes(self._settings, self._state)

    @classmethod
    def from_bytes(cls, data: bytes) -> OnlineLearner:
        """Return the learner that bytes hold; it predicts and learns as the one did.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        DataError
            If they hold none, one of another version, or any bit of them was changed.
        """
        return cls._of(*learner_from_bytes(data))

    def digest(self) -> str:
        """Return the SHA-256, as hex, of the weights and of the state of the optimizer.

        Guarantees
        ----------
        Two learners of the same settings and digest predict and learn the same from here on.
        """
        return digest_of(self._state)

    @classmethod
    def average(
        cls, learners: Sequence[OnlineLearner], weights: Sequence[float] | None = None
    ) -> OnlineLearner:
        """Return one learner from several that learnt different shards.

        Parameters
        ----------
        learners
            At least one, all of the same settings.
        weights
            How much each learner's evidence counts, above 0; by default 1 each. Evidence is the sum
            of squared gradients of each slot, or the number of rows where there is none.

        Raises
        ------
        ParameterError
            If there is no learner, settings differ, or weights are not one positive number each.

        Guarantees
        ----------
        Without weights, shards may be averaged in groups, and those again, in any way: as a
        distributed fold does. The result is the same except for rounding.
        """
        kinds = [each.settings for each in learners]
        if not learners or any(kind != kinds[0] for kind in kinds):
            raise ParameterError("Learners to average must be there, and of the same settings.")
        chosen = [1.0] * len(learners) if weights is None else list(weights)
        if len(chosen) != len(learners):
            raise ParameterError(
                f"There must be one weight for each learner. Got {len(chosen)} weights."
            )
        for each in chosen:
            number_between(0.0, 1e9, owner="OnlineLearner.average", low_open=True, weights=each)
        states = [each._state for each in learners]  # noqa: SLF001 # its own class
        settings = LearnerSettings(**kinds[0])
        return cls._of(settings, average_states(settings, states, chosen))

    @classmethod
    def _of(cls, settings: LearnerSettings, state: LearnerState) -> OnlineLearner:
        # Not through the constructor: it would make a state of its own first.
        learner = cls.__new__(cls)
        learner.__dict__.update(_settings=settings, _state=state)
        return learner


def _cure(settings: LearnerSettings, examples: Examples) -> str:
    """Return what helps against a divergence: nothing that is so already."""
    if examples.values is not None and not settings.normalized:
        return "Use normalized=True, or choose a smaller rate."
    if examples.values is not None:
        return "Bin the numbers, or scale them: one is far smaller or larger than the others."
    if settings.loss in {"squared", "quantile"}:
        return "Scale the labels, or choose a smaller rate."
    return "Choose a smaller rate, or smaller weights of rows."

"""DP-SGD for networks of PyTorch: gradients a row by Opacus, sums and noise on our grid."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from halfmask._foreign import foreign, need
from halfmask.dp.learning._clipped_gradients import clipped_sum, unit_vectors
from halfmask.dp.learning._private_estimator import PrivateClassifier
from halfmask.dp.learning._sgd import PrivateSteps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from halfmask.dp.learning._private_estimator import BudgetLedger


@dataclass(eq=False, repr=False)
class PrivateTorchClassifier(PrivateSteps, PrivateClassifier):
    """A network of PyTorch that learns labels by DP-SGD.

    It needs the extra ``dp-torch``.

    Parameters
    ----------
    module
        A ``torch.nn.Module`` that takes rows of floats and returns a score for each class. A copy
        of it is trained; its first weights must not depend on the private rows.
    classes
        All labels that can occur, at least two, in any order; scores follow their sorted order.
    clip_norm
        The most that one row adds to a sum of gradients in the L2 norm, above 0.
    epsilon, delta, sampling_probability, steps, learning_rate, ledger
        As of `PrivateSGDClassifier`.

    Attributes
    ----------
    module_
        The trained copy.
    noise_multiplier_, classes_, events_, spent_epsilon_
        As of `PrivateSGDClassifier`.

    Raises
    ------
    BudgetError
        If no noise fits the budget, or the ledger refuses; nothing was trained then.
    DataError
        If the module mixes rows, as batch normalisation does, or fails on them.

    Guarantees
    ----------
    As of `PrivateSGDClassifier`. Opacus computes the gradient of each row; its own noise, which is
    drawn as floats, isn't used. That rows aren't mixed is checked by Opacus, not proven.

    Notes
    -----
    Abadi et al. 2016; Yousefpour et al. 2021 (Opacus).
    """

    fit_intercept = False
    _learnt = "module_"

    module: Any  # a module of torch, which isn't always installed
    _: KW_ONLY
    epsilon: float
    delta: float
    classes: Sequence[object]
    clip_norm: float = field(metadata={"gt": 0})
    sampling_probability: float = field(default=0.1, metadata={"gt": 0, "le": 1})
    steps: int = field(default=200, metadata={"ge": 1})
    learning_rate: float = field(default=0.01, metadata={"gt": 0})
    ledger: BudgetLedger | None = None

    def _learn(self, rows: NDArray[np.float64], codes: NDArray[np.int64]) -> None:
        with foreign("Opacus refused the module"):
            network = _Network(self.module)
        found = self._descended(
            len(rows),
            network.weights(),
            lambda weights, sample: network.clipped_sum(
                weights, rows[sample], codes[sample], clip_norm=self.clip_norm
            ),
        )
        self.module_ = network.trained(found)

    def _check(self) -> None:
        need("torch", "opacus")
        super()._check()

    def _size(self, columns: int) -> int:  # noqa: ARG002 # the module has its own
        return sum(it.numel() for it in self.module.parameters() if it.requires_grad)

    def _scores(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        import torch  # noqa: PLC0415 # the extra

        with foreign("The module failed"), torch.no_grad():
            given = torch.as_tensor(rows, dtype=torch.float32)
            scores: NDArray[np.float64] = self.module_(given).numpy().astype(np.float64)
        return scores


class _Network:
    """A copy of a module whose gradients are computed a row."""

    def __init__(self, module: Any) -> None:  # noqa: ANN401 # a module of torch
        from opacus import GradSampleModule  # noqa: PLC0415 # the extra
        from opacus.validators import ModuleValidator  # noqa: PLC0415 # the extra

        own = copy.deepcopy(module).train()
        ModuleValidator.validate(own, strict=True)
        self._module = GradSampleModule(own, loss_reduction="sum")
        self._parameters = [each for each in own.parameters() if each.requires_grad]

    def weights(self) -> NDArray[np.float64]:
        """Return all weights in one row."""
        flat = [each.detach().numpy().ravel().astype(np.float64) for each in self._parameters]
        return np.concatenate(flat)[None, :]

    def clipped_sum(
        self,
        weights: NDArray[np.float64],
        rows: NDArray[np.float64],
        codes: NDArray[np.int64],
        *,
        clip_norm: float,
    ) -> NDArray[np.float64]:
        """Return the sum of the clipped gradients of rows, in whole steps."""
        import torch  # noqa: PLC0415 # the extra

        if not len(rows):
            return np.zeros_like(weights)
        self._set(weights)
        self._module.zero_grad(set_to_none=True)
        with foreign("The module failed"):
            # Hooks on the backward pass of a layer fire only if its input has a gradient.
            given = torch.as_tensor(rows, dtype=torch.float32).requires_grad_()
            scores = self._module(given)
            torch.nn.functional.cross_entropy(
                scores, torch.as_tensor(codes), reduction="sum"
            ).backward()
        gradients = np.concatenate(
            [each.grad_sample.detach().numpy().reshape(len(rows), -1) for each in self._parameters],
            axis=1,
        ).astype(np.float64)
        # A gradient that isn't finite adds nothing: which depends on its own row alone.
        gradients[~np.isfinite(gradients).all(axis=1)] = 0.0
        units, lengths = unit_vectors(gradients)
        return clipped_sum(np.ones((len(rows), 1)), units, lengths, clip_norm=clip_norm)

    def trained(self, weights: NDArray[np.float64]) -> Any:  # noqa: ANN401 # a module of torch
        """Return the module with these weights, without what Opacus added."""
        self._set(weights)
        self._module.remove_hooks()
        module = self._module._module  # noqa: SLF001 # Opacus's name of what it wraps
        for each in self._parameters:
            each.grad = None
            each.grad_sample = None
        return module.eval()

    def _set(self, weights: NDArray[np.float64]) -> None:
        import torch  # noqa: PLC0415 # the extra

        start = 0
        with torch.no_grad():
            for each in self._parameters:
                values = weights[0, start : start + each.numel()].reshape(each.shape)
                each.copy_(torch.as_tensor(values, dtype=each.dtype))
                start += each.numel()

"""Online learning by the book: dictionaries and 64 bits, one slot at a time.

Shares no code with halfmask. ``sabotage`` names one thing that is done wrongly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq

BIAS = -1


def slope(loss, margin, label, tau):
    """The loss's derivative by the prediction."""
    if loss == "logistic":
        sign = 2 * label - 1
        return -sign / (1 + math.exp(sign * margin))
    if loss == "hinge":
        sign = 2 * label - 1
        return -sign if sign * margin < 1 else 0.0
    if loss == "squared":
        return margin - label
    return 0.0 if label == margin else (-tau if label > margin else 1 - tau)


def moved(loss, margin, label, tau, weight, reach):
    """Minus the step of an importance weight: Karampatziakis and Langford 2011, table 1."""
    time = weight * reach
    if time < 1e-9:
        return weight * slope(loss, margin, label, tau)
    if loss == "squared":
        return (margin - label) * (1 - math.exp(-time)) / reach
    if loss == "logistic":
        sign = 2 * label - 1
        start = sign * margin

        def ahead(end):
            return end + math.exp(end) - start - math.exp(start) - time

        return -sign * (brentq(ahead, start, min(start + time, 700), xtol=1e-14) - start) / reach
    if loss == "hinge":
        sign = 2 * label - 1
        return -sign * min(weight, (1 - sign * margin) / reach) if sign * margin < 1 else 0.0
    if label > margin:
        return -min(weight * tau, (label - margin) / reach)
    return min(weight * (1 - tau), (margin - label) / reach)


@dataclass
class Naive:
    loss: str
    optimizer: str
    rate: float
    decay: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    beta: float = 1.0
    tau: float = 0.5
    classes: int = 1
    normalized: bool = True
    invariant: bool = True
    sabotage: str = ""
    seen: int = 0
    norms: float = 0.0
    nearest: float = math.inf
    margins: list[list[float]] = field(default_factory=list)

    def __post_init__(self):
        self.w, self.squares, self.z, self.scales = {}, {}, {}, {}

    def learn(self, slots, values, label, weight):
        given = values is not None
        x = list(zip(slots, values if given else [1.0] * len(slots), strict=True))
        if self.normalized and given:
            self.raise_scales(x)
        scaled = self.normalized and given
        x.append((BIAS, 1.0))
        unit = {slot: (self.scales[slot] if scaled and slot != BIAS else 1.0) for slot, _ in x}
        margins = [
            sum(self.w.get((slot, c), 0.0) * value for slot, value in x)
            for c in range(self.classes)
        ]
        self.margins.append(margins)
        x = [(slot, value) for slot, value in x if value != 0]
        if self.sabotage == "no bias":
            x.pop()
        norm = sum((value / unit[slot]) ** 2 for slot, value in x)
        rate = self.rate
        if self.optimizer == "sgd":
            rate /= (1 + self.seen) ** self.decay
        self.seen += 1
        self.norms += norm
        if self.normalized and self.optimizer != "ftrl":
            share = self.seen / max(self.norms, 1.0)
            rate *= share if self.optimizer == "sgd" else math.sqrt(share)
        if self.loss == "softmax":
            top = max(margins)
            odds = [math.exp(m - top) for m in margins]
            for c in range(self.classes):
                self.one(x, unit, c, weight * (odds[c] / sum(odds) - (c == label)), rate, None)
        else:
            near = {"hinge": 1 - (2 * label - 1) * margins[0], "quantile": label - margins[0]}
            self.nearest = min(self.nearest, abs(near.get(self.loss, math.inf)))
            pull = slope(self.loss, margins[0], label, self.tau)
            found = (margins[0], label, weight)
            self.one(x, unit, 0, weight * pull, rate, found)

    def raise_scales(self, x):
        for slot, value in x:
            old = self.scales.setdefault(slot, 0.0)
            if abs(value) > old:
                ratio = old / abs(value)
                for c in range(self.classes):
                    power = 2 if self.optimizer == "sgd" else 1
                    self.w[slot, c] = self.w.get((slot, c), 0.0) * ratio**power
                self.scales[slot] = abs(value)

    def one(self, x, unit, c, gradient, rate, factors):
        """Learn one output."""
        if gradient == 0:
            return
        if self.optimizer == "ftrl":
            for slot, value in x:
                self.follow((slot, c), gradient * value / unit[slot], unit[slot], slot == BIAS)
            return
        square = gradient**2
        if self.invariant and factors is not None:
            square /= factors[2]
        rates = []
        for slot, value in x:
            if self.optimizer == "sgd":
                rates.append(rate / unit[slot] ** (1 if self.sabotage == "half scaled" else 2))
                continue
            old = self.squares.get((slot, c), 0.0)
            # A slot that is there twice in a row is learnt from twice, from the same start.
            new = old + square * value**2
            root = new if self.sabotage == "no root" else math.sqrt(new)
            if self.sabotage == "late squares":
                root = math.sqrt(old + 1e-6)
            rates.append(rate / (unit[slot] * root))
        step = gradient
        if self.invariant and factors is not None:
            reach = sum(each * value**2 for each, (_, value) in zip(rates, x, strict=True))
            step = moved(self.loss, factors[0], factors[1], self.tau, factors[2], reach)
        for each, (slot, value) in zip(rates, x, strict=True):
            self.w[slot, c] = self.w.get((slot, c), 0.0) - step * each * value
            self.squares[slot, c] = self.squares.get((slot, c), 0.0) + square * value**2

    def follow(self, key, gradient, unit, is_bias):
        before = self.squares.get(key, 0.0)
        after = before + gradient**2
        sigma = (math.sqrt(after) - math.sqrt(before)) / self.rate
        if self.sabotage == "no sigma":
            sigma = 0.0
        z = self.z.get(key, 0.0) + gradient - sigma * self.w.get(key, 0.0) * unit
        l1, l2 = (0.0, 0.0) if is_bias else (self.l1, self.l2)
        weight = 0.0
        if abs(z) > l1:
            strength = (self.beta + math.sqrt(after)) / self.rate + l2
            weight = -(z - math.copysign(l1, z)) / strength
        self.z[key], self.squares[key], self.w[key] = z, after, weight / unit

    def weights(self, slots):
        found = np.zeros((slots + 1, self.classes))
        for (slot, c), weight in self.w.items():
            found[slot, c] = weight
        return found

"""SafePub: rows of people under differential privacy, by sampling, levels and suppression.

Start with :class:`SafePub`. It draws a random sample of the rows, writes every column at one level
of its hierarchy, and leaves out classes of fewer than k rows. :func:`sampling_delta` and
:func:`least_class_size` are the arithmetic that joins epsilon, delta, the sampled share and k.

R. Bild, K. A. Kuhn and F. Prasser, "SafePub: A Truthful Data Anonymization Algorithm With Strong
Privacy Guarantees", PoPETs 2018(1).
"""

from __future__ import annotations

from halfmask.dp.safepub._private_rows import PrivateRows
from halfmask.dp.safepub._sampling_bound import least_class_size, sampling_delta
from halfmask.dp.safepub.safepub import SafePub

__all__ = ["PrivateRows", "SafePub", "least_class_size", "sampling_delta"]

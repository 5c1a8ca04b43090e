"""Attribute inference: a sensitive column, inferred from a model and the other columns.

Name the secret column by ``ModelTarget(secrets=...)`` or an attack's ``column``. Each attack is
compared with the imputation of the same column without the model, and with the same attack on
non-members.

- :class:`BlackBoxInference`: a classifier is trained on the model's output;
- :class:`QueryInference`: the model is queried with each candidate value;
- :class:`WhiteBoxTreeInference`: the counts on a tree's paths weigh the candidates.
"""

from __future__ import annotations

from halfmask.assess.attacks.attributes._inferences import (
    AttributeInference,
    BlackBoxInference,
    QueryInference,
    WhiteBoxTreeInference,
)

__all__ = [
    "ATTACKS",
    "AttributeInference",
    "BlackBoxInference",
    "QueryInference",
    "WhiteBoxTreeInference",
]

#: The attacks that infer a secret attribute.
ATTACKS = (BlackBoxInference, QueryInference, WhiteBoxTreeInference)

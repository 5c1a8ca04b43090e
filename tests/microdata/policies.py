"""Policies that several tests read."""

from __future__ import annotations

TEXT = """\
halfmask = 1

[input]
missing = ["?", ""]

[columns.age]
role = "quasi_identifier"
kind = "numeric"
hierarchy = { intervals = [5, 10, 20] }
missing = "value"

[columns.job]
role = "sensitive"
kind = "ordinal"
hierarchy = { order = [["trainee", "CANARY"], ["boss"]] }

[columns.income]
role = "insensitive"
kind = "categorical"
label = true

[columns.ssn]
role = "identifier"

[[guarantees]]
model = "k-anonymity"
k = 10

[[guarantees]]
model = "t-closeness"
t = 0.2
column = "job"
distance = "ordered"

[method]
name = "guided"
split_targets = ["income"]

[recoding]
name = "ranges"

[suppression]
max_fraction = 0.02

[output]
format = "csv"
"""

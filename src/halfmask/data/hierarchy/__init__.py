"""Hierarchies of values: as a tree, by rule, from a file; and orders of categories."""

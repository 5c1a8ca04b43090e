"""Loops that grow, cut and search partitions of quasi-identifiers."""

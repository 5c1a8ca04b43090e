"""Loops that tabulate: the largest contributions of each cell."""

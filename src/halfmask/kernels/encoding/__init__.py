"""Loops of reversible encodings of columns and series."""

"""Loops that choose how the cells of tables are rounded."""

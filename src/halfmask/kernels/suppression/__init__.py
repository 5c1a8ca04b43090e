"""Loops that choose which cells are made missing."""

"""Loops from cells to hashed rows."""

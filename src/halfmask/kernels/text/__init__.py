"""Loops over JSON lines, delimited text, numbers and times as bytes."""

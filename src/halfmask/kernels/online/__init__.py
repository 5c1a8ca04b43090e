"""Loops of online learning over hashed rows."""

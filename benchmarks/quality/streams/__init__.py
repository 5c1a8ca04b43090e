"""Sections of `event_attacks.py`: each attacks both real streams in several forms."""

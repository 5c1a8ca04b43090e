"""The sections of `hashing_attacks.py`."""

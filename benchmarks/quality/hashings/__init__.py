"""The sections of `hashing_attacks.py` and of `hashing.py`."""

"""The sections of `trainer.py`."""

"""Rows under differential privacy by sampling and suppression: the arithmetic, and k, again."""

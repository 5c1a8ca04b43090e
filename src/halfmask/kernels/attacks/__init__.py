"""Loops that compare what an attacker knows with every released row."""

"""Loops that swap values: between near ranks, and between the areas of records."""

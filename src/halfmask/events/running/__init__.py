"""A run: rules prepared, blocks transformed in order, checkpoints, counts."""

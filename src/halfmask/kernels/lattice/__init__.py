"""Loops over the rows of a node of the lattice of full-domain generalizations."""

"""A block of JSON lines as columns, from the scanner to the writer."""

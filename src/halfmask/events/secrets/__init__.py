"""Keys, draws and secret tables of events, and the way back."""

"""What an events' policy says: its sections, and what is wrong with them."""

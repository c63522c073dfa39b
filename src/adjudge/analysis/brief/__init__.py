"""A run in one line."""

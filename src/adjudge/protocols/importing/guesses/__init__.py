"""Guesses from the words of a prompt: each comes back with its reason, or with nothing."""

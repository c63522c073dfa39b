"""Readers of replies whose format is not known beforehand: one score, one choice, one option, one list."""

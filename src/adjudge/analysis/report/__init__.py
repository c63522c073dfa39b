"""The report of a run: its summary, its warnings, and their words."""

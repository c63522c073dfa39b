"""The report as sections of text and tables."""

"""The judge card as sentences, and as sections of text and tables."""

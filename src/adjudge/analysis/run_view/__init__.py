"""The one table of a run that every analysis reads."""

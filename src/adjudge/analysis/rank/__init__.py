"""The ranking of systems."""

"""Traces as they were recorded, as items: one file for each format."""

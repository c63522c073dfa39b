"""Readers of the format that a protocol asks for: tag, marker, label, first line, JSON by key paths."""

"""Reads stored runs: their results, an export of them, and parsing their replies again."""

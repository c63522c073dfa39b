"""A judgment in several steps: extract, check, combine. Pure: it asks for replies by yielding prompts."""

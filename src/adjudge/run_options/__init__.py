"""The options of a run: their declaration, checks, and what the manifest records of them."""

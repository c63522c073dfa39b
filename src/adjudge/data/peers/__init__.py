"""Results of other evaluation tools, as items and as scores: one file for each tool."""

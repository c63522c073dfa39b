"""Results on a terminal: sections and tables in its width."""

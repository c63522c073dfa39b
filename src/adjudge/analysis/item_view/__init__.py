"""One item as people see it."""

"""The items table: its filter, the rows of a filter, and the copy of a run that answers them."""

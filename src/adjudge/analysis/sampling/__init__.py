"""Sampling: which items to label, which replies to check by hand, and when labels suffice."""

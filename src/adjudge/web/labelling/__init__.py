"""Labelling by people: what they are asked, and the session that stores their labels."""

"""Labelling by people: what they are asked, and where their labels are stored."""

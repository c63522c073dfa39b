"""Cascades: a cheap judge decides where it is sure, a dearer one where it is not, people the rest."""

"""Tuning: the candidate that agrees best with people, and
whether its gain is shown on labels it was not chosen by.
"""

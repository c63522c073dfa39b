"""Trust: the judge card, which says how far a judge agrees with people."""

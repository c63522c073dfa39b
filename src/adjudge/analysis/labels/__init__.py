"""Human labels, joined with a judge's results."""

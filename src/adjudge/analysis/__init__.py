"""What the results of a run mean: report, trust, rank, compare and gate, each as numbers and as words."""

"""The audit of a judge: how far its scores move for reasons that should not matter."""

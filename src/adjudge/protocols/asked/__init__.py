"""What a prompt asks its judge for: the form of the reply, the verdicts, the names of two responses."""

"""The pages of the server, one to a file."""

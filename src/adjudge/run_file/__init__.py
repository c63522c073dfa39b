"""The run file, `adjudge.toml`."""

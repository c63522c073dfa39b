"""Judges of a run file as a service: `adjudge serve`."""

"""The release gate: whether a run is good enough, decided on intervals."""

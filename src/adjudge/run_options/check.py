"""Checks the options of a run together: those that contradict each other. Each alone: `values`."""

from __future__ import annotations

import re

from ..errors import DataError
from .options import RunOptions
from .shard import shard_of

MOST_REASKS = 3


MOST_SAMPLES = 10_000


def check_options(options: RunOptions) -> None:
    """Raise where two options contradict each other, or one is beyond what a run does."""
    if options.samples > MOST_SAMPLES:
        raise DataError(
            f"--samples {options.samples}: at most {MOST_SAMPLES:,} replies are drawn for an item."
        )
    if options.reask > MOST_REASKS:
        raise DataError(f"--reask {options.reask}: must be from 0 to {MOST_REASKS}.")
    if shard_of(options).n > 1 and options.steps == "generate":
        raise DataError(
            "--shard with --steps generate: each shard would have its own evaluation steps. Write "
            "them to a file, one per line, and give it to all shards with --steps FILE."
        )
    _check_ray(options)
    if options.estimator == "parsed" and options.samples > 1:
        raise DataError("--estimator parsed reads one reply. Leave it out, or use --samples 1.")
    if options.estimator == "samples" and options.samples == 1:
        raise DataError("--estimator samples is the mean of several replies. Set how many with --samples N.")


RAY_ADDRESS = re.compile(r"local|auto|(ray://)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")
"""What `--ray` may be followed by; anything else belongs to another argument."""


def _check_ray(options: RunOptions) -> None:
    if options.ray is None:
        if options.replicas is not None:
            raise DataError(
                "--replicas is the number of Ray actors: add --ray. Several servers with one model "
                "are replicas without it: -m 'http://A/v1,http://B/v1#NAME'."
            )
        return
    if not RAY_ADDRESS.fullmatch(str(options.ray)):
        raise DataError(
            f"--ray {options.ray}: write the address of the cluster as HOST:PORT or ray://HOST:PORT, "
            "auto for the cluster of this machine, or nothing (in Python 'local') to use this "
            "machine's CPUs."
        )
    if options.ray != "local" and options.replicas is None:
        raise DataError(f"--ray {options.ray}: add how many actors the cluster has CPUs for: --replicas N.")

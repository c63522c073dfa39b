"""The embedded judge: a model that runs in this process, without a key."""

from .local_model import LocalModel
from .ray_model import on_ray
from .weights import KNOWN, SMOLLM2, Weights, cache_folder, known_weights, pull

__all__ = ["KNOWN", "SMOLLM2", "LocalModel", "Weights", "cache_folder", "known_weights", "on_ray", "pull"]

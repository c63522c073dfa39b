"""The embedded judge: a model that runs in this process, without a key."""

from pathlib import Path
from typing import Any

from ..prices import Price
from .local_model import LocalModel
from .ray_model import on_ray
from .weights import KNOWN, SMOLLM2, Weights, cache_folder, known_weights, pull

__all__ = [
    "KNOWN",
    "SMOLLM2",
    "LocalModel",
    "Weights",
    "cache_folder",
    "known_weights",
    "on_ray",
    "open_model",
    "pull",
]


def open_model(spec: str, name: str, *, price: Price | None = None, **_other: Any) -> LocalModel:
    """The embedded judge, or a model in a GGUF file. Takes no key and no connection."""
    return LocalModel(spec, Path(name).expanduser() if name else SMOLLM2, price=price)

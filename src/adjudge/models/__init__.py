"""The judges: everything that takes a `Call` and returns a `Reply`.

The only part of the package that uses the network, and only to the configured host. The HTTP client is
imported with the first request.
"""

from .alias import check_alias, named
from .base import Capabilities, Form, Model, Parameters
from .fake import FakeModel, Line
from .local import LocalModel, on_ray
from .network import Network
from .prices import Price
from .replay import ReplayModel
from .retirement import Ending
from .spec import forms, parse_model, takes_key, takes_price

__all__ = [
    "Capabilities",
    "Ending",
    "FakeModel",
    "Form",
    "Line",
    "LocalModel",
    "Model",
    "Network",
    "Parameters",
    "Price",
    "ReplayModel",
    "check_alias",
    "forms",
    "named",
    "on_ray",
    "parse_model",
    "takes_key",
    "takes_price",
]

"""The judges: everything that takes a `Call` and gives a `Reply`.

The only part of the package that touches the network, and it talks to the configured host alone.
Importing it loads no HTTP library: that happens with the first request.
"""

from .base import Form, Model, Parameters, Price, Probe
from .fake import FakeModel, Line
from .local import LocalModel
from .rate_limits import Network
from .replay import ReplayModel
from .spec import FORMS, parse_model

__all__ = [
    "FORMS",
    "FakeModel",
    "Form",
    "Line",
    "LocalModel",
    "Model",
    "Network",
    "Parameters",
    "Price",
    "Probe",
    "ReplayModel",
    "parse_model",
]

"""The judges: everything that takes a `Call` and returns a `Reply`.

The only part of the package that uses the network, and only to the configured host. The HTTP client is
imported with the first request.
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

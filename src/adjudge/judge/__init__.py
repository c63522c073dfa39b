"""A judge as an object: it judges items one by one or many at once."""

from .judge import Judge
from .verdict import Verdict, Verdicts

__all__ = ["Judge", "Verdict", "Verdicts"]

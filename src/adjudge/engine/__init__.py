"""The engine: carries out a run."""

from .loop import Interrupted
from .prepare import prepare
from .prepared import Prepared
from .progress import Progress
from .request import AuditRequest, Request, request_of
from .run import Run, execute
from .thread import run_in_thread
from .watcher import Watcher

__all__ = [
    "AuditRequest",
    "Interrupted",
    "Prepared",
    "Progress",
    "Request",
    "Run",
    "Watcher",
    "execute",
    "prepare",
    "request_of",
    "run_in_thread",
]

"""The engine: carries out a run, and reads runs from the store."""

from .api import Prepared, Request, Run, Watcher, prepare, run, run_async, run_in_thread
from .loop import Interrupted, Progress
from .results import (
    EXPORT_COLUMNS,
    JudgedItem,
    export_row,
    fields_naming_the_system,
    judged_items,
    protocols_of,
    reread,
    results,
    settings_of,
)

__all__ = [
    "EXPORT_COLUMNS",
    "Interrupted",
    "JudgedItem",
    "Prepared",
    "Progress",
    "Request",
    "Run",
    "Watcher",
    "export_row",
    "fields_naming_the_system",
    "judged_items",
    "prepare",
    "protocols_of",
    "reread",
    "results",
    "run",
    "run_async",
    "run_in_thread",
    "settings_of",
]

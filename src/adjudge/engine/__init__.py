"""The engine: carries out a run, and reads runs from the store."""

from .api import AuditRequest, Prepared, Request, Run, Watcher, prepare, run, run_async, run_in_thread
from .loop import Interrupted, Progress
from .results import (
    ELEMENT_COLUMNS,
    EXPORT_COLUMNS,
    JudgedItem,
    element_rows,
    export_row,
    fields_naming_the_system,
    judged_items,
    protocols_of,
    reread,
    results,
    settings_of,
)

__all__ = [
    "ELEMENT_COLUMNS",
    "EXPORT_COLUMNS",
    "AuditRequest",
    "Interrupted",
    "JudgedItem",
    "Prepared",
    "Progress",
    "Request",
    "Run",
    "Watcher",
    "element_rows",
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

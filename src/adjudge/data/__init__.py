"""Reads the files that users give: items, labels, scores, rubrics, examples, and the tables they are made of.

A file that cannot be used is a `DataError` that says what is wrong, on which line, and what to do.
"""

from .items import RESERVED, ItemFile, field_value, fields_of, rows_of_frame
from .labels import (
    LabelFile,
    OrderChoice,
    ProbeScore,
    items_of_scores,
    read_labels,
    read_probe_scores,
    read_scores,
)
from .messages import plain
from .rubrics import read_examples, read_rubric, rubric_of_labels
from .tables import (
    EXPORT_HEADER,
    FIELD_LIMIT,
    SUFFIXES,
    BadRowError,
    BrokenFileError,
    Number,
    Problems,
    Row,
    Table,
    frame_of,
    guarded,
    is_address,
    local_file,
    read_small,
    read_small_text,
    write_parquet,
)
from .traces import FORMATS, Traces, read_traces

__all__ = [
    "EXPORT_HEADER",
    "FIELD_LIMIT",
    "FORMATS",
    "RESERVED",
    "SUFFIXES",
    "BadRowError",
    "BrokenFileError",
    "ItemFile",
    "LabelFile",
    "Number",
    "OrderChoice",
    "ProbeScore",
    "Problems",
    "Row",
    "Table",
    "Traces",
    "field_value",
    "fields_of",
    "frame_of",
    "guarded",
    "is_address",
    "items_of_scores",
    "local_file",
    "plain",
    "read_examples",
    "read_labels",
    "read_probe_scores",
    "read_rubric",
    "read_scores",
    "read_small",
    "read_small_text",
    "read_traces",
    "rows_of_frame",
    "rubric_of_labels",
    "write_parquet",
]

"""Reads the files that users give: items, labels, scores, rubrics, examples, and the tables they are made of.

A file that cannot be used is a `DataError` that says what is wrong, on which line, and what to do.
"""

from .addresses import is_address, local_file
from .encoding import BadRowError, BrokenFileError, read_small, read_small_text
from .formulas import EXPORT_HEADER, guarded
from .items import RESERVED, ItemFile, field_value, fields_of, rows_of_frame
from .json_rows import FIELD_LIMIT, Number, Row
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
from .parquet_and_excel import frame_of, write_parquet
from .rubrics import read_examples, read_rubric, rubric_of_labels
from .table import SUFFIXES, Problems, Table
from .traces.read import FORMATS, Traces, read_traces

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

"""Reads the files that users give: items, labels, scores, rubrics, examples, and the tables they are made of.

A file that cannot be used is a `DataError` that says what is wrong, on which line, and what to do.
"""

from .addresses import is_address, local_file
from .encoding import BadRowError, BrokenFileError, read_small, read_small_text
from .examples import read_examples
from .formulas import EXPORT_HEADER, guarded
from .frames import rows_of_frame
from .items import RESERVED, UNKNOWN_SYSTEM, ItemFile, field_value, fields_of
from .json_rows import FIELD_LIMIT, Row, WrittenNumber
from .label_scales import LabelScales, scales_by_criterion
from .labels import LABEL_COLUMNS, LabelFile, hash_of_row, read_labels
from .messages import plain
from .parquet_and_excel import frame_of, write_parquet
from .probe_scores import OrderChoice, ProbeScore, read_probe_scores
from .rubrics import read_rubric, rubric_of_labels
from .scores import ScoreFile, items_of_scores, read_scores
from .table import SUFFIXES, Problems, Table
from .text_hash import shown_text, text_hash_on, text_hashes
from .traces.read import FORMATS, Traces, read_traces

__all__ = [
    "EXPORT_HEADER",
    "FIELD_LIMIT",
    "FORMATS",
    "LABEL_COLUMNS",
    "RESERVED",
    "SUFFIXES",
    "UNKNOWN_SYSTEM",
    "BadRowError",
    "BrokenFileError",
    "ItemFile",
    "LabelFile",
    "LabelScales",
    "OrderChoice",
    "ProbeScore",
    "Problems",
    "Row",
    "ScoreFile",
    "Table",
    "Traces",
    "WrittenNumber",
    "field_value",
    "fields_of",
    "frame_of",
    "guarded",
    "hash_of_row",
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
    "scales_by_criterion",
    "shown_text",
    "text_hash_on",
    "text_hashes",
    "write_parquet",
]

"""The files that users give: items, rubrics, examples, and the tables they are made of.

Everything here reads; nothing is written, sent or judged. A file that cannot be used is a
`DataError` that says what is wrong, on which line, and what to do.
"""

from .examples import read_examples
from .fields import field_value, fields_of
from .items import RESERVED, ItemFile
from .json_rows import FIELD_LIMIT, Number, Row
from .labels import LabelFile, read_labels, read_scores
from .lines import BadRowError, BrokenFileError
from .parquet_rows import write_parquet
from .rubrics import read_rubric
from .spreadsheet import EXPORT_HEADER, guarded
from .tables import SUFFIXES, Problems, Table

__all__ = [
    "EXPORT_HEADER",
    "FIELD_LIMIT",
    "RESERVED",
    "SUFFIXES",
    "BadRowError",
    "BrokenFileError",
    "ItemFile",
    "LabelFile",
    "Number",
    "Problems",
    "Row",
    "Table",
    "field_value",
    "fields_of",
    "guarded",
    "read_examples",
    "read_labels",
    "read_rubric",
    "read_scores",
    "write_parquet",
]

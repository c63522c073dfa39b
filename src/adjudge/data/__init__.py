"""The files that users give: items, rubrics, examples, and the tables they are made of.

Everything here reads; nothing is written, sent or judged. A file that cannot be used is a
`DataError` that says what is wrong, on which line, and what to do.
"""

from adjudge.data.examples import read_examples
from adjudge.data.fields import field_value, fields_of
from adjudge.data.items import RESERVED, ItemFile
from adjudge.data.json_rows import FIELD_LIMIT, Number, Row
from adjudge.data.lines import BadRowError, BrokenFileError
from adjudge.data.rubrics import read_rubric
from adjudge.data.tables import SUFFIXES, Problems, Table

__all__ = [
    "FIELD_LIMIT",
    "RESERVED",
    "SUFFIXES",
    "BadRowError",
    "BrokenFileError",
    "ItemFile",
    "Number",
    "Problems",
    "Row",
    "Table",
    "field_value",
    "fields_of",
    "read_examples",
    "read_rubric",
]

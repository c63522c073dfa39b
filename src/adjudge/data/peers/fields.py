"""Further values of a result of another tool, as fields of an item."""

from __future__ import annotations

from typing import Any

from ..items import RESERVED
from ..json_rows import Row
from ..messages import scalar_text

_OWN = (*RESERVED, "task", "response", "conversation", "reference", "error", "tools")


def plain_fields(values: Row) -> dict[str, Any]:
    """The texts, numbers and lists of texts among the values, without those whose names mean something
    else."""
    fields: dict[str, Any] = {}
    for name, value in values.items():
        if name in _OWN or not name.strip():
            continue
        if isinstance(value, str | bool) or (value is not None and not isinstance(value, list | dict)):
            fields[name] = scalar_text(value)
        elif isinstance(value, list) and value and all(isinstance(entry, str) for entry in value):
            fields[name] = value
    return fields

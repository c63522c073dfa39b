"""polars and pandas frames as rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def rows_of_frame(frame: Any) -> Iterable[dict[str, Any]] | None:
    """The rows of a polars or pandas frame with plain values; none where it is neither. Neither library is
    imported."""
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        frame = frame.collect()  # a lazy polars frame
    if hasattr(frame, "iter_rows") and hasattr(frame, "columns"):
        rows = frame.iter_rows(named=True)
    elif hasattr(frame, "to_dict") and hasattr(frame, "notna"):
        rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    else:
        return None
    return ({str(name): _plain(value) for name, value in row.items()} for row in rows)


def _plain(value: Any) -> Any:
    """A value of a frame as JSON has it: dates in ISO 8601, arrays as lists, NaN as null."""
    if hasattr(value, "tolist"):  # numpy's scalars and arrays
        value = value.tolist()
    if isinstance(value, float) and value != value:
        return None
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return value.isoformat() if hasattr(value, "isoformat") else value

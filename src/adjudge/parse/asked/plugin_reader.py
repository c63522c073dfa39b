"""The reader of a plug-in: a function that other packages offer by name.

Whatever it does, a reply has a status: a value off the scale is `out_of_range`, and a reader that raises or
returns anything but a `Reading` leaves the reply `unparsed`, flagged `reader_failed`.
"""

from __future__ import annotations

from typing import get_args

from msgspec import structs

from ...errors import PluginError
from ...plugins import loaded
from ...records import Answer, ReaderName, Reading, Scale

BUILT_IN_READERS: tuple[str, ...] = get_args(ReaderName)
_FAILED = Reading(status="unparsed", flags=("reader_failed",))
_CHOICES = ("first", "second", "tie")


def is_of_plugin(answer: Answer) -> bool:
    return answer.reader not in BUILT_IN_READERS


def read_by_plugin(answer: Answer, text: str, scale: Scale | None) -> Reading:
    """What the plug-in's reader makes of a reply. Without a scale the answer is first, second or tie."""
    read = loaded("readers", answer.reader)
    if read is None:
        raise PluginError(
            f"reader '{answer.reader}' is of a plug-in (adjudge.readers) that is not installed. "
            "Install its package, or name another reader under [answer]."
        )
    try:
        reading = read(text, scale, dict(answer.settings))
    except Exception:  # noqa: BLE001  (code of others; any text must give a status)
        return _FAILED
    return _checked(reading, scale, len(text)) if isinstance(reading, Reading) else _FAILED


def _checked(reading: Reading, scale: Scale | None, length: int) -> Reading:
    value = reading.value
    if reading.span is not None and not 0 <= reading.span[0] <= reading.span[1] <= length:
        return _FAILED
    if reading.status != "ok":
        return structs.replace(reading, value=None)
    if scale is None:
        return reading if value in _CHOICES else _FAILED
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _FAILED
    status = scale.status_of(float(value))
    return structs.replace(reading, value=float(value) if status == "ok" else None, status=status)

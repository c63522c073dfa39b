"""The form of a protocol's reply where it is not JSON, for models that can be held to one.

The same facts as the reader's: what stands before the answer, which answers there are, and what stands behind it.
None where the reply has several answers or no fixed place for one.
"""

from __future__ import annotations

from ..models import Form
from ..records import Protocol, Scale

_MOST_VALUES = 101


def form_of(protocol: Protocol) -> Form | None:
    """The form of the whole reply; none where there is no single one."""
    answer = protocol.answer
    values = _values(protocol)
    if not values:
        return None
    if answer.reader == "first_line":
        return Form(values, closing="\n", is_first=True)
    if answer.reader == "tag":
        return Form(values, f"<{answer.tag}>", f"</{answer.tag}>")
    if answer.reader == "marker":
        return Form(values, f"{answer.marker} ")
    if answer.reader == "label" and answer.labels:
        return Form(values, f"{answer.labels[0]}: ")
    return None


def _values(protocol: Protocol) -> tuple[str, ...]:
    """The answers that there are, as they are written; none where that is no short list."""
    if protocol.task == "compare":
        return tuple(protocol.answer.choices.values())
    if len(protocol.criteria) != 1:
        return ()
    (scale,) = protocol.criteria.values()
    return _levels(scale) if scale is not None else ()


def _levels(scale: Scale) -> tuple[str, ...]:
    if scale.low is None or scale.high is None or not scale.step:
        return ()
    count = round((scale.high - scale.low) / scale.step) + 1
    return tuple(f"{scale.low + n * scale.step:g}" for n in range(count)) if count <= _MOST_VALUES else ()

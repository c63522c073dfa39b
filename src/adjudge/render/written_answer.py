"""Numbers and answers as a judge writes them."""

from __future__ import annotations

from ..records import Answer


def number_text(value: float) -> str:
    """A number without a trailing .0: 5, not 5.0."""
    return str(int(value)) if value == int(value) else repr(value)


def written_answer(answer: Answer, value: str) -> str:
    """A value as a judge writes it in a reply that is not JSON: with its tag, marker or label."""
    if answer.is_pair_of_scores:
        return f"{value} {value}"
    if answer.reader == "tag":
        return f"<{answer.tag}>{value}</{answer.tag}>"
    if answer.reader == "marker":
        return f"{answer.marker} {value}"
    if answer.reader == "label" and answer.labels:
        return f"{answer.labels[0]}: {value}"
    return value

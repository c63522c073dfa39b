"""A text that is shortened around the spans that are marked in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .views import ShownText, Span


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that overlap or touch joined."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def shorten(
    text: str, longest: int | None, spans: Iterable[Span] = (), doubtful: Sequence[Span] = ()
) -> ShownText:
    """A text of at most about `longest` characters, with its spans moved along; gaps say how much is missing.

    The beginning and the end are kept, and what surrounds each span: that is where a judge gives its score.
    """
    inside = sorted(span for span in spans if 0 <= span[0] < span[1] <= len(text))
    if longest is None or len(text) <= longest:
        return ShownText(text, tuple(inside), tuple(span for span in inside if span in doubtful))
    parts: list[str] = []
    moved: dict[Span, Span] = {}
    length = 0
    last_end = 0
    for start, end in _kept_pieces(len(text), longest, inside):
        if start > last_end:
            gap = f"\n[… {start - last_end:,} characters …]\n"
            parts.append(gap)
            length += len(gap)
        moved |= {
            (a, b): (a - start + length, b - start + length) for a, b in inside if start <= a and b <= end
        }
        parts.append(text[start:end])
        length += end - start
        last_end = end
    return ShownText(
        "".join(parts),
        tuple(moved.values()),
        tuple(new for old, new in moved.items() if old in doubtful),
    )


def _kept_pieces(length: int, longest: int, spans: Sequence[Span]) -> list[Span]:
    """The parts of a text to keep: both ends, and around the first few spans."""
    around = max(40, longest // 8)
    pieces = [(0, longest // 2), (length - longest // 4, length)]
    pieces += [(max(0, a - around), min(length, b + around)) for a, b in spans[:4] if b - a <= longest]
    return merge_spans(pieces)

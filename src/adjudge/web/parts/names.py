"""Names that fit where there is little room: ids without their middle, judges without their folders."""

from __future__ import annotations


def middle(text: str, most: int = 40) -> str:
    """A name that fits, without its middle: ids differ at both ends."""
    if len(text) <= most:
        return text
    end = (most - 1) // 2
    return f"{text[: most - 1 - end]}…{text[len(text) - end :]}"


_TAIL = 8


def name_ends(text: str) -> tuple[str, str]:
    """A name in two parts, of which the first may be cut off where there is no room: ids differ at both
    ends."""
    return (text, "") if len(text) <= 2 * _TAIL else (text[:-_TAIL], text[-_TAIL:])


def judge_name(spec: str) -> str:
    """A short name of a judge: a model in a file is named without its folders."""
    kind, _, path = spec.partition(":")
    if kind not in ("replay", "local") or not path:
        return spec
    name = path.replace("\\", "/").rpartition("/")[2]
    return f"{kind}:{name or path}"

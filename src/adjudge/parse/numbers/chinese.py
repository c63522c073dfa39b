"""Numbers as Chinese (and Japanese) judges write them: 8分, 八分, 四点五, "满分10分，得8分", "10分制"."""

from __future__ import annotations

from ...lazy_patterns import lazily

WORDS: dict[str, float] = {char: float(n) for n, char in enumerate("零一二三四五六七八九十")} | {
    "〇": 0.0,
    "两": 2.0,
    "兩": 2.0,
}
WORD = r"[零〇一二两兩三四五六七八九十]"
DECIMAL = lazily(
    r"([零〇一二三四五六七八九十])[点點]([零〇一二三四五六七八九])(?![零〇一二三四五六七八九十])"
)

UNITS = r"颗星|顆星|分|[点點](?![0-9零〇一二三四五六七八九])|星"

TOP_FIRST = r"段階(?:評価)?(?:で|中)|点満点中|分满分[,，]?|分中|分之|分制(?:的?情况)?[下中里内]?\)?[,，]?"
"""What follows the most there is to have where it comes first: "10分制下8分", "十分之八"."""
GIVES = r"得|给|给出|评"

FULL_MARKS = r"满分|滿分"
FULL_MARKS_IN_BRACKETS = r"分满分|分滿分|分制"
SCALE_NAME = r"分制"
"""The name of a scale, which is no score."""

MAKES = r"等于|得"
BOUND = r"及?以上|及?以下"
RANGE = r"到|至|或者?"

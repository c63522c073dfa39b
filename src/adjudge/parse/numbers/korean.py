"""Numbers as Korean judges write them: 4점, 사점, 네 점, "5점 만점에 4점", "(5점 만점)", "3점 이상"."""

from __future__ import annotations

WORDS: dict[str, float] = (
    {"한": 1.0, "두": 2.0, "세": 3.0, "네": 4.0}
    | {char: float(n) for n, char in enumerate("영일이삼사오육칠팔구십")}
    | {word: float(n) for n, word in enumerate("하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열".split(), start=1)}
)
WORD = r"[영일이삼사오육칠팔구십]|하나|둘|셋|넷|다섯|여섯|일곱|여덟|아홉|열|[한두세네](?=\s?점)"

POINT = r"점"
UNITS = r"점수|개"

TOP_FIRST = r"점\s?만점(?:에서?|\s?중)?|점\s?중(?:에서?)?"
"""What follows the most there is to have where it comes first: "5점 만점에 4점", "10점 중 8점"."""

FULL_MARKS = r"총점"
FULL_MARKS_IN_BRACKETS = r"점\s?만점"
SCALE_NAME = r"점\s?(?:만점|척도)"
"""The name of a scale, which is no score: "5점 척도"."""

MAKES = r"이므로"
BOUND = r"이상|이하|미만|초과"
RANGE = r"에서|부터|이?나"
RANGE_ENDS = r"에서|부터"

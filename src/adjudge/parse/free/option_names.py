"""The names of several options, and where a text has one: supported / not supported / irrelevant.

Names may contain one another: where "not supported" stands, "supported" does not. A menu that the judge
repeats and a hedge name no option.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from ...lazy_patterns import lazily
from ...records import Status
from ..asked.values import Value
from ..text.characters import narrow
from ..text.own_voice import Span

_SEPARATOR = r"[\s_\-]{1,3}"
_ENDINGS = r"(?:임|입니다|이다|함|됨|です|だ|的|である)"
_FILLER = (
    r"(?:[\s\"'`“”‘’(\[{:=|*]{0,6}(?:the|this|that|an?|my|claim|statement|fact|point|sentence|passage|text|"
    r"response|answer|reply|"
    r"item|element|message|it|is|are|was|would|be|as|clearly|definitely|plainly|indeed|thus|therefore|best|"
    r"label|class|category|"
    r"verdict|of|for|i|choose|select|pick)(?![\w']))"
)
_MENU = lazily(
    r"[\"'`”’)\]]{0,2}\s{0,2}(?:,?\s?(?:or|and|vs\.?|versus)\b|[/|,;、"
    r"]|或|还是|또는|아니면|または)\s{0,2}(?:or\s)?[\"'`“‘(\[]{0,2}"
)
HEDGE = lazily(
    r"[\"'`”’)\]]{0,2}[\s,;:(–—-]{1,4}(?:(?:but|although|though|except|however|albeit|"
    r"and)\s)?(?:it\sis\s)?(?:only\s)?"
    r"(?:partly|partially|in\spart|not\s(?:fully|entirely|completely|quite|wholly)|to\s(?:some|"
    r"a\scertain)\s(?:extent|degree)|"
    r"mostly|somewhat|at\sbest)\b"
)
QUESTION = lazily(r"[\"'`”’)\]]{0,2}\s?[?？]")
HEAD_ENDS = lazily(
    r"[\"'`”’)\]]{0,3}\s{0,2}(?:$|[\n,;!.:(\[=，；！。"
    r"：（\ufffc]|[-–—]\s|(?:because|since|as|by|per|in\sview)\b)"
)
_PRONOUN = lazily(r"\s(?!(?:is|was|because|since|as|for)\b)[a-z]|['’][a-z]", re.I)
_LONGEST_NAME = 250
_MOST_MENTIONS = 2_000


class FoundOption(NamedTuple):
    """One option found in a text: its name as it was offered, and where it stands."""

    name: str
    start: int
    end: int
    is_sure: bool = True
    """whether the reply declares it as its answer, or only says so in passing"""


class OptionNames:
    """The names that a prompt offers, and the patterns that find them; longer names before those inside
    them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = {flat_name(name): name for name in names if flat_name(name)}
        written = sorted(self.names.values(), key=len, reverse=True)
        pattern = "|".join(_pattern_of(name) for name in written) or r"(?!)"
        ends = rf"(?:(?![\w])(?!-\w)|(?={_ENDINGS}(?!\w)))"
        self._at = re.compile(rf"[\"'`“‘(\[*]{{0,3}}({pattern}){ends}", re.I)
        self._filled = re.compile(
            rf"{_FILLER}{{0,8}}?[\s\"'`“”‘’(\[{{:=|*]{{0,6}}(?<!\w)({pattern}){ends}", re.I
        )
        self._anywhere = re.compile(rf"(?<!\w)(?<!\w-)({pattern}){ends}", re.I)
        self._quoted = re.compile(rf"([\"'“‘「『`])[ ]?(?:{pattern})[ ]?[.]?([\"'”’」』`])", re.I)

    def exactly(self, written: str) -> str | None:
        """The option that a text is, apart from its case and its separators."""
        return self.names.get(flat_name(written)) if len(written) <= _LONGEST_NAME else None

    def opens(self, written: str) -> str | None:
        """The option that a text begins with, set off from what follows: "Supported (passage 2)"."""
        option = self.value_at(written, 0)
        is_first = option is not None and option.start <= 3
        return option.name if option and is_first and HEAD_ENDS.match(written, option.end) else None

    def value_at(self, text: str, at: int) -> FoundOption | None:
        """The option that a text names at a place, right there
        or behind "the claim is"; none in a menu or a hedge.
        """
        match = self._at.match(text, at) or self._filled.match(text, at)
        if match is None:
            return None
        option = self._option(match)
        # "GRADE: I cannot say" gives no grade I.
        if option.name in ("I", "i") and _PRONOUN.match(text, option.end):
            return None
        return None if self._is_in_doubt(text, option) else option

    def mentions(self, text: str, start: int, end: int) -> list[FoundOption]:
        """Every option that a text names, in order."""
        options: list[FoundOption] = []
        for match in self._anywhere.finditer(text, start, end):
            options.append(self._option(match))
            if len(options) >= _MOST_MENTIONS:
                break
        return options

    def unquoted(self, text: str) -> str:
        """The text without the quotation marks around bare options: "not supported" is a way of writing
        it."""
        return self._quoted.sub(lambda quote: " " + quote[0][1:-1] + " ", text)

    def is_in_menu(self, text: str, option: FoundOption) -> bool:
        """Whether another option follows with nothing but an
        "or" between: the judge repeats what was offered.
        """
        menu = _MENU.match(text, option.end)
        other = self._at.match(text, menu.end()) if menu else None
        return other is not None and self._option(other).name != option.name

    def _is_in_doubt(self, text: str, option: FoundOption) -> bool:
        if QUESTION.match(text, option.end) or HEDGE.match(text, option.end):
            return True
        return self.is_in_menu(text, option)

    def _option(self, match: re.Match[str]) -> FoundOption:
        return FoundOption(self.names[flat_name(match[1])], *match.span(1))


def _pattern_of(name: str) -> str:
    words = re.findall(r"[^\s_\-]+", narrow(name))
    return _SEPARATOR.join(re.escape(word) for word in words)


_LOOSE = lazily(r"[\s_\-]+")
AROUND = " \t\n\"'`“”‘’「」『』.。*()[]"


def flat_name(name: str) -> str:
    """A name without its case, separators and marks around
    it: two names that are the same here read the same.
    """
    return _LOOSE.sub("", narrow(name).strip(AROUND)).casefold()


@lru_cache(maxsize=64)
def option_names(names: tuple[str, ...]) -> OptionNames:
    """The patterns for these names, built once."""
    return OptionNames(names)


def option_value(names: OptionNames) -> Value:
    """A reader of the one option that stands at a place, for tags, markers and labels."""

    def read(text: str, at: int) -> tuple[float | str | None, Status, Span] | None:
        option = names.value_at(text, at)
        return (option.name, "ok", (option.start, option.end)) if option is not None else None

    return read

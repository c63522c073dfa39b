"""The names of two options as judges write them: A, (a), Response A, Output (b), #1, baseline, 回答A, 응답 B.

One `Options` is built for a pair of names and kept, since its patterns are worth more than one reply. It
finds names in text and knows nothing of verdicts. Where no name stands, "the second response" and "the
latter" are names too. A Cyrillic А is not a Latin A, and the article "a" is no option.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

from ...lazy_patterns import lazily
from ..text.own_voice import places

Side = Literal["first", "second", "tie"]
NOUNS = (
    r"responses?|antwort|réponse|respuesta|risposta|resposta|ответ|assistants?|answers?|outputs?|options?|models?|summary|summaries|candidates?|systems?|"
    r"texts?|completions?|translations?|"
    r"versions?|choices?|story|essays?|passages?|reply|replies|conversations?|ai|chatbots?|agents?|回答|助手|选项|"
    r"模型|摘要|回复|答案|응답|답변|어시스턴트|"
    r"모델|요약|출력|回應|アシスタント|応答|要約"
)
NOUN_NAMES = frozenset(
    form
    for noun in re.sub(r"s\?", "", NOUNS).split("|")
    for form in ((noun, noun + "s") if noun.isascii() and not noun.endswith(("y", "s")) else (noun,))
)
_NOUNS_ABROAD = frozenset(
    "antwort réponse respuesta risposta resposta ответ 回答 助手 选项 模型 摘要 回复 答案 응답 답변 "
    "어시스턴트 모델 요약 출력 回應 アシスタント 応答 要約".split()
)
_KEYED = lazily(r"(?:(.*?)[\s(#_-]++)?([a-z]|[0-9]{1,2})\)?", re.S)
_INSIDE = r"[0-9A-Za-z_\u00c0-\u058f’.\-]"
_NOT_BEFORE = r"(?![0-9A-Za-z_\u00c0-\u058f’\-+]|\.\w)"
_TIE_WORDS = (
    r"tie[ds]?|draw|equal(?:ly)?|both|neither|same|no\sdifference|"
    r"平局|平手|一样|相当|동점|무승부|비김|비슷|引き分け"
)
_ORDINALS: dict[str, Side] = {"first ": "first", "second ": "second", "former": "first", "latter": "second"}
_ORDERED = lazily(rf"(?i)(?:{NOUNS}|one)\b")
LONGEST_NAME = 200
"""No option has a longer name, in characters."""

MOST_ORDINALS = 2_000
_TIE_NAMES = ("tie", "draw", "equal", "平", "동점", "무승부", "[c]")


class FoundChoice(NamedTuple):
    """One option found in a text: which, and where its name stands."""

    side: Side
    start: int
    end: int
    is_sure: bool = True
    """whether the reply declares it as its choice, or only leans towards it"""


class Options:
    """Two names, the patterns that find them, and whether a tie was offered."""

    def __init__(self, options: tuple[str, str], tie: bool) -> None:
        first, second = (_bare(option) for option in options)
        self.tie = tie
        self.exact: dict[str, Side] = {first: "first", second: "second"}
        # Names that differ only in case ("m" and "M") can be distinguished only if the case is kept.
        self.is_cased = first.casefold() == second.casefold()
        keyed = [_KEYED.fullmatch(name.casefold()) for name in (first, second)]
        if keyed[0] and keyed[1] and keyed[0][2] != keyed[1][2]:
            nouns = (keyed[0][1] or "").strip()
            self.keys = (keyed[0][2], keyed[1][2])
            self.nouns = re.escape(nouns) + r"s?" if nouns else rf"(?:{NOUNS})"
            self.is_keyed, self.has_noun = True, bool(nouns)
            self._mention = re.compile(self._key_pattern())
            self._noun_names = _NOUNS_ABROAD | {nouns, nouns + "s"} if nouns else NOUN_NAMES
        else:
            self.keys = (first.casefold(), second.casefold())
            self.nouns, self.is_keyed, self.has_noun = rf"(?:{NOUNS})", False, False
            self._noun_names = frozenset()
            left_key, right_key = (re.escape(key) for key in self.keys)
            self._mention = re.compile(rf"(?i)(?<!\w)(?:{left_key}|{right_key})(?!\w)")
        self._tie_names = (
            {"tie", "c"} - {name.casefold() for name in self.exact} - (set() if self.is_keyed else {"c"})
        )
        self._value = re.compile(self._value_pattern())

    def _key_pattern(self) -> str:
        """A capital or a digit that stands for itself, or a small letter in brackets.

        It begins with the key, so that the search can jump to it: the article "a" is passed by at no cost.
        """
        left_key, right_key = self.keys
        if left_key.isalpha():
            capitals = left_key.upper() + right_key.upper()
            return (
                rf"[{left_key}{right_key}{capitals}](?:(?<=[{capitals}])(?<!{_INSIDE}.)|"
                rf"(?<=[(\[_\"“'].){self._behind_noun()}){_NOT_BEFORE}"
            )
        return rf"(?:{'|'.join(sorted(self.keys, key=len, reverse=True))}){_NOT_BEFORE}"

    def _behind_noun(self) -> str:
        """A small letter counts where it follows the noun that the options were shown with: "Output a"."""
        noun = self.nouns.removesuffix("s?") if self.has_noun else ""
        return rf"|(?<=(?i:{noun})\s.)" if noun else ""

    def _value_pattern(self) -> str:
        """What may stand behind a mark: "A", "(a)", "Response A", "A>>B", and words for a tie."""
        left_key, right_key = (re.escape(key) for key in self.keys)
        name = (
            rf"(?:the\s)?(?:(?:{self.nouns}|{NOUNS})[\s_]{{0,2}})?[#(\[\"'`]{{0,2}}(?P<one>{left_key}|"
            rf"{right_key})[)\"'`]{{0,2}}(?!\s?[<>=≈]{{1,3}}\s?[0-9a-z])(?![0-9a-z_\u00c0-\u058f’\-]|'s|[.,:/][0-9])"
        )
        if not self.is_keyed:
            name = rf"(?:the\s)?(?P<one>{left_key}|{right_key})(?!\w)"
        contest = (
            rf"(?:{NOUNS})?\s?(?P<left>{left_key}|{right_key})\s?(?P<sign>>{{1,3}}|<{{1,3}}|={{1,2}}|"
            rf"≈|≫|≪)\s?(?:{NOUNS})?\s?(?P<right>{left_key}|{right_key})(?!\w)"
        )
        return (
            rf"(?:{contest})|(?P<name>{name})|(?P<tie>(?:an?\s)?(?:{_TIE_WORDS})(?!\w)(?=\s?(?:$|[\n.,"
            rf";:!)\]}}\"'<|-])|\s(?:between|because|as|since)\b))|(?P<third>[\"'(\[]?c(?![\w'’\-]))"
        )

    def mentions(self, text: str) -> list[FoundChoice]:
        """The keys in a piece of prose, which keeps its case:
        capitals, keys in brackets, digits behind a noun.
        """
        if self.is_cased:
            return []
        mentions = []
        first = self.keys[0]
        needs_noun = self.is_keyed and (self.has_noun or first.isdigit())
        for match in self._mention.finditer(text):
            start, end = match.span()
            if needs_noun and not self._is_named(text, start, end):
                continue
            if self.is_keyed and text[start - 1 : start] == " " and _names_another(text, start):
                continue
            mentions.append(FoundChoice("first" if match[0].lower() == first else "second", start, end))
        return mentions or _ordinals(text) or _ordinals_abroad(text)

    def _is_named(self, text: str, start: int, end: int) -> bool:
        if text[start - 1 : start] == "#" or (text[start - 1 : start] == "(" and text.startswith(")", end)):
            return True
        return self._noun_before(text, _opened(text, start)) > 0

    def whole(self, text: str, key: FoundChoice) -> FoundChoice:
        """The mention with its noun and brackets, as the text has them."""
        if not self.is_keyed or key.end - key.start > len(self.keys[0]):
            return key
        opens = _opened(text, key.start)
        noun = self._noun_before(text, opens)
        closes = key.end
        if any(mark in text[opens : key.start] for mark in '(["“'):
            while text[closes : closes + 1] in tuple(')]"”'):
                closes += 1
        if noun:
            return FoundChoice(key.side, opens - noun, closes)
        in_brackets = text[key.start - 1 : key.start] == "(" and closes > key.end
        return FoundChoice(key.side, key.start - 1, key.end + 1) if in_brackets else key

    def _noun_before(self, text: str, end: int) -> int:
        """The length of the noun that ends at `end`, 0 where there is none."""
        if not self._noun_names:
            return 0
        before = text[max(0, end - 24) : end].lower()
        word = before[before.rfind(" ") + 1 :].lstrip("(\"'“[-–—/\n")
        if word in self._noun_names:
            return len(word)
        if self.has_noun or not before.isascii():
            return max((len(noun) for noun in self._noun_names if before.endswith(noun)), default=0)
        return 0

    def may_name_other(self, mention: FoundChoice, cased: str, judge_text: str) -> bool:
        """Whether another option may be named behind this one;
        a cheap look that is never wrong when it says no.
        """
        if mention.side == "tie":
            return True
        other = self.keys[1] if mention.side == "first" else self.keys[0]
        if len(other) > 1 or not other.isalpha():
            is_named = judge_text.find(other, mention.end) >= 0
        else:
            is_named = (
                cased.find(other.upper(), mention.end) >= 0 or cased.find("(" + other, mention.end) >= 0
            )
        return is_named or (self.tie and any(judge_text.find(word, mention.end) >= 0 for word in _TIE_NAMES))

    def exactly(self, text: str) -> Side | None:
        """The option whose name the text is, and nothing else."""
        if len(text) > LONGEST_NAME:
            return None
        side = self.exact.get(text)
        if side is None and not self.is_cased:
            named = [side for name, side in self.exact.items() if name.casefold() == text.casefold()]
            side = named[0] if named else None
        if side is None and self.tie and text.casefold() in self._tie_names:
            side = "tie"
        return side

    def value_at(self, folded: str, at: int) -> FoundChoice | None:
        """The option, comparison or tie that begins at `at`;
        none where there is another thing or a list of both.
        """
        match = None if self.is_cased else self._value.match(folded, at)
        if match is None:
            return None
        if match["sign"]:
            return self._contest(match)
        if match["name"]:
            return self._named(folded, match)
        if match["third"] and (not self.tie or not self.is_keyed or "c" in self.keys):
            return None
        return FoundChoice("tie", match.start(), match.end())

    def contest(self, text: str) -> Side | None:
        """The side that wins where a text is nothing but a comparison of both: A>>B, a=b."""
        match = None if self.is_cased else self._value.fullmatch(text)
        choice = self._contest(match) if match is not None and match["sign"] else None
        return choice.side if choice is not None and (self.tie or choice.side != "tie") else None

    def _contest(self, match: re.Match[str]) -> FoundChoice | None:
        left, sign, right = match["left"], match["sign"], match["right"]
        if left == right:
            return None
        if sign[0] in "=≈":
            side: Side = "tie"
        else:
            winner = left if sign[0] in ">≫" else right
            side = "first" if winner == self.keys[0] else "second"
        return FoundChoice(side, match.start(), match.end())

    def _named(self, folded: str, match: re.Match[str]) -> FoundChoice | None:
        key, end = match["one"], match.end()
        if _AND_ANOTHER.match(folded, end):
            return None
        alone = match["name"] == key
        if alone and key == "a" and _ARTICLE_FOLLOWED.match(folded, end):
            return None
        side: Side = "first" if key == self.keys[0] else "second"
        # The letter is the value, unless the options were shown with their noun: "Output (a)".
        return (
            FoundChoice(side, match.start(), end) if self.has_noun else FoundChoice(side, *match.span("one"))
        )


_OTHER_NOUNS = frozenset(
    "team player plan vitamin type group class grade hepatitis person party side point city company "
    "section part appendix figure table step phase product train car box bag set column row series "
    "category level speaker student patient vector matrix event node variable angle country "
    "bank school room gate terminal route stage scenario case".split()
)


def _names_another(text: str, start: int) -> bool:
    """Whether the letter belongs to a name of another kind: "Plan A", "Vitamin B"."""
    before = text[max(0, start - 12) : start - 1]
    return before[before.rfind(" ") + 1 :].lower() in _OTHER_NOUNS


_AND_ANOTHER = lazily(
    r"\s?(?:or|and|/|,|&|vs\.?|versus)\s?(?:(?:the|responses?|outputs?|assistants?|options?)\s)?\(?(?:[a-d]|"
    r"[0-9])\)?(?![\w'’])"
)
_ARTICLE_FOLLOWED = lazily(
    r"[ "
    r"](?!(?:is|was|wins|because|since|as|provides|has|performs|does|gives|offers|better|due|for|with|and|"
    r"but|than|over)\b)[a-z]"
)


def _ordinals(text: str) -> list[FoundChoice]:
    """The options by their place. Beside names they could mean anything: a turn, the one named last."""
    mentions: list[FoundChoice] = []
    for word, side in _ORDINALS.items():
        if word not in text:
            continue
        for start, end in places(text, (word,), MOST_ORDINALS):
            noun = _ORDERED.match(text, end) if word[-1] == " " else None
            if text[max(0, start - 4) : start].lower() == "the " and (noun or word[-1] != " "):
                mentions.append(FoundChoice(side, start, noun.end() if noun else end))
    return sorted(mentions, key=lambda mention: mention.start)


_FIRST_ABROAD = (
    r"erste[rns]?|premi(?:er|ère)|primer[oa]?|prim[ao]|primeir[oa]|перв(?:ый|ая|ое|ого)|"
    r"第一[个個份]?|最初の|[1一][つ番]目の|첫\s?번째"
)
_SECOND_ABROAD = (
    r"zweite[rns]?|second[eoa]?|deuxième|segund[oa]|втор(?:ой|ая|ое|ого)|"
    r"第二[个個份]?|[2二][つ番]目の|두\s?번째"
)
_ORDERED_ABROAD = lazily(
    rf"(?i)(?:(?P<first>{_FIRST_ABROAD})|(?:{_SECOND_ABROAD}))\s?"
    r"(?:antwort|zusammenfassung|ausgabe|réponse|résumé|respuesta|resumen|risposta|riassunto|resposta|resumo|"
    r"ответ|回答|回复|答案|摘要|回應|응답|답변|요약|応答|要約)"
)


def _ordinals_abroad(text: str) -> list[FoundChoice]:
    """The options by their place in other languages: "die erste Antwort", "第二个回答", "첫 번째 응답"."""
    places = islice(_ORDERED_ABROAD.finditer(text), MOST_ORDINALS)
    return [FoundChoice("first" if place["first"] else "second", *place.span()) for place in places]


def _opened(text: str, start: int) -> int:
    """Where the brackets, quotation marks and spaces before a key begin."""
    opens = start
    while opens > 0 and start - opens < 3 and text[opens - 1] in " #([_\"“'":
        opens -= 1
    return opens


def _bare(option: str) -> str:
    return option.strip().strip("[]*\"'` ").strip()


@lru_cache(maxsize=64)
def options_for(options: tuple[str, str], tie: bool) -> Options:
    """The patterns for a pair of names, built once."""
    return Options(options, tie)

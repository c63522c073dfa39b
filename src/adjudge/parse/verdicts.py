"""A winner that is named in a sentence: "Therefore, Output (b) is better", "I would choose A", "A가 더 좋습니다".

In each sentence that could decide, the options' names become two signs, and a few patterns look for a winner
among them. What others are said to think or ask for, conditions and questions decide nothing. Where sentences differ, the
concluding one wins; where none concludes, they conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple

from ..records import Reading
from .text import lazily, places

# The names of two options as judges write them: A, (a), Response A, Output (b), #1, baseline, 回答A, 응답 B.
#
# One `Options` is built for a pair of names and kept, since its patterns are worth more than one reply. It finds
# names in text and knows nothing of verdicts. Where no name stands, "the second response" and "the latter" are names
# too. A Cyrillic А is not a Latin A, and the article "a" is no option.


Side = Literal["first", "second", "tie"]

NOUNS = (
    r"responses?|assistants?|answers?|outputs?|options?|models?|summary|summaries|candidates?|systems?|texts?|completions?|translations?|"
    r"versions?|choices?|story|essays?|passages?|reply|replies|conversations?|ai|chatbots?|agents?|回答|助手|选项|模型|摘要|回复|答案|응답|답변|어시스턴트|"
    r"모델|요약|출력|回應|アシスタント|応答|要約"
)
NOUN_NAMES = frozenset(
    form
    for noun in re.sub(r"s\?", "", NOUNS).split("|")
    for form in ((noun, noun + "s") if noun.isascii() and not noun.endswith(("y", "s")) else (noun,))
)
_KEYED = lazily(r"(?:(.*?)[\s(#_-]++)?([a-z]|[0-9]{1,2})\)?", re.S)
_INSIDE = r"[0-9A-Za-z_\u00c0-\u058f’.\-]"
_NOT_BEFORE = r"(?![0-9A-Za-z_\u00c0-\u058f’\-+]|\.\w)"
_TIE_WORDS = r"tie[ds]?|draw|equal(?:ly)?|both|neither|same|no\sdifference|平局|平手|一样|相当|동점|무승부|비김|비슷|引き分け"


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
            self._noun_names = frozenset((nouns, nouns + "s")) if nouns else NOUN_NAMES
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
            return rf"[{left_key}{right_key}{capitals}](?:(?<=[{capitals}])(?<!{_INSIDE}.)|(?<=[(\[_\"“'].)){_NOT_BEFORE}"
        return rf"(?:{'|'.join(sorted(self.keys, key=len, reverse=True))}){_NOT_BEFORE}"

    def _value_pattern(self) -> str:
        """What may stand behind a mark: "A", "(a)", "Response A", "A>>B", and words for a tie."""
        left_key, right_key = (re.escape(key) for key in self.keys)
        name = rf"(?:the\s)?(?:(?:{self.nouns}|{NOUNS})[\s_]{{0,2}})?[#(\[\"'`]{{0,2}}(?P<one>{left_key}|{right_key})[)\"'`]{{0,2}}(?![0-9a-z_\u00c0-\u058f’\-]|'s|[.,:/][0-9])"
        if not self.is_keyed:
            name = rf"(?:the\s)?(?P<one>{left_key}|{right_key})(?!\w)"
        contest = rf"(?:{NOUNS})?\s?(?P<left>{left_key}|{right_key})\s?(?P<sign>>{{1,3}}|<{{1,3}}|={{1,2}}|≈|≫|≪)\s?(?:{NOUNS})?\s?(?P<right>{left_key}|{right_key})(?!\w)"
        return rf"(?:{contest})|(?P<name>{name})|(?P<tie>(?:an?\s)?(?:{_TIE_WORDS})(?!\w)(?=\s?(?:$|[\n.,;:!)\]}}\"'<|-])|\s(?:between|because|as|since)\b))|(?P<third>[\"'(\[]?c(?![\w'’\-]))"

    def mentions(self, text: str) -> list[FoundChoice]:
        """The keys in a piece of prose, which keeps its case: capitals, keys in brackets, digits behind a noun."""
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
        return mentions or _ordinals(text)

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
        """Whether another option may be named behind this one; a cheap look that is never wrong when it says no."""
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
        """The option, comparison or tie that begins at `at`; none where there is another thing or a list of both."""
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
    "team player plan vitamin type group class grade hepatitis person party side point city company section part appendix figure table step phase "
    "product train car box bag set column row series category level speaker student patient vector matrix event node variable angle country "
    "bank school room gate terminal route stage scenario case".split()
)


def _names_another(text: str, start: int) -> bool:
    """Whether the letter belongs to a name of another kind: "Plan A", "Vitamin B"."""
    before = text[max(0, start - 12) : start - 1]
    return before[before.rfind(" ") + 1 :].lower() in _OTHER_NOUNS


_AND_ANOTHER = lazily(
    r"\s?(?:or|and|/|,|&|vs\.?|versus)\s?(?:(?:the|responses?|outputs?|assistants?|options?)\s)?\(?(?:[a-d]|[0-9])\)?(?![\w'’])"
)
_ARTICLE_FOLLOWED = lazily(
    r"[ ](?!(?:is|was|wins|because|since|as|provides|has|performs|does|gives|offers|better|due|for|with|and|but|than|over)\b)[a-z]"
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


HEAD = 2_000
TAIL = 8_000
"""How far from the two ends of a reply a verdict in prose is looked for, in characters."""

LAST_WORDS = 300
LONGEST_SENTENCE = 1_000
MOST_WORDS = 100
"""How often one word for a tie is looked at within those."""

# Control characters keep plain English in one byte a character, which all searches profit from.
_FIRST, _SECOND = "\x01", "\x02"
_ANY = f'([{_FIRST}{_SECOND}])[{_FIRST}{_SECOND}]*+[)\\]"”]{{0,2}}+'

_TYING = (" tie", " draw", "equal", "neither", "winner", "identical", "comparable")
_TYING_ASIAN = ("平局", "不相上下", "무승부", "동점")
_DOUBTING = (
    "hard",
    "difficult",
    "impossible",
    "tough",
    "or is it",
    "depend",
    "cannot",
    "can't",
    "either",
    "难以",
    "어렵",
)
_SENTENCE_END = lazily(r"[.!?。！？\n](?:(?<=[。！？\n])|(?=[\s.]|$))")
_ADVERB = (
    r"(?:,?\s(?:also|clearly|overall|slightly|much|significantly|marginally|generally|therefore|thus|still|far|a\slot|a\sbit|somewhat|"
    r"definitely|certainly|actually|really|ultimately|arguably|indeed|objectively|obviously|notably|considerably|the|an?|in\smy\sopinion|by\sfar|"
    r"considered|deemed|judged|seen\sas|regarded\sas|found\sto\sbe|to\sbe|my|our|likely|probably|simply|just|even|as|output|overall,|clear|obvious|decisive|strong)){0,4}"
)
_NOUN = r"(?:'s|’s)?(?:\s(?:response|answer|output|summary|one|analysis|explanation|code|solution|reply|approach|translation))?"
_KOREAN_NOT = r"(?![가-힣]{0,3}\s?수(?:도|는)?\s?있|[가-힣]{0,4}(?:지|진|다고|기)\s?(?:는\s|도\s)?(?:않|못|할\s?수|볼\s?수|보기|말|어렵)|할\s?수\s?(?:는\s)?없)"
"""What may not follow a Korean verb, which carries its no behind itself."""
_KOREAN_BETTER = rf"(?:좋|우수|나(?![쁘쁜쁩빠빴])|낫|뛰어|적절){_KOREAN_NOT}"
_KOREAN_WORSE = rf"(?:나[쁘쁜쁩빠빴]|못하|못합|떨어){_KOREAN_NOT}"
_WINS = lazily(
    rf"{_ANY}(?:{_NOUN}{_ADVERB}(?:,?\s(?:is|was|are|would\sbe|seems|appears|remains|stands\sout\sas|emerges\sas|comes\sout\sas|as|being|gets|(?:should|can|could)\sbe(?=,?\s(?:clearly\s|also\s)?(?:considered|deemed|judged|seen|regarded|found|preferred|favou?red|chosen)\b))"
    rf"{_ADVERB}\s(?:better(?!\s(?:written|structured|organi[sz]ed|formatted|phrased|worded|presented|explained))|best|superior|preferable|preferred|stronger|winner|favou?red|winning|chosen)\b"
    r"|\s(?:wins?|outperforms?|outshines|surpass(?:es)?|beats|edges\sout|comes\sout\s(?:ahead|on\stop)|has\s(?:the|an|a\sslight)\sedge|takes\sthe\slead)\b)"
    r"|\s?(?:的回答|的回复)?(?:明显|略|稍|显然|总体上?|整体上?|相对|会)?(?:更好|更优|更佳|更胜一筹|胜出|获胜|较好|较优|优于|胜过|更出色)"
    r"|\s?(?:가|이|의\s답변이|의\s응답이|는|은|쪽이)?\s?(?:훨씬|조금|약간|좀)?\s?더\s?"
    rf"{_KOREAN_BETTER}|\s?(?:가|이)?\s?(?:승리|이겼|이긴){_KOREAN_NOT}|\s?(?:을|를)\s?(?:선택|선호){_KOREAN_NOT}|\s?の(?:ほう|方)が(?:良い|優れ))"
)
"""The option comes first in all these patterns, so that a search jumps from name to name."""
_CHOOSES = lazily(
    r"(?:\b(?:choos(?:e|ing)|chose|select(?:ed)?|prefer|pick(?:ed)?|go\swith|i(?:'d|\swould)\ssay|favou?r|vote\sfor|lean(?:ing)?\stowards?|in\sfavou?r\sof|recommend|"
    r"preference\s(?:is|goes)(?:\sto|\sfor)?|goes\sto|winner\sis|verdict\sis|decision\sis|award\sthis\sto|"
    r"(?:better|best|preferred|superior|stronger|winning)(?:\s(?:response|output|answer|one|option|choice|summary|assistant|candidate|model))?\s(?:is|would\sbe|seems\sto\sbe|appears\sto\sbe)|"
    rf"(?<!correct\s)(?<!right\s)(?<!own\s)(?<!true\s)(?<!actual\s)(?<!'s\s)(?:final\s)?(?<!'s\sfinal\s)(?:answer|choice)\sis):?{_ADVERB}\s?|(?:选择|选|我选|更好的是|胜者是|胜者为|获胜者是|승자는|선택은)\s?:?\s?)"
    rf"(?:(?:the\s)?(?:{NOUNS})[\s_]{{0,2}})?[#(\[\"“']{{0,2}}$"
)
"""What stands right before the option that is chosen."""
_BEFORE_CHOSEN = frozenset(
    "say choose choosing chose select selected prefer pick picked with favor favour for toward towards of recommend is to be the clearly "
    "definitely obviously overall certainly ultimately therefore thus still likely probably simply just also".split()
)
_LOSES = lazily(
    rf"{_ANY}(?:{_NOUN}{_ADVERB}\s(?:is|was|seems|appears){_ADVERB}\s(?:worse|inferior|weaker)\b"
    rf"|\s?(?:가|이|의\s답변이|의\s응답이|는|은|쪽이)?\s?(?:훨씬|조금|약간|좀)?\s?더\s?{_KOREAN_WORSE})"
)
_OTHER = rf"(?:\s?(?:the|{NOUNS}))?\s?{_ANY}"
_POSSESSED_ANSWER = "(?:的(?:回答|回复))?"
_BY_HOW_MUCH = r"(?:훨씬\s?|조금\s?|약간\s?)?(?:더\s?)?"
_BEATS = lazily(
    rf"{_ANY}(?:{_POSSESSED_ANSWER}比{_OTHER}{_POSSESSED_ANSWER}(?:更|要|还|明显|略|稍微?|显然|整体){{0,2}}(?:好|优|佳|强|出色|准确|完整)"
    rf"|(?:가|이|의\s답변이|쪽이)\s?{_OTHER}보다\s?{_BY_HOW_MUCH}{_KOREAN_BETTER})"
)
_YIELDS = lazily(
    rf"{_ANY}(?:{_POSSESSED_ANSWER}(?:(?:明显|显然|远|稍|略)?(?:不如|不及|逊于|劣于){_OTHER}|没有{_OTHER}{_POSSESSED_ANSWER}(?:那么|这么)?(?:好|优|强|出色|准确)"
    rf"|比{_OTHER}{_POSSESSED_ANSWER}(?:更|要|还|明显|略|稍微?){{0,2}}(?:差|弱|糟|逊))"
    rf"|보다는?\s?{_OTHER}(?:가|이|의\s답변이|쪽이)\s?{_BY_HOW_MUCH}{_KOREAN_BETTER}"
    rf"|(?:가|이)\s?{_OTHER}보다\s?{_BY_HOW_MUCH}{_KOREAN_WORSE}"
    rf"|(?:가|이)?\s?아니라,?{_OTHER}(?:입니다|이다|이에요|가|를|을|\s?[.。]|$))"
)
_YIELDS_ENGLISH = lazily(
    rf"{_ANY}{_NOUN}{_ADVERB}\s(?:(?:(?:is|was)n't\sas\s(?:good|strong|helpful|accurate)\sas|(?:is|was){_ADVERB}\s(?:not\s(?:nearly\s|quite\s)?as\s(?:good|strong|helpful|accurate)\sas|"
    rf"outperformed\sby|beaten\sby|no\smatch\sfor))|(?:loses|lost)\sto|falls\sshort\sof){_OTHER}"
)
"""Sentences that set one option against the other: the one that is named first wins, or yields to the other."""
_MORE = lazily(
    rf"{_ANY}{_NOUN}{_ADVERB}(?:\s(?:is|was){_ADVERB}\s(?:more|most)\s"
    r"(?:accurate|helpful|relevant|correct|coherent|consistent|fluent|informative|comprehensive|precise|appropriate|effective|suitable|faithful|"
    r"complete|convincing|useful|truthful|reliable|natural|readable)\b"
    rf"|\s(?:provid|giv|offer|ha|produc)[a-z]+{_ADVERB}\sbetter\s(?:response|answer|output|summary|solution)\b)"
)
_WEIGHS = lazily(r"\b(?:while|whereas|but|however|although|though|on\sthe\sother\shand)\b")
_TIES = lazily(
    r"\b(?:it(?:'s|\sis)|this\sis|is|are|as|call\sit|declare|end\sin|result(?:s|ed)?\sin|to)\s(?:essentially\s|effectively\s)?an?\s(?:tie|draw)\b|"
    r"\b(?:it(?:'s|\sis)|this\sis|is|are)\s(?:essentially\s|effectively\s)?tied?\b(?!\s(?:to|up|with|in|the|at)\b)|"
    r"\bequally\s(?:good|well|helpful|bad|valid|relevant|strong|effective|accurate|correct|coherent|consistent|fluent)|"
    r"\b(?:both|two|they)\b[^.\n]{0,60}\bare\s(?:\w{1,20}\s)?(?:equal|equivalent|comparable|identical)\b|"
    rf"neither\s[^.\n]{{0,16}}{_ANY}[^.\n]{{0,30}}{_ANY}|\bneither\s(?:\w{{1,12}}\s){{0,2}}?is\s(?:\w{{1,14}}\s)?(?:better|superior|worse|preferable)|\bno\s(?:clear\s)?winner|平局|不相上下|무승부|동점"
)
_SAYS_TIE = lazily(r"\b(?:tie|tied|draw)\b|winner|平局|무승부|동점")
_DENIED_TIE = lazily(r"\b(?:not|n't|but|however|although)\b|n't\b")
_UNDECIDED = lazily(
    r"\b(?:hard|difficult|impossible|tough)\sto\s(?:decide|say|choose|tell|determine|pick|judge)|\bor\sis\sit\b|\bit\sdepends\b|\bdepend(?:s|ing)\son\b|"
    r"\bcannot\s(?:decide|determine|choose|select|say|tell)|can't\s(?:decide|determine|choose|say)|\beither\s(?:one|of)|难以(?:判断|决定)|판단하기\s어렵"
)
# Written out, since alternatives that begin with a letter are passed by at its first glance.
_OTHERS_MIGHT = "|".join(
    rf"{who}\s(?:might|may|could|would|can)\s(?:\w{{1,12}}\s)?(?:think|say|argue|believe|prefer|choose|pick)"
    for who in ("one", "you", "someone", "people", "many", "others", "readers?", "users?")
)
_OTHER_JUDGES = "|".join(
    rf"{which}\s(?:judge|rater|reviewer|evaluator|annotator)s?"
    for which in ("previous", "prior", "earlier", "other", "another")
)
_NOT_THE_JUDGES = lazily(
    r"\b(?:whether|if(?!\s(?:i\s(?:had|have|must|were)|forced|pressed|anything))|unless|(?:might|may|could)\s(?:seem|appear|look)|to\sdetermine|would\shave|might\sbe|may\sbe|could\sbe\sargued|some\s(?:may|might|people)|(?:claim|idea|notion|assertion|suggestion|assumption)\sthat|argu(?:es|ed|ing)|"
    r"believ(?:es|ed)|claim(?:s|ed)|stat(?:es|ed)\sthat|suggests?|thinks|says|said|contends?|asserts?|according\sto|"
    rf"{_OTHERS_MIGHT}|{_OTHER_JUDGES}|at\sfirst\s(?:glance|sight))\b|如果|是否|若|有人|用户认为|作者认为|难说"
)
_SPEAKS_UP = lazily(r"\b(?:but|yet|however,?)\s(?:i|in\smy|overall|my)\b")
_URGED = lazily(
    r"\b(?:ask|tell|told|want|instruct|request|order|urge|tempt)(?:s|ed)?\s(?:(?:me|us|you|the\sjudge)\s)?(?:to|that|for)\s(?:the\s)?(?:\w{1,12}\s)?$"
)
"""Words before a verdict that another person requested."""
_DENIED_THAT = lazily(
    r"(?:\b(?:not|never|cannot)|n't)\s(?:\w{1,12}\s){0,2}?(?:true|clear|obvious|evident|certain|sure|convinced|correct|right|accurate|fair|case|mean|imply|say|think|"
    r"believe|agree|claim|conclude|follow|accept|find)\s(?:\w{1,12}\s)?that\b(?:(?!\b(?:so|but|thus|hence)\b)[^,;:.]){0,60}$"
    r"|\b(?:false|wrong|incorrect|untrue|(?<!no\s)(?<!without\s)(?<!little\s)doubt(?:ful)?|disagree|deny|dispute|reject)\b[^,;:.]{0,24}\bthat\b(?:(?!\b(?:so|but|thus|hence)\b)[^,;:.]){0,60}$"
)
"""A no to the whole of what follows: "it is not true that"."""
_ON_CONDITION = lazily(
    r"[^.,;:\n]{0,60}?\s(?:if|unless|provided|were\sit|had\sit)\s(?!i\b|only\b|forced|pressed|anything|not\b)"
)
_TURNED = lazily(
    r"[^.;\n]{0,80}?\b(?:but|yet|however|though)\b[^.;\n\x01\x02]{0,24}\b(?:(?:loses?|lost|worse|weaker|inferior|falls|fails|lags)\b[^.;\n\x01\x02]{0,24}\b"
    r"(?:overall|in\stotal|in\sthe\send|on\sbalance|in\sgeneral)|overall\b[^.;\n\x01\x02]{0,12}\b(?:loses|worse|weaker|inferior|falls|fails))\b"
)
"""What takes a partial win back: "on style, but loses overall"."""
_BOTH = lazily(
    rf"[{_FIRST}{_SECOND}][)\]\"”]{{0,2}}\s(?:and|or|nor)\s(?:the\s)?(?:(?:{NOUNS})\s)?[(\[\"“]{{0,2}}$"
)
"""The other option right before this one: what follows is said of both."""
_EACH_IN_PART = lazily(
    rf"\s(?:in|on|at|for)\s[^.;,{_FIRST}{_SECOND}]{{2,40}},?\s(?:and\s|but\s|while\s|whereas\s)?(?:(?:{NOUNS})\s)?[(]?[{_FIRST}{_SECOND}]\)?\s(?:in|on|at|for)\s"
)
_SAYS_ANOTHER = lazily(r"[^.;\n]{0,24}, (?:says|said|claims|claimed|argues|argued|writes)\b")
_AT_FIRST = lazily(
    r"\s(?:at\sfirst|initially|in\s(?:the|this)\s(?:example|story|text|scenario|dialogue|game|article|poem)\b|until\b|(?:as|so)\slong\sas\b|only\s(?:if|when|in)\b|in\ssome\s|in\spart\b|on\spaper)"
)
_TURNING = ("but ", "yet ", "however", "though")
_COMPARED_TO = lazily(rf"(?<!相)比\s?(?:{NOUNS})?\s?$")
_SET_AGAINST = lazily(
    "as (?:good|strong|helpful|accurate) as|los(?:es|t) to|short of|(?:formed|beaten) by|no match"
)
_SET_AGAINST_ASIAN = lazily("[比如及于]|没有|보다|아니라")
_DENIED = lazily(
    r"\b(?:not|cannot|never|nor|neither|either|instead\sof|rather\sthan|than|over)\b|n't\b|不|并非|没有|않|아니|못"
)
_CONCEDING = ("although", "though", "while", "even though", "even if", "despite")
_CLAUSE_END = lazily(r"[,;:，；、]|\b(?:and|but|so|because|while|that|therefore)\b")
_CONCLUDES = lazily(
    r"\b(?:therefore|thus|hence|overall|conclu\w+|final(?:ly)?|in\s(?:summary|sum)|consequently|as\sa\sresult|ultimately|so|accordingly|"
    r"verdict|i\s(?:would|will|have|choose|select|prefer|pick|believe|determine)|given\s(?:this|these|the|that)|based\son|after)\b"
    r"|因此|所以|综上|总的来说|总体|最终|综合|따라서|그러므로|종합|결론|최종"
)


_QUIZ = lazily(
    r"\([D-J]\)|\n[ \t]{0,8}[D-J][.)]\s|\b(?:[Aa]nswer(?:s|ed)?|[Cc]hose|[Cc]hooses|[Ss]elect(?:s|ed)|[Pp]ick(?:s|ed)|[Oo]ptions?|[Cc]hoices?)\s(?:option\s)?\(?(?:[D-J]|C(?=\)|,\s(?:while|and|but)|\s(?:while|and|but|is)\b))\)?(?![\w'’])"
)
_OF_ANSWER = lazily(r"(?:answer|choice|option)\sis[\s:(\[\"“']{0,4}$")


def is_quiz(cased: str) -> bool:
    """Whether the task itself has lettered choices, so that "the answer is A" need not name the better response."""
    return _QUIZ.search(cased, max(0, len(cased) - TAIL)) is not None


class SaidChoice(NamedTuple):
    """A winner that a sentence names, and where the sentence begins."""

    winner: FoundChoice
    sentence: int
    concludes: bool
    is_weak: bool = False


class _Signed:
    """A part of a reply in which the key of each option is a sign; all places are as they were."""

    def __init__(self, cased: str, judge_text: str, offset: int, names: Options) -> None:
        if _FIRST in judge_text or _SECOND in judge_text:
            judge_text = judge_text.replace(_FIRST, " ").replace(_SECOND, " ")
        parts: list[str] = []
        at = 0
        self.cased, self.offset, self.names = cased, offset, names
        self.mentions = {key.start: key for key in names.mentions(cased)}
        for side, start, end in self.mentions.values():
            parts += (judge_text[at:start], (_FIRST if side == "first" else _SECOND) * (end - start))
            at = end
        parts.append(judge_text[at:])
        self.text = "".join(parts)
        tying = _TYING if self.text.isascii() else _TYING + _TYING_ASIAN
        self.tie_words = [start for start, _ in places(self.text, tying, MOST_WORDS)]

    def sentence(self, at: int) -> tuple[int, int]:
        """Where the sentence around a place begins and ends."""
        begin = max(0, at - LONGEST_SENTENCE)
        for stop in _SENTENCE_END.finditer(self.text, begin, at):
            begin = stop.end()
        end = _SENTENCE_END.search(self.text, at)
        return begin, end.end() if end else len(self.text)

    def said(self, key: FoundChoice, begin: int, finish: int, is_weak: bool = False) -> SaidChoice:
        """A winner as a finding in the reply."""
        mention = self.names.whole(self.cased, key) if key.side != "tie" else key
        placed = FoundChoice(mention.side, self.offset + mention.start, self.offset + mention.end)
        concludes = _CONCLUDES.search(self.text, begin, finish) is not None
        return SaidChoice(placed, self.offset + begin, concludes, is_weak)

    def tie(self, begin: int, finish: int, is_weak: bool = False) -> SaidChoice:
        """A tie: the whole sentence says it."""
        sentence = self.text[begin:finish]
        start = begin + len(sentence) - len(sentence.lstrip())
        return self.said(FoundChoice("tie", start, begin + len(sentence.rstrip())), begin, finish, is_weak)


def verdict_said(cased: str, judge_text: str, names: Options) -> FoundChoice | Reading | None:
    """The winner that the sentences name; a reading without value where they name several or doubt.

    They are read from the last to the first, and no further than to one that concludes.
    """
    statements: list[SaidChoice] = []
    parts: list[_Signed] = []
    for start, end in _windows(judge_text):
        parts.append(_Signed(cased[start:end], judge_text[start:end], start, names))
        for statement in _strong(parts[-1]):
            if (
                statements
                and statements[0].concludes
                and statements[0].winner.side != "tie"
                and statement.sentence < statements[0].sentence
            ):
                return _decided(statements, judge_text, names)
            statements.insert(0, statement)
        if statements and statements[0].concludes and statements[0].winner.side != "tie":
            return _decided(statements, judge_text, names)
    if not statements:
        statements = _weighty(
            [statement for part in reversed(parts) for statement in _weak(part)], judge_text
        )
    return _decided(statements, judge_text, names)


def _windows(judge_text: str) -> list[tuple[int, int]]:
    """The parts to read, the last first: most replies conclude at their end, and the rest need not be read then."""
    length = len(judge_text)
    if length <= LAST_WORDS:
        return [(0, length)]
    cut = max(judge_text.rfind(stop, 0, length - LAST_WORDS) for stop in ("\n", ". ", "。")) + 1
    if length <= HEAD + TAIL:
        return [(cut, length), (0, cut)]
    return [(length - TAIL, length), (0, HEAD)]


def _decided(statements: list[SaidChoice], judge_text: str, names: Options) -> FoundChoice | Reading | None:
    if not names.tie and any(statement.winner.side != "tie" for statement in statements):
        statements = [statement for statement in statements if statement.winner.side != "tie"]
    last = _concluding(statements)
    if not last:
        return None
    if len({statement.winner.side for statement in last}) > 1:
        return Reading(status="conflicting")
    rest = judge_text[last[-1].winner.start :][:TAIL]
    is_doubted = any(word in rest for word in _DOUBTING) and _UNDECIDED.search(rest) is not None
    return Reading() if is_doubted else last[-1].winner


def _concluding(statements: list[SaidChoice]) -> list[SaidChoice]:
    if len({statement.winner.side for statement in statements}) <= 1:
        return statements
    concluded = [statement.sentence for statement in statements if statement.concludes]
    return (
        [statement for statement in statements if statement.sentence >= concluded[-1]]
        if concluded
        else statements
    )


def _weighty(statements: list[SaidChoice], judge_text: str) -> list[SaidChoice]:
    """Those of a conclusion, or of the first sentence: "A is more detailed" in between is only weighing."""
    concluding = [statement for statement in statements if statement.concludes]
    if concluding or not statements:
        return concluding
    if len({statement.winner.side for statement in statements}) > 1:
        return []
    first_end = _SENTENCE_END.search(judge_text)
    return [
        statement for statement in statements if first_end is None or statement.sentence < first_end.start()
    ]


def _strong(part: _Signed) -> Iterator[SaidChoice]:
    """The options called the better one or chosen, and plain ties, from the last to the first."""
    text = part.text
    if not part.mentions and not part.tie_words:
        return
    claims = [
        (match.start(), match.start(), match.end())
        for match in _WINS.finditer(text)
        if text.isascii() or not _COMPARED_TO.search(text, max(0, match.start() - 8), match.start())
    ]
    won = _contests(part)
    claims += [(at, at, at) for at in won]
    for at in part.mentions:
        chooses = _CHOOSES.search(text, max(0, at - 80), at) if _may_be_chosen(text, at) else None
        if chooses and _OF_ANSWER.search(text, max(0, at - 24), at) and is_quiz(part.cased):
            continue
        if chooses:
            claims.append((at, chooses.start(), at + 1))
    for at, start, end in sorted([*claims, *_ties(part)], reverse=True):
        begin, finish = part.sentence(at)
        if text[begin:finish].rstrip().endswith(("?", "？")):
            continue
        key = won.get(at) if end == at else part.mentions.get(at)
        if key is None:
            yield part.tie(begin, finish)
        elif _is_said(text, begin, start, at, end):
            yield part.said(key, begin, finish)


def _contests(part: _Signed) -> dict[int, FoundChoice]:
    """Where a sentence sets one option against the other, with the one that wins: "A不如B", "A loses to B"."""
    text = part.text
    # A look at what stands between two names spares most texts the search.
    between = "\n".join(
        [
            text[first.end : second.end + 3]
            for first, second in pairwise(part.mentions.values())
            if second.side != first.side and second.start - first.end < 64
        ]
    )
    patterns: list[tuple[bool, re.Pattern[str]]] = []
    if between and _SET_AGAINST.search(between):
        patterns.append((False, _YIELDS_ENGLISH))
    if not between.isascii() and _SET_AGAINST_ASIAN.search(between):
        patterns += ((True, _BEATS), (False, _YIELDS))
    won: dict[int, FoundChoice] = {}
    for is_first, pattern in patterns:
        for match in pattern.finditer(text):
            named = part.mentions[match.start()]
            other = next(
                (key for at in range(named.end, match.end()) if (key := part.mentions.get(at))), named
            )
            if other.side != named.side:
                won[match.start()] = named if is_first else other
    return won


def _may_be_chosen(text: str, at: int) -> bool:
    """Whether the word before the option could be that of a choice; a cheap look that spares most searches."""
    before = text[max(0, at - 32) : at].rstrip(" #([\"“':_")
    if not before.isascii():
        return True
    words = before.rsplit(None, 2)
    if len(words) > 1 and words[-1] in NOUN_NAMES:
        del words[-1]
    return bool(words) and words[-1].rstrip(":") in _BEFORE_CHOSEN


def _ties(part: _Signed) -> Iterator[tuple[int, int, int]]:
    for at in part.tie_words:
        begin, finish = part.sentence(at)
        if _is_tie(part.text, begin, finish) and _SAYS_TIE.search(part.text, begin, finish):
            yield at, begin, finish


def _is_tie(text: str, begin: int, finish: int) -> bool:
    return _TIES.search(text, begin, finish) is not None and not _DENIED_TIE.search(text, begin, finish)


def _weak(part: _Signed) -> list[SaidChoice]:
    """Options called more accurate or worse, and answers called equally good, in order."""
    text = part.text
    statements: list[SaidChoice] = []
    if not part.mentions and not part.tie_words:
        return statements
    for pattern, wins in ((_LOSES, False), (_MORE, True)):
        for match in pattern.finditer(text):
            at = match.start()
            begin, finish = part.sentence(at)
            if _WEIGHS.search(text, begin, finish) or not _is_said(text, begin, at, at, match.end()):
                continue
            key = part.mentions[at]
            if not wins:
                key = key._replace(side="second" if key.side == "first" else "first")
            statements.append(part.said(key, begin, finish, is_weak=True))
    for at in part.tie_words:
        begin, finish = part.sentence(at)
        if _is_tie(text, begin, finish):
            statements.append(part.tie(begin, finish, is_weak=True))
    return sorted(statements, key=lambda statement: statement.winner.start)


def _is_said(text: str, begin: int, start: int, at: int, end: int) -> bool:
    """Whether the judge itself says so, without a condition and without a no."""
    if _is_not_the_judges(text, max(begin, at - 120), start, at) or _is_limited(text, end):
        return False
    if _BOTH.search(text, max(begin, at - 32), at):
        return False
    before = text[begin:at].lstrip()
    if before.startswith(_CONCEDING) and "," not in before:
        return False
    clause = max(begin, start - 40)
    for stop in _CLAUSE_END.finditer(text, clause, at):
        clause = stop.end()
    return _DENIED.search(text, clause, end) is None


def _is_not_the_judges(text: str, begin: int, start: int, at: int) -> bool:
    """Whether what stands before the verdict attributes it to another speaker, or denies all of it."""
    if _NOT_THE_JUDGES.search(text, begin, at):
        from_turn = begin
        for turn in _SPEAKS_UP.finditer(text, begin, at):
            from_turn = turn.start()
        if from_turn == begin or _NOT_THE_JUDGES.search(text, from_turn, at):
            return True
        begin = from_turn
    if " that" in text[begin:at] and _DENIED_THAT.search(text, begin, at):
        return True
    before = text[max(begin, start - 48) : start]
    is_led = " to " in before or " that " in before or " for " in before
    return is_led and _URGED.search(before) is not None


def _is_limited(text: str, end: int) -> bool:
    """Whether what stands behind the verdict makes it a condition's, or takes it back."""
    after = text[end : end + 160]
    if ", " in after and _SAYS_ANOTHER.match(after):
        return True
    if _AT_FIRST.match(after) or _EACH_IN_PART.match(after):
        return True
    if (
        " if " in after or " unless " in after or "provided" in after or "d it " in after
    ) and _ON_CONDITION.match(after):
        return True
    return any(word in after for word in _TURNING) and _TURNED.match(after) is not None

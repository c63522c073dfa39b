"""A winner that is named in a sentence: "Therefore, Output (b) is better", "I would choose A", "A가 더 좋습니다".

In each sentence that could decide, the options' names become two signs, and a few patterns look for a winner
among them. What others are said to think, conditions and questions decide nothing. Where sentences differ, the
concluding one wins; where none concludes, they conflict.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from ..records import Reading
from .options import Found, Options, Side
from .text import places

HEAD = 2_000
TAIL = 8_000
"""How far from the two ends of a reply a verdict in prose is looked for, in characters."""

MOST_WORDS = 400
"""How often one word of decision is looked at within those."""

_FIRST, _SECOND = "\ue001", "\ue002"
_ANY = f"([{_FIRST}{_SECOND}])"

_TYING = ("tie", "draw", "equal", "neither", "no winner", "no clear winner", "comparable", "identical", "平局", "不相上下", "무승부", "동점")
_DOUBTING = ("hard", "difficult", "impossible", "tough", "or is it", "depend", "cannot", "can't", "either", "难以", "어렵")
_SENTENCE_END = re.compile(r"[.!?。！？\n](?:(?<=[。！？\n])|(?=[\s.]|$))")
_ADVERB = (
    r"(?:,?\s(?:also|clearly|overall|slightly|much|significantly|marginally|generally|therefore|thus|still|far|a\slot|a\sbit|somewhat|"
    r"definitely|certainly|ultimately|arguably|indeed|objectively|obviously|notably|considerably|the|an?|in\smy\sopinion|by\sfar|"
    r"considered|deemed|judged|seen\sas|regarded\sas|found\sto\sbe|to\sbe|my|our|likely|probably|simply|just|even|as|output|overall,)){0,4}"
)
_NOUN = r"(?:'s|’s)?(?:\s(?:response|answer|output|summary|one|analysis|explanation|code|solution|reply|approach|translation))?"
_WINS = re.compile(
    rf"{_ANY}{_NOUN}{_ADVERB},?\s(?:is|was|are|would\sbe|seems|appears|remains|stands\sout\sas|emerges\sas|comes\sout\sas|as|being|gets|should\sbe|can\sbe|could\sbe){_ADVERB}"
    r"\s(?:better|best|superior|preferable|preferred|stronger|winner|favou?red|winning|chosen)\b"
    rf"|{_ANY}{_NOUN}{_ADVERB}\s(?:wins?|outperforms?|outshines|surpass(?:es)?|beats|edges\sout|comes\sout\s(?:ahead|on\stop)|has\s(?:the|an|a\sslight)\sedge|takes\sthe\slead)\b"
    rf"|{_ANY}\s?(?:的回答|的回复)?(?:明显|略|稍|显然|总体上?|整体上?|相对|会)?(?:更好|更优|更佳|更胜一筹|胜出|获胜|较好|较优|优于|胜过|更出色)"
    rf"|{_ANY}\s?(?:가|이|의\s답변이|의\s응답이|는|은|쪽이)?\s?(?:훨씬|조금|약간|좀)?\s?더\s?(?:좋|우수|나은|나|낫|뛰어|적절)"
    rf"|{_ANY}\s?(?:가|이)?\s?(?:승리|이겼|이긴)|{_ANY}\s?(?:을|를)\s?(?:선택|선호)|{_ANY}\s?の(?:ほう|方)が(?:良い|優れ)"
)
_CHOOSES = re.compile(
    r"(?:\b(?:choos(?:e|ing)|chose|select(?:ed)?|prefer|pick(?:ed)?|go\swith|favou?r|vote\sfor|lean(?:ing)?\stowards?|in\sfavou?r\sof|recommend|"
    r"preference\s(?:is|goes)(?:\sto|\sfor)?|goes\sto|winner\sis|verdict\sis|decision\sis|award\sthis\sto|"
    r"(?:better|best|preferred|superior|stronger|winning|correct)(?:\s(?:response|output|answer|one|option|choice|summary|assistant|candidate|model))?\s(?:is|would\sbe|seems\sto\sbe|appears\sto\sbe)|"
    rf"(?:final\s)?(?:answer|choice)\sis):?{_ADVERB}\s?|(?:选择|选|我选|更好的是|胜者是|胜者为|获胜者是|승자는|선택은)\s?:?\s?)$"
)
"""What stands right before the option that is chosen."""
_LOSES = re.compile(rf"{_ANY}{_NOUN}{_ADVERB}\s(?:is|was|seems|appears){_ADVERB}\s(?:worse|inferior|weaker)\b")
_MORE = re.compile(
    rf"{_ANY}{_NOUN}{_ADVERB}\s(?:is|was){_ADVERB}\s(?:more|most)\s"
    r"(?:accurate|helpful|relevant|correct|coherent|consistent|fluent|informative|comprehensive|precise|appropriate|effective|suitable|faithful|"
    r"complete|convincing|useful|truthful|reliable|natural|readable)\b"
    rf"|{_ANY}{_NOUN}{_ADVERB}\s(?:provid|giv|offer|ha|produc)[a-z]+{_ADVERB}\sbetter\s(?:response|answer|output|summary|solution)\b"
)
_WEIGHS = re.compile(r"\b(?:while|whereas|but|however|although|though|on\sthe\sother\shand)\b")
_TIES = re.compile(
    r"\b(?:it(?:'s|\sis)|this\sis|is|are|as|call\sit|declare|end\sin|result(?:s|ed)?\sin|to)\s(?:an?\s|essentially\s|effectively\s)?(?:tie|tied|draw)\b|"
    r"\bequally\s(?:good|well|helpful|bad|valid|relevant|strong|effective|accurate|correct|coherent|consistent|fluent)|"
    r"\b(?:both|two|they)\b[^.\n]{0,60}\bare\s(?:\w+\s)?(?:equal|equivalent|comparable|identical)\b|"
    rf"neither\s{_ANY}[^.\n]{{0,20}}{_ANY}|\bno\s(?:clear\s)?winner|平局|不相上下|무승부|동점"
)
_SAYS_TIE = re.compile(r"\b(?:tie|tied|draw)\b|winner|平局|무승부|동점")
_DENIED_TIE = re.compile(r"\b(?:not|n't|but|however|although)\b|n't\b")
_UNDECIDED = re.compile(
    r"\b(?:hard|difficult|impossible|tough)\sto\s(?:decide|say|choose|tell|determine|pick|judge)|\bor\sis\sit\b|\bit\sdepends\b|\bdepend(?:s|ing)\son\b|"
    r"\bcannot\s(?:decide|determine|choose|select|say|tell)|can't\s(?:decide|determine|choose|say)|\beither\s(?:one|of)|难以(?:判断|决定)|판단하기\s어렵"
)
_NOT_THE_JUDGES = re.compile(
    r"\b(?:whether|if|unless|to\sdetermine|would\shave|might\sbe|may\sbe|could\sbe\sargued|some\s(?:may|might|people)|argu(?:es|ed|ing)|"
    r"believ(?:es|ed)|claim(?:s|ed)|stat(?:es|ed)\sthat|suggests?|thinks|says|said|contends?|asserts?|according\sto)\b|如果|是否|若"
)
_DENIED = re.compile(r"\b(?:not|cannot|never|nor|neither|either|instead\sof|rather\sthan|than|over)\b|n't\b|不|并非|没有|않|아니|못")
_CLAUSE_END = re.compile(r"[,;:，；、]|\b(?:and|but|so|because|while|that|therefore)\b")
_CONCLUDES = re.compile(
    r"\b(?:therefore|thus|hence|overall|conclu\w+|final(?:ly)?|in\s(?:summary|sum)|consequently|as\sa\sresult|ultimately|so|accordingly|"
    r"verdict|i\s(?:would|will|have|choose|select|prefer|pick|believe|determine)|given\s(?:this|these|the|that)|based\son|after)\b"
    r"|因此|所以|综上|总的来说|总体|最终|综合|따라서|그러므로|종합|결론|최종"
)


class Said(NamedTuple):
    """A winner that a sentence names."""

    found: Found
    sentence: int
    concludes: bool
    is_weak: bool


def verdict_said(cased: str, own: str, names: Options) -> Found | Reading | None:
    """The winner that the sentences name; a reading without value where they name several or doubt.

    They are read from the last to the first, and no further than to one that concludes.
    """
    windows = [(0, len(own))] if len(own) <= HEAD + TAIL else [(len(own) - TAIL, len(own)), (0, HEAD)]
    said: list[Said] = []
    for start, end in windows:
        for begin, finish, mentions in reversed(_sentences(cased[start:end], own[start:end], start, names)):
            said[:0] = _said_in(cased[begin:finish], begin, mentions)
            if any(one.concludes and not one.is_weak and one.found.side != "tie" for one in said):
                return _decided(said, own, names)
    return _decided(said, own, names)


def _decided(said: list[Said], own: str, names: Options) -> Found | Reading | None:
    if not names.tie and any(one.found.side != "tie" for one in said):
        said = [one for one in said if one.found.side != "tie"]
    last = _concluding([one for one in said if not one.is_weak] or _weighty(said, own))
    if not last:
        return None
    if len({one.found.side for one in last}) > 1:
        return Reading(status="conflicting")
    rest = own[last[-1].found.start :][:TAIL]
    is_doubted = any(word in rest for word in _DOUBTING) and _UNDECIDED.search(rest) is not None
    return Reading() if is_doubted else last[-1].found


def _concluding(said: list[Said]) -> list[Said]:
    if len({one.found.side for one in said}) <= 1:
        return said
    concluded = [one.sentence for one in said if one.concludes]
    return [one for one in said if one.sentence >= concluded[-1]] if concluded else said


def _weighty(said: list[Said], own: str) -> list[Said]:
    """"A is more detailed" decides only in a conclusion, or where it is all that is said."""
    concluding = [one for one in said if one.concludes]
    if concluding:
        return concluding
    first_end = _SENTENCE_END.search(own)
    return [one for one in said if first_end is None or one.sentence < first_end.start()] if said else []


def _sentences(cased: str, own: str, offset: int, names: Options) -> list[tuple[int, int, list[Found]]]:
    """The sentences that name an option or speak of a tie, in order, with the names in them."""
    mentions = names.mentions(cased)
    ties = places(own, _TYING, MOST_WORDS)
    if not mentions and not ties:
        return []
    ends = [stop.end() for stop in _SENTENCE_END.finditer(own)]
    if not ends or ends[-1] < len(own):
        ends.append(len(own))
    held: dict[int, list[Found]] = {bisect_right(ends, at): [] for at, _ in ties}
    for mention in mentions:
        held.setdefault(bisect_right(ends, mention.start), []).append(mention)
    found = []
    for n in sorted(held):
        begin = ends[n - 1] if n else 0
        inside = [Found(side, start - begin, end - begin) for side, start, end in held[n]]
        found.append((offset + begin, offset + ends[n], inside))
    return found


def _said_in(sentence: str, begin: int, mentions: list[Found]) -> list[Said]:
    signs, at_sign = _with_signs(sentence, mentions)
    folded = signs.lower() if len(signs.lower()) == len(signs) else signs
    if folded.rstrip().endswith(("?", "？")):
        return []
    if any(word in folded for word in _TYING) and _TIES.search(folded) and not _DENIED_TIE.search(folded):
        whole = Found("tie", begin + len(sentence) - len(sentence.lstrip()), begin + len(sentence.rstrip()))
        return [Said(whole, begin, _CONCLUDES.search(folded) is not None, not _SAYS_TIE.search(folded))]
    found = _winners(folded, at_sign) if mentions else []
    if not found:
        return []
    concludes = _CONCLUDES.search(folded) is not None
    return [
        Said(Found(side, begin + mention.start, begin + mention.end), begin, concludes, is_weak)
        for side, mention, is_weak in found
    ]


def _winners(folded: str, at_sign: dict[int, Found]) -> list[tuple[Side, Found, bool]]:
    """The winners that a sentence with signs names: those called the better one, those chosen, or by a weaker claim."""
    places = [(match.start(match.lastindex or 1), match.start(), match.end()) for match in _WINS.finditer(folded)]
    if not places:
        lefts = [(at, _CHOOSES.search(folded, max(0, at - 64), at)) for at in at_sign]
        places = [(at, left.start(), at + 1) for at, left in lefts if left]
    found = [(at_sign[at].side, at_sign[at], False) for at, start, end in places if _is_said(folded, start, at, end)]
    if places or _WEIGHS.search(folded):
        return found
    for pattern, wins in ((_LOSES, False), (_MORE, True)):
        for match in pattern.finditer(folded):
            at = match.start(match.lastindex or 1)
            if _is_said(folded, match.start(), at, match.end()):
                side = at_sign[at].side
                other: Side = "second" if side == "first" else "first"
                found.append((side if wins else other, at_sign[at], True))
    return found


def _is_said(folded: str, start: int, at: int, end: int) -> bool:
    """Whether the judge itself says so, without a condition and without a no."""
    return not _NOT_THE_JUDGES.search(folded, max(0, at - 120), at) and not _is_denied(folded, start, at, end)


def _is_denied(folded: str, start: int, at: int, end: int) -> bool:
    """Whether the clause up to the winner, or what makes it one, says no."""
    clause = max(0, start - 40)
    for stop in _CLAUSE_END.finditer(folded, clause, at):
        clause = stop.end()
    return _DENIED.search(folded, clause, end) is not None


def _with_signs(sentence: str, mentions: list[Found]) -> tuple[str, dict[int, Found]]:
    """The sentence with each mention as one sign, and which mention each sign stands for."""
    parts: list[str] = []
    places: dict[int, Found] = {}
    at = length = 0
    for mention in mentions:
        parts.append(sentence[at : mention.start])
        length += mention.start - at
        places[length] = mention
        parts.append(_FIRST if mention.side == "first" else _SECOND)
        length += 1
        at = mention.end
    parts.append(sentence[at:])
    return "".join(parts), places

"""A winner named in a sentence: "Therefore, Output (b) is better", "I would choose A", "A가 더 좋습니다".

In each sentence that could decide, the options' names become two signs, and a few patterns look for a winner
among them. What others are said to think or ask for, conditions and questions decide nothing. Where sentences
differ, the concluding one wins; where none concludes, they conflict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ...lazy_patterns import lazily
from ...records import Reading
from ..text.own_voice import places
from .pair_names import NOUN_NAMES, NOUNS, FoundChoice, Options

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
_TYING = (
    "unentschieden",
    "gleich",
    "se valent",
    "galité",
    "igual",
    "empate",
    "pareggio",
    "quivalent",
    " tie",
    " draw",
    "equal",
    "neither",
    "winner",
    "identical",
    "comparable",
)
_TYING_ASIAN = (
    "平局",
    "不相上下",
    "一样好",
    "同样好",
    "무승부",
    "동점",
    "동등",
    "똑같이",
    "同等",
    "引き分け",
    "ничья",
    "одинаково",
)
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
    r"(?:,?\s(?:also|clearly|overall|slightly|much|significantly|marginally|generally|therefore|thus|still|"
    r"far|a\slot|a\sbit|somewhat|"
    r"definitely|certainly|actually|really|ultimately|arguably|indeed|objectively|obviously|notably|"
    r"considerably|the|an?|in\smy\sopinion|by\sfar|"
    r"considered|deemed|judged|seen\sas|regarded\sas|found\sto\sbe|to\sbe|my|our|likely|probably|simply|just|"
    r"even|as|output|overall,|clear|obvious|decisive|strong)){0,4}"
)
_NOUN = (
    r"(?:'s|’s)?(?:\s(?:response|answer|output|summary|one|analysis|explanation|code|solution|reply|"
    r"approach|translation))?"
)
_KOREAN_NOT = (
    r"(?![가-힣]{0,3}\s?수(?:도|는)?\s?있|[가-힣]{0,4}(?:지|진|다고|기)\s?(?:는\s|도\s)?(?:않|못|할\s?수|볼\s?수|보기|말|"
    r"어렵)|할\s?수\s?(?:는\s)?없)"
)
"""What may not follow a Korean verb, which carries its no behind itself."""

_KOREAN_BETTER = rf"(?:좋|우수|나(?![쁘쁜쁩빠빴])|낫|뛰어|적절){_KOREAN_NOT}"
_KOREAN_WORSE = rf"(?:나[쁘쁜쁩빠빴]|못하|못합|떨어){_KOREAN_NOT}"
_WINS = lazily(
    rf"{_ANY}(?:{_NOUN}{_ADVERB}(?:,?\s(?:is|was|are|would\sbe|seems|appears|remains|stands\sout\sas|"
    rf"emerges\sas|comes\sout\sas|as|being|gets|(?:should|can|could)\sbe(?=,?\s(?:clearly\s|"
    rf"also\s)?(?:considered|deemed|judged|seen|regarded|found|preferred|favou?red|chosen)\b))"
    rf"{_ADVERB}\s(?:better(?!\s(?:written|structured|organi[sz]ed|formatted|phrased|worded|presented|"
    rf"explained))|best|superior|preferable|preferred|stronger|winner|favou?red|winning|chosen)\b"
    r"|\s(?:wins?|outperforms?|outshines|surpass(?:es)?|beats|edges\sout|comes\sout\s(?:ahead|on\stop)|"
    r"has\s(?:the|an|a\sslight)\sedge|takes\sthe\slead)\b)"
    r"|\sfür\s(?:die\s)?(?:besser|überlegen)e?\b"
    r"|\sist\s(?:(?!nicht\b|kaum\b|keineswegs\b)\w{1,12}\s){0,2}(?:besser|überlegen|vorzuziehen)\b|\s(?:gewinnt|überzeugt\smehr)\b"
    rf"|(?<=\bist [{_FIRST}{_SECOND}])\s(?:(?!nicht\b|kaum\b)\w{{1,12}}\s)?(?:besser|überlegen)\b"
    r"|\s(?:est|reste|semble|es|è|é)\s(?:(?!pas\b|moins\b|menos\b|meno\b)\w{1,14}\s){0,2}"
    r"(?:meilleure?|supérieure?|préférable|mejor|migliore|superiore?|melhor|preferible|preferibile|preferível)\b"
    r"|\s(?:l['’]emporte|gagne|gana|vince|vence)\b"
    r"|\s(?:явно\s|значительно\s|немного\s)?(?:лучше|превосходит|выигрывает)\b"
    r"|\s?(?:的回答|的回复)?(?:明显|略|稍|显然|总体上?|整体上?|相对|会)?(?:更好|更优|更佳|更胜一筹|(?:略|稍)?胜一筹|胜出|获胜|较好|较优|优于|胜过|更出色)"
    r"|\s?(?:가|이|의\s답변이|의\s응답이|는|은|쪽이)?\s?(?:훨씬|조금|약간|좀)?\s?더\s?"
    rf"{_KOREAN_BETTER}|\s?(?:가|이)?\s?(?:승리|이겼|이긴){_KOREAN_NOT}|\s?(?:을|를)\s?(?:선택|선호){_KOREAN_NOT}|"
    rf"\s?の(?:ほう|方)が(?:良い|優れ))"
)
"""The option comes first in all these patterns, so that a search jumps from name to name."""

_CHOOSES = lazily(
    r"(?:\b(?:choos(?:e|ing)|chose|select(?:ed)?|prefer|pick(?:ed)?|go\swith|i(?:'d|\swould)\ssay|favou?r|"
    r"vote\sfor|(?<!was\s)(?<!were\s)(?<!initially\s)lean(?:ing)?\stowards?|in\sfavou?r\sof|recommend|"
    r"preference\s(?:is|goes)(?:\sto|\sfor)?|goes\sto|winner\sis|verdict\sis|decision\sis|award\sthis\sto|"
    r"(?:better|best|preferred|superior|stronger|winning)(?:\s(?:response|output|answer|one|option|choice|"
    r"summary|assistant|candidate|model))?\s(?:is|would\sbe|seems\sto\sbe|appears\sto\sbe)|"
    rf"(?<!correct\s)(?<!right\s)(?<!own\s)(?<!true\s)(?<!actual\s)(?<!'s\s)(?:final\s)?(?<!'s\sfinal\s)(?:answer|choice)\sis|(?:wähle|bevorzuge|entscheide\smich\sfür|sieger\sist|choisis|préfère|elijo|prefiero|scelgo|preferisco|escolho|prefiro|выбираю|предпочитаю|"
    rf"besser(?:e\santwort)?\sist|(?:mejor|meilleure|migliore|melhor)\s(?:respuesta|réponse|risposta|resposta)\s(?:es|est|è|é))):?{_ADVERB}\s{{0,3}}|(?:选择|选|我选|(?:更好|更优|较好|较优)的?(?:回答|回复|答案|输出|助手|模型|一个)?(?:是|为)|胜者是|胜者为|获胜者是|승자는|선택은|더\s?(?:나은|좋은|우수한)\s?(?:응답|답변)은)\s?:?\s?)"
    rf"(?:(?:(?:the|la|le|die|der|el|a)\s)?(?:{NOUNS})[\s_]{{0,2}})?[#(\[\"“']{{0,2}}$"
)
"""What stands right before the option that is chosen."""

_BEFORE_CHOSEN = frozenset(
    "say choose choosing chose select selected prefer pick picked with favor favour for toward "
    "towards of recommend is to be the clearly "
    "definitely obviously overall certainly ultimately therefore thus still likely probably simply "
    "just also bevorzuge wähle für ist choisis préfère elijo prefiero scelgo preferisco escolho "
    "prefiro la".split()
)
_LOSES = lazily(
    rf"{_ANY}(?:{_NOUN}{_ADVERB}\s(?:is|was|seems|appears){_ADVERB}\s(?:worse|inferior|weaker|loser)\b"
    rf"|\s?(?:가|이|의\s답변이|의\s응답이|는|은|쪽이)?\s?(?:훨씬|조금|약간|좀)?\s?더\s?{_KOREAN_WORSE})"
)
_OTHER = rf"(?:\s?(?:the|{NOUNS}))?\s?{_ANY}"
_POSSESSED_ANSWER = "(?:的(?:回答|回复))?"
_BY_HOW_MUCH = r"(?:훨씬\s?|조금\s?|약간\s?)?(?:더\s?)?"
_BEATS = lazily(
    rf"{_ANY}(?:{_POSSESSED_ANSWER}比{_OTHER}{_POSSESSED_ANSWER}(?:更|要|还|明显|略|稍微?|显然|整体){{0,2}}(?:好|优|佳|强|出色|"
    rf"准确|完整)"
    rf"|(?:가|이|의\s답변이|쪽이)\s?{_OTHER}보다\s?{_BY_HOW_MUCH}{_KOREAN_BETTER})"
)
_YIELDS = lazily(
    rf"{_ANY}(?:{_POSSESSED_ANSWER}(?:(?:明显|显然|远|稍|略)?(?:不如|不及|逊于|劣于){_OTHER}|"
    rf"没有{_OTHER}{_POSSESSED_ANSWER}(?:那么|这么)?(?:好|优|强|出色|准确)"
    rf"|比{_OTHER}{_POSSESSED_ANSWER}(?:更|要|还|明显|略|稍微?){{0,2}}(?:差|弱|糟|逊))"
    rf"|보다는?\s?{_OTHER}(?:가|이|의\s답변이|쪽이)\s?{_BY_HOW_MUCH}{_KOREAN_BETTER}"
    rf"|(?:가|이)\s?{_OTHER}보다\s?{_BY_HOW_MUCH}{_KOREAN_WORSE}"
    rf"|(?:가|이)?\s?아니라,?{_OTHER}(?:입니다|이다|이에요|가|를|을|\s?[.。]|$))"
)
_YIELDS_ENGLISH = lazily(
    rf"{_ANY}{_NOUN}{_ADVERB}\s(?:(?:(?:is|was)n't\sas\s(?:good|strong|helpful|accurate)\sas|(?:is|"
    rf"was){_ADVERB}\s(?:not\s(?:nearly\s|quite\s)?as\s(?:good|strong|helpful|accurate)\sas|"
    r"less\s(?:accurate|helpful|relevant|correct|coherent|complete|useful|convincing)\sthan|"
    rf"outperformed\sby|beaten\sby|no\smatch\sfor))|(?:loses|lost)\sto|falls\sshort\sof){_OTHER}"
)
"""Sentences that set one option against the other: the one that is named first wins, or yields to the other.
"""

_MORE = lazily(
    rf"{_ANY}{_NOUN}{_ADVERB}(?:\s(?:is|was){_ADVERB}\s(?:more|most)\s"
    r"(?:accurate|helpful|relevant|correct|coherent|consistent|fluent|informative|comprehensive|precise|"
    r"appropriate|effective|suitable|faithful|"
    r"complete|convincing|useful|truthful|reliable|natural|readable)\b"
    rf"|\sdoes\sa\s(?:\w{{2,14}}\s)?better\sjob\b"
    rf"|\s(?:provid|giv|offer|ha|produc)[a-z]+{_ADVERB}\sbetter\s(?:response|answer|output|summary|"
    rf"solution)\b)"
)
_WEIGHS = lazily(r"\b(?:while|whereas|but|however|although|though|on\sthe\sother\shand)\b")
_TIES_ABROAD = (
    r"^\s*unentschieden|\bgleich(?:wertig|\sgut)\b|\bse\svalent\b|^\s*égalité\b|\bigual\sde\sbuen|^\s*empate\b|"
    r"^\s*pareggio\b|\b(?:équivalentes?|equivalentes|equivalenti)\b|ничья|одинаково\sхорош|"
    r"平局|不相上下|一样好|同样好|무승부|동점|동등|똑같이\s좋|同等|引き分け"
)
"""Words for a tie in other languages."""

_TIES = lazily(
    r"\b(?:it(?:'s|\sis)|this\sis|is|are|as|call\sit|declare|end\sin|result(?:s|ed)?\sin|"
    r"to)\s(?:essentially\s|effectively\s)?an?\s(?:tie|draw)\b|"
    r"\b(?:it(?:'s|\sis)|this\sis|is|are)\s(?:essentially\s|effectively\s)?tied?\b(?!\s(?:to|up|with|in|the|"
    r"at)\b)|"
    r"\bequally\s(?:good|well|helpful|bad|valid|relevant|strong|effective|accurate|correct|coherent|"
    r"consistent|fluent)|"
    r"\b(?:both|two|they)\b[^.\n]{0,60}\bare\s(?:\w{1,20}\s)?(?:equal|equivalent|comparable|identical)\b|"
    rf"neither\s[^.\n]{{0,16}}{_ANY}[^.\n]{{0,30}}{_ANY}|\bneither\s(?:\w{{1,12}}\s){{0,2}}?is\s(?:\w{{1,"
    rf"14}}\s)?(?:better|superior|worse|preferable)|\bno\s(?:clear\s)?winner|"
    rf"{_TIES_ABROAD}"
)
_SAYS_TIE = lazily(rf"\b(?:tie|tied|draw)\b|winner|{_TIES_ABROAD}")
_DENIED_TIE = lazily(
    r"\b(?:not|n't|but|however|although|nicht|aber|pas|mais|pero|no|non|ma|não|mas|не|но)\b|n't\b|不是|并非|但|아니|지만|않|ない"
)
_UNDECIDED = lazily(
    r"\b(?:hard|difficult|impossible|tough)\sto\s(?:decide|say|choose|tell|determine|pick|judge)|"
    r"\bor\sis\sit\b|\bit\sdepends\b|\bdepend(?:s|ing)\son\b|"
    r"\bcannot\s(?:decide|determine|choose|select|say|tell)|can't\s(?:decide|determine|choose|say)|"
    r"\beither\s(?:one|of)|难以(?:判断|决定)|판단하기\s어렵"
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
    r"\b(?:whether|if(?!\s(?:i\s(?:had|have|must|were)|forced|pressed|anything))|unless|(?:might|may|"
    r"could)\s(?:seem|appear|look)|to\sdetermine|would\shave|might\sbe|may\sbe|could\sbe\sargued|"
    r"some\s(?:may|might|people)|(?:claim|idea|notion|assertion|suggestion|assumption)\sthat|argu(?:es|ed|"
    r"ing)|"
    r"believ(?:es|ed)|claim(?:s|ed)|stat(?:es|ed)\sthat|suggests?|thinks|says|said|contends?|asserts?|"
    r"according\sto|"
    rf"{_OTHERS_MIGHT}|{_OTHER_JUDGES}|at\sfirst\s(?:glance|sight)|si|ob|wenn|falls|sofern|если)\b|如果|是否|若|有人|用户认为|作者认为|难说"
)
_SPEAKS_UP = lazily(r"\b(?:but|yet|however,?)\s(?:i|in\smy|overall|my)\b")
_URGED = lazily(
    r"\b(?:ask|tell|told|want|instruct|request|order|urge|tempt)(?:s|ed)?\s(?:(?:me|us|you|"
    r"the\sjudge)\s)?(?:to|that|for)\s(?:the\s)?(?:\w{1,12}\s)?$"
)
"""Words before a verdict that another person requested."""

_DENIED_THAT = lazily(
    r"(?:\b(?:not|never|cannot)|n't)\s(?:\w{1,12}\s){0,2}?(?:true|clear|obvious|evident|certain|sure|"
    r"convinced|correct|right|accurate|fair|case|mean|imply|say|think|"
    r"believe|agree|claim|conclude|follow|accept|find)\s(?:\w{1,12}\s)?that\b(?:(?!\b(?:so|but|thus|"
    r"hence)\b)[^,;:.]){0,60}$"
    r"|\b(?:false|wrong|incorrect|untrue|(?<!no\s)(?<!without\s)(?<!little\s)doubt(?:ful)?|disagree|deny|"
    r"dispute|reject)\b[^,;:.]{0,24}\bthat\b(?:(?!\b(?:so|but|thus|hence)\b)[^,;:.]){0,60}$"
)
"""A no to the whole of what follows: "it is not true that"."""

_ON_CONDITION = lazily(
    r"[^.,;:\n]{0,60}?\s(?:if|unless|provided|were\sit|had\sit)\s(?!i\b|only\b|forced|pressed|anything|not\b)"
)
_TURNED = lazily(
    r"[^.;\n]{0,80}?\b(?:but|yet|however|though)\b[^.;\n\x01\x02]{0,24}\b(?:(?:loses?|lost|worse|weaker|"
    r"inferior|falls|fails|lags)\b[^.;\n\x01\x02]{0,24}\b"
    r"(?:overall|in\stotal|in\sthe\send|on\sbalance|in\sgeneral)|overall\b[^.;\n\x01\x02]{0,12}\b(?:loses|"
    r"worse|weaker|inferior|falls|fails))\b"
)
"""What takes a partial win back: "on style, but loses overall"."""

_BOTH = lazily(
    rf"[{_FIRST}{_SECOND}][)\]\"”]{{0,2}}\s(?:and|or|nor)\s(?:the\s)?(?:(?:{NOUNS})\s)?[(\[\"“]{{0,2}}$"
)
"""The other option right before this one: what follows is said of both."""

_EACH_IN_PART = lazily(
    rf"\s(?:in|on|at|for)\s[^.;,{_FIRST}{_SECOND}]{{2,40}},?\s(?:and\s|but\s|while\s|"
    rf"whereas\s)?(?:(?:{NOUNS})\s)?[(]?[{_FIRST}{_SECOND}]\)?\s(?:in|on|at|for)\s"
)
_SAYS_ANOTHER = lazily(r"[^.;\n]{0,24}, (?:says|said|claims|claimed|argues|argued|writes)\b")
_AT_FIRST = lazily(
    r"\s(?:at\sfirst|initially|in\s(?:the|this)\s(?:example|story|text|scenario|dialogue|game|article|"
    r"poem)\b|until\b|(?:as|so)\slong\sas\b|only\s(?:if|when|in)\b|in\ssome\s|in\spart\b|on\spaper)"
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
    r"\b(?:therefore|thus|hence|overall|conclu\w+|final(?:ly)?|in\s(?:summary|sum)|consequently|"
    r"as\sa\sresult|ultimately|so|accordingly|"
    r"verdict|i\s(?:would|will|have|choose|select|prefer|pick|believe|determine)|given\s(?:this|these|the|"
    r"that)|based\son|after)\b"
    r"|因此|所以|综上|总的来说|总体|最终|综合|따라서|그러므로|종합|결론|최종"
)
_QUIZ = lazily(
    r"\([D-J]\)|\n[ "
    r"\t]{0,8}[D-J][.)]\s|\b(?:[Aa]nswer(?:s|ed)?|[Cc]hose|[Cc]hooses|[Ss]elect(?:s|ed)|[Pp]ick(?:s|ed)|"
    r"[Oo]ptions?|[Cc]hoices?)\s(?:option\s)?\(?(?:[D-J]|C(?=\)|,\s(?:while|and|but)|\s(?:while|and|but|"
    r"is)\b))\)?(?![\w'’])"
)
_OF_ANSWER = lazily(r"(?:answer|choice|option)\sis[\s:(\[\"“']{0,4}$")


def is_quiz(cased: str) -> bool:
    """Whether the task itself has lettered choices, so that
    "the answer is A" need not name the better response.
    """
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
        for side, start, end, _ in self.mentions.values():
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
    """The parts to read, the last first: most replies conclude
    at their end, and the rest need not be read then.
    """
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
    if is_doubted:
        return Reading()
    return last[-1].winner._replace(is_sure=_is_declared(last[-1], judge_text))


def _is_declared(statement: SaidChoice, judge_text: str) -> bool:
    """Whether a sentence gives the verdict of the reply: it concludes, or the reply begins or ends with
    it."""
    if statement.is_weak:
        return False
    if statement.concludes or not judge_text[: statement.sentence].strip():
        return True
    end = _SENTENCE_END.search(judge_text, statement.winner.end)
    return end is None or not judge_text[end.end() :].strip()


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
    """Where a sentence sets one option against the other, with the one that wins: "A不如B",
    "A loses to B"."""
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
    """Whether the word before the option could be that of a choice; a cheap look that spares most
    searches."""
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
            if (
                _WEIGHS.search(text, begin, finish)
                or _weighs_both(text, begin, finish)
                or not _is_said(text, begin, at, at, match.end())
            ):
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


_OTHER_IS_TOO = lazily(
    rf"[{_FIRST}{_SECOND}]{_NOUN}\s(?:is|was)\b[^.{_FIRST}{_SECOND}]{{1,60}},\s(?:and\s)?(?:(?:the\s)?(?:{NOUNS})\s)?"
    rf"[(]?[{_FIRST}{_SECOND}][)]?{_NOUN}\s(?:is|was)\b"
)


def _weighs_both(text: str, begin: int, finish: int) -> bool:
    """Whether a sentence says something for each of the two: "A is clearer, B is more accurate"."""
    return _OTHER_IS_TOO.search(text, begin, finish) is not None


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

"""Good and bad words, in English, Chinese and Korean: what a level's text says about its place.

Two kinds are kept apart. Quality words ("excellent", "差") judge on any criterion. Trait words
("accurate", "harmful") judge only where the trait is known to be wanted or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import combinations
from typing import NamedTuple

from ...records import Protocol, Scale

# A protocol's texts as the rules look at them: one string, its slots, and the labels before them.
#
# This file knows where things stand in a prompt and nothing of what is wrong with them. Offsets
# always count in `Prompt.words`, which is as long as the texts themselves: slots are blotted out,
# not removed, so that the name of a slot is never taken for a word that the judge reads.


BLOT = "\ufffc"
"""What stands in `Prompt.words` for each character of a slot; it is no letter, digit or space."""

_SLOT = re.compile(r"\{\{([^\W\d][\w.-]*)\}\}")
_GAP = "\n\n"


class Suspicion(NamedTuple):
    """What a rule saw: where, what, and what a person may do about it."""

    start: int | None
    """an offset in `Prompt.words`; none: the settings"""
    message: str
    todo: str
    key: str = "criteria"
    """the setting to point at where there is no offset"""


class Slot(NamedTuple):
    """A place that is filled: its own name, the field that fills it, and the words before it."""

    name: str
    field: str
    start: int
    end: int
    label: str
    label_start: int


class Sentence(NamedTuple):
    """A sentence or a line of a prompt."""

    start: int
    text: str


class Prompt:
    """The system text and the user text of one protocol, seen as one."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.has_system = bool(protocol.system_text)
        before = protocol.system_text + _GAP if self.has_system else ""
        self.whole = before + protocol.user_text
        self.user_start = len(before)
        self.words = _SLOT.sub(lambda match: BLOT * len(match[0]), self.whole)

    def place(self, start: int) -> tuple[str, int]:
        """The file and the line of an offset."""
        if start < self.user_start:
            return "system.md", self.whole.count("\n", 0, start) + 1
        return "user.md", self.whole.count("\n", self.user_start, start) + 1

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        slots = []
        for match in _SLOT.finditer(self.whole):
            label, where = _label_before(self.words, match.start())
            name = match[1]
            field = self.protocol.alias.get(name, name)
            slots.append(Slot(name, field, match.start(), match.end(), label, where))
        return tuple(slots)

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        return tuple(_sentences(self.words))

    @cached_property
    def scales(self) -> tuple[tuple[str, Scale], ...]:
        """The criteria that are scored, with their scales."""
        return tuple((name, scale) for name, scale in self.protocol.criteria.items() if scale is not None)

    @cached_property
    def compared(self) -> tuple[Slot, Slot] | None:
        """The slots of the two responses that are compared, if the prompt shows two."""
        return _compared(self)


_LABEL_TRIM = " \t*_#>`'\"“”[]<>|:：-–—=" + BLOT
_MAX_LABEL = 80
_SENTENCE = re.compile(r"[.!?。！？][\"'”)*]{0,3}\s*\Z")
_NOTHING_BUT_MARKS = re.compile(r"[\W_]*\Z")


def _label_before(words: str, start: int) -> tuple[str, int]:
    """The words that announce a slot: on its own line, or the last line above that has any.

    Fences, rules and tags without words are passed over; a line that ends like a sentence is no
    label. A line is looked at up to a limit, so that one long line costs no more than any other.
    """
    end = start
    for _ in range(4):
        line_start = words.rfind("\n", max(0, end - 4 * _MAX_LABEL), end) + 1 or max(0, end - 4 * _MAX_LABEL)
        line = words[line_start:end]
        is_above = end != start
        if is_above and _SENTENCE.search(line):
            return "", start
        if not _NOTHING_BUT_MARKS.match(line):
            if BLOT in line:
                line = line[line.rfind(BLOT) + 1 :]
                if _NOTHING_BUT_MARKS.match(line):
                    return "", start
            return line.strip(_LABEL_TRIM), end - len(line)
        if BLOT in line or words[line_start - 1 : line_start] != "\n":
            break
        end = line_start - 1
    return "", start


# The point after a number ("1. Read") ends no sentence.
_SENTENCE_END = re.compile(
    r"\n|(?<=[^\d\W][.!?])[ \t]+(?=[^\sa-z])|(?<=[)\]\"”*][.!?])[ \t]+(?=[^\sa-z])|(?<=[。！？；])"
)


def _sentences(words: str) -> Iterator[Sentence]:
    start = 0
    for match in _SENTENCE_END.finditer(words):
        if words[start : match.start()].strip():
            yield Sentence(start, words[start : match.start()])
        start = match.end()
    if words[start:].strip():
        yield Sentence(start, words[start:])


# -- which two slots are compared

_NEUTRAL_SIDES = (("a", "b"), ("1", "2"), ("0", "1"), ("one", "two"), ("first", "second"), ("x", "y"),
                  ("left", "right"), ("", "2"), ("", "b"), ("i", "ii"))  # fmt: skip
TELLING_SIDES = (
    ("baseline", "enhanced"), ("baseline", "improved"), ("baseline", "candidate"), ("baseline", "new"),
    ("baseline", "treatment"), ("baseline", "test"), ("baseline", "ours"), ("baseline", "model"),
    ("control", "treatment"), ("control", "test"), ("control", "variant"), ("old", "new"),
    ("before", "after"), ("original", "revised"), ("original", "improved"), ("original", "enhanced"),
    ("original", "optimized"), ("original", "rewritten"), ("original", "new"), ("original", "edited"),
    ("champion", "challenger"), ("ours", "theirs"), ("human", "model"), ("human", "ai"),
    ("human", "machine"), ("previous", "current"), ("previous", "new"), ("weak", "strong"),
    ("chosen", "rejected"), ("base", "finetuned"), ("base", "tuned"), ("student", "teacher"),
    ("good", "bad"), ("golden", "candidate"), ("v1", "v2"),
)  # fmt: skip
"""Names of two sides that say which of them is meant to be better, or where they come from."""

_TELLING = {frozenset(pair) for pair in TELLING_SIDES}
_PAIRS = {frozenset(pair) for pair in _NEUTRAL_SIDES} | _TELLING
_JUDGED = frozenset(
    "response responses answer answers output outputs completion completions summary reply replies "
    "assistant model candidate generation translation text prediction pred result story essay "
    "conversation solution gen ans resp".split()
)
_JUDGED_EAST = ("回答", "答案", "输出", "回复", "模型", "응답", "답변", "출력", "모델")
_ASKED = frozenset("question questions query queries prompt turn instruction user".split())
_COMPARING = re.compile(
    r"\b(?:two|both|pair of|either|which|better|winner|compar\w+|prefer\w*)\b|两个|哪个|哪一个|更好|比较|두 |어느|비교|더 나은",
    re.IGNORECASE,
)
MODEL_NAME = re.compile(
    r"\b(?:chatgpt|gpt-?[345][\w.-]*|claude[\w.-]*|gemini[\w.-]*|llama-?\d?[\w.-]*|mistral[\w.-]*|qwen[\w.-]*|deepseek[\w.-]*|"
    r"palm-?2|vicuna[\w.-]*|alpaca|bard|davinci[\w-]*)\b",
    re.IGNORECASE,
)
_LABELS = re.compile(rf"[:：]\s?{BLOT}")
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+|[^\W\d_a-zA-Z]+")


def tokens_of(name: str) -> tuple[str, ...]:
    """The parts of a slot's name in small letters: `orig_response_A` → orig, response, a."""
    return tuple(token.lower() for token in _TOKEN.findall(name))


def _compared(prompt: Prompt) -> tuple[Slot, Slot] | None:
    first: dict[str, Slot] = {}
    for slot in prompt.slots:
        first.setdefault(slot.field, slot)
    if "response_a" in first and "response_b" in first:
        return first["response_a"], first["response_b"]
    # A slot before a colon and another slot is filled with a label, not with a response.
    inputs = [
        slot for slot in first.values() if "." not in slot.field and not _LABELS.match(prompt.words, slot.end)
    ]
    inputs = inputs[:24]
    pairs = [
        (a, b, base)
        for a, b in combinations(inputs, 2)
        for name, other in ((a.field, b.field), _labels(a, b))
        if (base := _base_of(tokens_of(name), tokens_of(other))) is not None
    ]
    # question_1, answer_1, question_2, answer_2 are the turns of one conversation.
    if any(_ASKED & set(base) for _, _, base in pairs):
        return None
    for a, b, base in pairs:
        if _is_judged(base) and (prompt.protocol.task == "compare" or _COMPARING.search(prompt.words)):
            return a, b
    return None


def _labels(a: Slot, b: Slot) -> tuple[str, str]:
    """The two labels, with names of models made into sides."""
    left, right = a.label[-60:], b.label[-60:]
    if MODEL_NAME.search(left) and MODEL_NAME.search(right):
        return MODEL_NAME.sub("a", left), MODEL_NAME.sub("b", right)
    return left, right


def _base_of(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...] | None:
    """What the two names share, where they differ in their side alone."""
    rest_left = [token for token in left if token not in right]
    rest_right = [token for token in right if token not in left]
    if len(rest_left) > 1 or len(rest_right) > 1 or not left:
        return None
    sides = frozenset(("".join(rest_left), "".join(rest_right)))
    if sides not in _PAIRS:
        return None
    shared = tuple(token for token in left if token in right)
    # Two slots called A and B may be the options of a question; "baseline" and "enhanced" are not.
    return shared if shared or sides in _TELLING else None


def _is_judged(base: tuple[str, ...]) -> bool:
    return not base or any(token in _JUDGED or any(noun in token for noun in _JUDGED_EAST) for token in base)


# What the prompt tells the judge to write: the objects of orders in a prompt, and the items of lists that they open.
#
# "Provide a rationale." is an order to the judge; "Does the reply provide a rationale?" is not, and
# is distinguished by where the verb stands.


_VERB = (
    r"(?:provide|give|write|include|list|state|output|add|return|describe|highlight|offer|suggest|make|summari[sz]e|present|"
    r"explain|justify|note)"
)
_START = r"(?:^|[.:;(]\s?|\b(?:and|then|also|please|must|should|finally|lastly|next|first|last),? )"
_ORDER = re.compile(rf"{_START}[\W\d_]{{0,8}}(?P<order>{_VERB}\b[^.\n]{{0,140}})", re.IGNORECASE)
_ORDER_EAST = re.compile(
    r"(?P<order>(?:请|并|需要?|给出|提供|输出|列出|写出)[^。\n]{0,60}|[^.\n]{0,60}(?:제시|작성|제공|출력|나열|설명)(?:하|해))"
)
_LIST_HEAD = re.compile(
    rf"(?:{_VERB}|contain|consist of|have|following|as follows|以下内容|다음을[^\n]{{0,10}})\s?[:：]\s*\Z",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s")


def orders_in(prompt: Prompt) -> Iterator[Sentence]:
    """Each thing that is asked for, with the start of the sentence that asks."""
    is_list = False
    for sentence in prompt.sentences:
        text = sentence.text
        is_item = bool(_ITEM.match(text))
        if is_list and is_item:
            yield sentence
        for pattern in (_ORDER, _ORDER_EAST):
            yield from (Sentence(sentence.start, match["order"]) for match in pattern.finditer(text))
        if not is_item:
            is_list = bool(_LIST_HEAD.search(text))


# The reply's format as the prompt shows it: JSON objects by their keys, tags, labelled lines.
#
# A shown format is seldom valid JSON (`"score": N`, `"A|B"`), so nothing is parsed here: strings
# that a colon follows are keys, braces are nesting, and the rest is passed over.


_SHAPE_TOKEN = re.compile(
    r"""[{}]
    | \\?"(?P<double>[^"\\\n]{0,160})\\?"(?P<colon>\s{0,4}:\s{0,4})?
    | '(?P<single>[^'\\\n{}]{1,80})'(?P<single_colon>\s{0,4}:\s{0,4})
    """,
    re.VERBOSE,
)
_VALUE = re.compile(r"[^,}\n]{0,120}")


class Object(NamedTuple):
    """An object in a shown format: its keys with what stands in the place of each value."""

    start: int
    end: int
    values: dict[str, tuple[str, int]]
    """key → the value as shown, and where"""


@lru_cache(maxsize=512)
def objects_in(words: str) -> tuple[Object, ...]:
    """The JSON-like objects of a text that have at least one key, in the order in which they end."""
    done: list[Object] = []
    starts: list[int] = []
    values: list[dict[str, tuple[str, int]]] = []
    for token in _SHAPE_TOKEN.finditer(words):
        if token[0] == "{":
            starts.append(token.start())
            values.append({})
        elif token[0] == "}":
            if starts:
                start, keys = starts.pop(), values.pop()
                if keys:
                    done.append(Object(start, token.end(), keys))
        elif starts and (token["colon"] or token["single_colon"]):
            key = (token["double"] or token["single"] or "").strip().lower()
            value = _VALUE.match(words, token.end())
            values[-1].setdefault(key, (value[0].strip() if value else "", token.end()))
    return tuple(done)


_TAG = re.compile(r"</?([A-Za-z][\w-]{1,30})>")
_LABELLED = re.compile(
    r"^[\s*_#>\[<\"'•-]{0,8}([^\W\d][\w /'()-]{1,40}?)[\]>*_\"']{0,4}\s?[:：]", re.MULTILINE
)


def places_of(prompt: Prompt) -> set[str]:
    """The names of all places in the reply that the prompt shows or the settings read, in small letters."""
    answer = prompt.protocol.answer
    paths = (
        answer.score,
        answer.choice,
        answer.confidence,
        answer.choice_confidence,
        answer.evidence,
        answer.reason,
    )
    places = {
        part
        for path in (*paths, *answer.notes.values(), *answer.scores.values())
        if path
        for part in path.split(".")
    }
    for shown in objects_in(prompt.words):
        places.update(shown.values)
    places.update(match[1] for match in _TAG.finditer(prompt.words))
    places.update(match[1] for match in _LABELLED.finditer(prompt.words))
    return {place.lower().strip() for place in places}


# Finding the levels of a scale that a prompt describes: "Score 2: …", "10分代表…", "1점은 …".
#
# A numbered list of steps looks much like a list of levels; what tells them apart is that steps
# begin with an order ("Read …"). Numbers off the scale are never levels.


class Level(NamedTuple):
    """A level, or a range of levels, that the text describes."""

    low: float
    high: float
    text: str
    start: int


_LONGEST_LIST = 100
"""No prompt describes more levels than this; a longer run of numbers is something else."""

_NUM = r"\d{1,3}(?:\.\d{1,2})?"
_RANGE = rf"(?P<low>{_NUM})(?:\s{{0,2}}(?:-|–|—|~|～|to|到|至)\s{{0,2}}(?P<high>{_NUM}))?"
_UNIT = r"(?:\s?(?:points?|stars?|分|점))?"
_OPEN = r"[\s*_`\"'“\[(<#>|•·-]{0,12}"
_CLOSE = r"[*_`\"'”\])>|]{0,6}"
_NOUN = r"(?:(?:an? |the )?(?:scores?|ratings?|levels?|grades?|得分|评分|分数|等级|级别|점수|수준|등급|평점)(?: of)?\s?[:=]?\s?)?"
_SEP = r"(?::|：|=|–|—|(?<!\d)-(?!\s?\d)|\||->|→|means\b|represents\b|indicates\b|if\b|when\b|代表|表示|为|是|은|는)"

_LINE = re.compile(
    rf"^{_OPEN}{_NOUN}(?:<\w+>|[*_`\"\[(]){{0,3}}{_RANGE}{_UNIT}(?:</\w+>)?{_CLOSE}"
    rf"(?P<name>\s?\([^()\n]{{1,60}}\))?{_CLOSE}\s{{0,3}}{_SEP}\s{{0,3}}(?P<text>[^\s|][^\n]*?)(?=[,;]\s\d{{1,3}}\s?[=:–-]\s?[^\W\d]|,? (?:and|while) \d{{1,3}} (?:if|when|means|is|being)\b|$)",
    re.MULTILINE | re.IGNORECASE,
)
_NAME_FIRST = re.compile(
    rf"^[ \t*_#>•-]{{0,10}}(?P<name>[^\W\d][\w /'-]{{1,40}}?)\s?[\[(]{_RANGE}{_UNIT}[\])][*_]{{0,3}}\s?"
    r"(?:[:：–—-])[ \t*]{0,4}(?P<text>\S[^\n]*)",
    re.MULTILINE,
)
_BRACKETED = re.compile(
    rf"^[ \t*_#>•-]{{0,10}}\[?[^\W\d][\w -]{{1,24}}:\s?{_RANGE}\][*_]{{0,3}}\s?\(?(?P<text>[^\n]{{3,}})",
    re.MULTILINE,
)
_NUMBERED = re.compile(rf"^[ \t]{{0,6}}{_RANGE}[.)-]\s[*_]{{0,3}}(?P<text>\S[^\n]*)", re.MULTILINE)
_INLINE = re.compile(
    rf"(?:(?:scores?|ratings?|grades?|value|level)(?: of)? [\"'`*\[(<]{{0,3}}{_RANGE}[\"'`*\])>]{{0,3}}{_UNIT}\s?"
    r"(?:means?|indicates?|indicating|represents?|representing|denotes?|is|being|would be|should be|:|=|if|when|for)\s)"
    r"(?P<text>[^\n.;]{3,400}?)(?=[.;\n]|\Z|,? (?:and|while|whereas|but) (?:a |an |the )?(?:score|rating|grade|value|\d))",
    re.IGNORECASE,
)
_SHORT = re.compile(
    rf"(?<![\w.+/-])[\"'`*]{{0,2}}{_RANGE}[\"'`*]{{0,2}}{_UNIT}\s?"
    r"(?:(?P<paren>\((?P<inside>[^()\d\n]{3,60})\))|(?:=|(?-i:if|when)|being|is the|is|means?|meaning|represents?|representing|indicates?|"
    r"indicating|代表|表示|为|은|는|이|가)\s{0,2}(?P<text>[^\n.;,，。；\d]{2,60}))",
    re.IGNORECASE,
)
_LISTED = re.compile(rf"(?<=[,;]\s){_RANGE}{_UNIT}\s?[=:–-]\s?(?P<text>[^\W\d][^,;\n\d]{{1,60}})")
_LEVEL_ORDER = re.compile(
    r"\W*(?:read|review|compare|check|identify|assign|write|evaluate|provide|give|rate|analy[sz]e|determine|list|consider|"
    r"examine|assess|look|think|find|count|note|explain|output|use|decide|extract|verify|understand|return)\b",
    re.IGNORECASE,
)


def level_lists(prompt: Prompt) -> list[list[Level]]:
    """The lists of levels in a prompt: a new one begins where a level comes again."""
    lists: list[list[Level]] = []
    for level in sorted(_levels(prompt), key=lambda level: level.start):
        near = lists[-1] if lists else []
        is_new = not near or any(level.low <= other.high and other.low <= level.high for other in near)
        if is_new or len(near) > _LONGEST_LIST:
            lists.append([level])
        else:
            near.append(level)
    kept = [levels for levels in lists if len(levels) > 1 and not _are_steps(levels)]
    return kept or _numbered(prompt)


def _numbered(prompt: Prompt) -> list[list[Level]]:
    """A numbered list is a list of levels only if it has a number for each level and no others."""
    scales = [scale for _, scale in prompt.scales if scale.low is not None and scale.high is not None]
    lists: list[list[Level]] = []
    for level, _ in _matches(_NUMBERED, prompt.words, scales):
        if lists and abs(level.low - lists[-1][-1].low) == 1 and level.start - lists[-1][-1].start < 600:
            lists[-1].append(level)
        else:
            lists.append([level])
    every = [whole_levels(scale) for scale in scales]
    return [
        levels
        for levels in lists
        if sorted(level.low for level in levels) in every and not _are_steps(levels)
    ]


def declared_levels(scale: Scale) -> list[Level]:
    """The levels that the settings describe or name."""
    texts = {
        value: f"{scale.names.get(value, '')} {scale.levels.get(value, '')}"
        for value in (*scale.levels, *scale.names)
    }
    return [Level(value, value, text.strip(), 0) for value, text in sorted(texts.items())]


def whole_levels(scale: Scale) -> list[float]:
    """All levels of a scale that has few enough to describe each; none of a scale like 0 to 100."""
    if scale.low is None or scale.high is None:
        return []
    step = scale.step or 1.0
    count = (scale.high - scale.low) / step
    if not 2 <= count <= 10 or abs(count - round(count)) > 1e-9:
        return []
    return [round(scale.low + index * step, 9) for index in range(round(count) + 1)]


def _levels(prompt: Prompt) -> Iterator[Level]:
    scales = [scale for _, scale in prompt.scales if scale.low is not None and scale.high is not None]
    if not scales:
        return
    taken: list[tuple[int, int]] = []
    for pattern in (_LINE, _NAME_FIRST, _BRACKETED, _INLINE, _LISTED, _SHORT):
        matches = list(_matches(pattern, prompt.words, scales))
        new = [(level, end) for level, end in matches if not _within(level.start, taken)]
        taken = sorted([*taken, *((level.start, end) for level, end in new)])
        yield from (level for level, _ in new)


def _matches(pattern: re.Pattern[str], words: str, scales: Iterable[Scale]) -> Iterator[tuple[Level, int]]:
    for match in pattern.finditer(words):
        groups = match.groupdict()
        low = float(groups["low"])
        high = float(groups["high"] or low)
        on_scale = any(
            scale.low <= low <= high <= scale.high and (low, high) != (scale.low, scale.high)
            for scale in scales
            if scale.low is not None and scale.high is not None
        )
        if not on_scale:
            continue
        name, text = groups.get("name") or "", groups.get("text") or groups.get("inside") or ""
        start = match.start("low")
        yield Level(low, high, f"{name.strip(' ()')} {text}".strip().replace(BLOT, ""), start), match.end()


def _within(start: int, taken: list[tuple[int, int]]) -> bool:
    """Whether an offset lies in a stretch that another pattern has read already."""
    low, high = 0, len(taken)
    while low < high:
        middle = (low + high) // 2
        if taken[middle][0] <= start:
            low = middle + 1
        else:
            high = middle
    return low > 0 and start < taken[low - 1][1]


def _are_steps(levels: list[Level]) -> bool:
    orders = sum(1 for level in levels if _LEVEL_ORDER.match(level.text))
    return orders * 2 > len(levels)


_QUALITY_GOOD = (
    r"excellent|outstanding|perfect(?:ly)?|exceptional(?:ly)?|superb|very good|great|good|best|ideal|flawless|"
    r"superior|strong|impressive|优秀|出色|完美|很好|最好|非常好|极好|卓越|良好|우수|훌륭|완벽|최고|탁월|매우 좋|좋음|좋은"
)
_QUALITY_BAD = (
    r"poor(?:ly)?|bad(?:ly)?|worst|terrible|awful|horrible|unacceptable|inadequate|useless|inferior|very weak|weak|"
    r"fails?|failed|failing|最差|很差|极差|较差|差|糟糕|不合格|나쁨|나쁜|최악|형편없|미흡"
)
_TRAIT_GOOD = (
    r"accurate(?:ly)?|correct(?:ly)?|relevant|coherent(?:ly)?|clear(?:ly)?|fluent(?:ly)?|"
    r"consistent(?:ly)?|faithful(?:ly)?|helpful|safe|well[- ]supported|grounded|harmless|factual|appropriate(?:ly)?|efficient(?:ly)?|complete|optimal|natural|准确|正确|相关|连贯|清晰|流畅|"
    r"정확한|정확하|명확|일관된|유창"
)
_TRAIT_BAD = (
    r"inaccura\w+|incorrect\w*|irrelevan\w+|incoheren\w+|unclear|inconsisten\w+|unfaithful\w*|unhelpful|unsafe|"
    r"unsupported|hallucinat\w+|fabricat\w+|harmful|toxic|errors?|mistakes?|wrong|biased|misleading|offensive|"
    r"contradict\w+|disjointed|confusing|incomplete\w*|unrelated|inappropriate\w*|inefficien\w+|unnatural\w*|nonsensical|错误|混乱|不准确|不相关|有害|부정확|오류|불명확|유해"
)
_NEGATION = re.compile(
    r"(?:\b(?:no|not|without|free (?:of|from)|lacks?|lacking|never|neither|nor|none|zero|non|isn't|doesn't|cannot|hardly|"
    r"minimal|few|little|lack of|absence of)\b[\w\s,/-]{0,24}|[不没无未非](?:有|是|存在)?|不够)\Z",
    re.IGNORECASE,
)
_NEGATED_AFTER = re.compile(r"\s*(?:가|이|은|는|하지|지)?\s*(?:없|않|아니)")


def _compiled(words: str) -> re.Pattern[str]:
    latin = "|".join(word for word in words.split("|") if word.isascii())
    other = "|".join(word for word in words.split("|") if not word.isascii())
    return re.compile(rf"\b(?:{latin})\b|{other}", re.IGNORECASE)


def _patterns(good: str, bad: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    return _compiled(good), _compiled(bad)


_QUALITY = _patterns(_QUALITY_GOOD, _QUALITY_BAD)
_TRAIT = _patterns(_TRAIT_GOOD, _TRAIT_BAD)
_LOOKED_AT = 400


class Valence(NamedTuple):
    """Whether a text praises (above 0) or blames (below 0), by either kind of words."""

    quality: int
    trait: int

    @property
    def any(self) -> int:
        """The quality words where they decide, otherwise the traits."""
        return self.quality or self.trait


def valence_of(text: str) -> Valence:
    """What the words of a level say about it."""
    text = text[:_LOOKED_AT]
    return Valence(_sign(text, *_QUALITY), _sign(text, *_TRAIT))


def _sign(text: str, good: re.Pattern[str], bad: re.Pattern[str]) -> int:
    # The first words name the level ("Excellent - …, no poor choices"), so they decide alone if they can.
    for part in (text[:40], text):
        total = _count(part, good) - _count(part, bad)
        if total:
            return 1 if total > 0 else -1
    return 0


def _count(text: str, pattern: re.Pattern[str]) -> int:
    total = 0
    for match in pattern.finditer(text):
        is_negated = _NEGATION.search(
            text[max(0, match.start() - 40) : match.start()]
        ) or _NEGATED_AFTER.match(text, match.end())
        total += -1 if is_negated else 1
    return total

"""Whether words praise or blame, as the descriptions of levels do."""

from __future__ import annotations

import re
from typing import NamedTuple

_QUALITY_GOOD = (
    r"excellent|outstanding|perfect(?:ly)?|exceptional(?:ly)?|superb|very"
    r" good|great|good|best|ideal|flawless|"
    r"superior|strong|impressive|优秀|出色|完美|很好|最好|非常好|极好|卓越|良好|우수|훌륭|완벽|최고|탁월|매우"
    r" 좋|좋음|좋은"
)


_QUALITY_BAD = (
    r"poor(?:ly)?|bad(?:ly)?|worst|terrible|awful|horrible|unacceptable|inadequate|useless|inferior|very"
    r" weak|weak|"
    r"fails?|failed|failing|最差|很差|极差|较差|差|糟糕|不合格|나쁨|나쁜|최악|형편없|미흡"
)


_TRAIT_GOOD = (
    r"accurate(?:ly)?|correct(?:ly)?|relevant|coherent(?:ly)?|clear(?:ly)?|fluent(?:ly)?|"
    r"consistent(?:ly)?|faithful(?:ly)?|helpful|safe|well[-"
    r" ]supported|grounded|harmless|factual|appropriate(?:ly)?|efficient(?:ly)?|complete|optimal|natural|"
    r"准确|正确|相关|连贯|清晰|流畅|"
    r"정확한|정확하|명확|일관된|유창"
)


_TRAIT_BAD = (
    r"inaccura\w+|incorrect\w*|irrelevan\w+|incoheren\w+|unclear|inconsisten\w+|unfaithful\w*|unhelpful|"
    r"unsafe|"
    r"unsupported|hallucinat\w+|fabricat\w+|harmful|toxic|errors?|mistakes?|wrong|biased|misleading|"
    r"offensive|"
    r"contradict\w+|disjointed|confusing|incomplete\w*|unrelated|inappropriate\w*|inefficien\w+|unnatural\w*|"
    r"nonsensical|错误|混乱|不准确|不相关|有害|부정확|오류|불명확|유해"
)


_NEGATION = re.compile(
    r"(?:\b(?:no|not|without|free"
    r" (?:of|from)|lacks?|lacking|never|neither|nor|none|zero|non|isn't|doesn't|cannot|hardly|"
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

"""Prompts that were found by simple rules, as draft folders with every guess marked for review.

The texts are the document's, unchanged but for the container. The settings are guesses, and each
says so in a comment; nothing here decides in silence which end of a scale is good.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...render import PROTOCOL_SLOTS, USER_SLOTS
from .find_prompts import Document, FoundPrompt, is_system
from .folders import REVIEW, NewFolder, Remark, Setting, Table, file_text, foreign_placeholders, written

# Guesses from the words of a prompt: scale, good end, format of the reply, language, pairs.
#
# Pure functions of text. Each comes back with the reason for a person to check, or with nothing;
# a guess is never certain, and which end of a scale is good is guessed only where the prompt says it.


LOOKED_AT = 60_000
"""Characters of a prompt that hints are looked for in; longer ones are data more than words."""


class ScaleGuess(Struct, frozen=True):
    """A range that the prompt names, others that it names too, and whether it asks for whole numbers."""

    low: float
    high: float
    others: tuple[str, ...]
    is_integer: bool


_NUMBER = r"([0-9]{1,3}(?:\.[0-9])?)"
_BEFORE = r"(?<![0-9A-Za-z_.])"
_AFTER = r"(?![0-9A-Za-z_]|\.[0-9])"
_NOT_A_SCALE = (
    r"(?! ?(?:sentence|paragraph|word|step|bullet|line|token|minute|item|example|句|段|字|문장|단계))"
)
# What a level stands for is often said beside it: "from 0 (icy) to 3 (warm)", "1 = poor to 5 = excellent".
_GLOSS = r"(?: ?[(（][^()（）\n0-9]{1,60}[)）],?| ?= ?[^\W\d][^\W\d ]{0,20}(?: [^\W\d ]{1,20}){0,2}?,?)?"
_RANGES = (
    re.compile(
        rf"{_BEFORE}{_NUMBER} ?(?:점|分)?{_GLOSS} ?(?:-|–|—|~|～|〜|to|through|到|至|부터|에서) ?{_NUMBER}{_AFTER}{_NOT_A_SCALE}",
        re.IGNORECASE,
    ),
    re.compile(rf"\bbetween {_NUMBER}{_GLOSS} and {_NUMBER}{_AFTER}{_NOT_A_SCALE}", re.IGNORECASE),
)
_SCALE_WORDS = re.compile(r"scor|rat(?:e|ing)|scale|grade|points?|分|점|評価", re.IGNORECASE)
_CONFIDENCE = re.compile(r"confiden|certain|置信|확신|신뢰도", re.IGNORECASE)
_STEPS_BEFORE = re.compile(r"(?:steps?|lines?|pages?|turns?|步骤|단계) ?\Z", re.IGNORECASE)
_INTEGER = re.compile(r"\bintegers?\b|\bwhole numbers?\b|整数|정수|整数値", re.IGNORECASE)


def guess_scale(text: str) -> ScaleGuess | None:
    """The range that the prompt names most often near words for scores."""
    text = text[:LOOKED_AT]
    counts: Counter[tuple[float, float]] = Counter()
    for pattern in _RANGES:
        for match in pattern.finditer(text):
            low, high = float(match[1]), float(match[2])
            around = text[max(0, match.start() - 60) : match.end() + 30]
            if (
                low not in (0, 1)
                or not low < high <= 100
                or _STEPS_BEFORE.search(text, max(0, match.start() - 12), match.start())
            ):
                continue
            # A confidence from 0 to 1 is asked for beside the score, not in its place.
            weight = 1 if _CONFIDENCE.search(around) else 100 if _SCALE_WORDS.search(around) else 10
            counts[low, high] += weight
    if not counts:
        return None
    ((low, high), _), *rest = counts.most_common()
    others = tuple(f"{other[0]:g}-{other[1]:g}" for other, _ in rest[:4])
    return ScaleGuess(low, high, others, _INTEGER.search(text) is not None)


_GOOD = (
    r"(?:excellent|best|perfect|outstanding|flawless|ideal|superb"
    r"|(?:fully|completely|entirely|highly) (?:accura|correct|consisten|relevan|faithful|support|fluen|clear|appropria|coheren)"
    r"|优秀|完美|最好|极好|非常好|훌륭|완벽|최고|우수|最高)"
)
_BAD = r"(?:worst|terrible|(?:very )?poor|awful|bad|unacceptable|not at all|最差|很差|极差|较差|최악|나쁨|미흡|最低)"
_NEGATION = re.compile(r"\b(?:not?|never|less|far from|without)\b|n't|不|没|아니|않", re.IGNORECASE)
_UP = re.compile(
    r"\bhigher (?:the )?(?:scores?|ratings?|values?|numbers?|is|means?|=)[^.\n]{0,60}?\b(?:better|best|stronger|higher quality)"
    r"|越高[^。\n]{0,25}?(?:好|优|强|高)|높을수록[^.\n]{0,25}?(?:좋|우수|뛰어|높)|高いほど[^。\n]{0,25}?良",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\blower (?:the )?(?:scores?|ratings?|values?|numbers?|is|means?|=)[^.\n]{0,60}?\b(?:better|best)"
    r"|越低[^。\n]{0,25}?(?:好|优)|낮을수록[^.\n]{0,25}?(?:좋|우수)|低いほど[^。\n]{0,25}?良",
    re.IGNORECASE,
)


def guess_best(text: str, low: float, high: float) -> tuple[float, str] | None:
    """The good end where the words name it and nothing in them contradicts, with those words."""
    text = text[:LOOKED_AT]
    up = _UP.search(text) or _praised(text, high) or _level(text, low, _BAD)
    down = _DOWN.search(text) or _praised(text, low) or _level(text, high, _BAD)
    if up and not down:
        return high, up[0]
    if down and not up:
        return low, down[0]
    return None


def _praised(text: str, level: float) -> re.Match[str] | None:
    """A level that is called good, before its number or behind it: "3 is best", "the best score is 3"."""
    number = re.escape(f"{level:g}")
    before = rf"\b(?:best|perfect) (?:possible )?(?:(?:score|rating|grade|mark|value|level)s? )?(?:is|=|:) ?(?:an? )?{number}{_AFTER}"
    return _level(text, level, _GOOD) or re.search(before, text, re.IGNORECASE)


def _level(text: str, level: float, words: str) -> re.Match[str] | None:
    """A level of the scale followed by a word that praises or blames, with no other number between."""
    number = re.escape(f"{level:g}")
    pattern = rf"{_BEFORE}{number}(?![0-9]|\.[0-9])([^.。\n0-9]{{0,30}}?){words}"
    matches = re.finditer(pattern, text, re.IGNORECASE)
    return next((match for match in matches if not _NEGATION.search(match[1])), None)


class AnswerGuess(Struct, frozen=True):
    """A reader, its settings, the criteria that a JSON format names, and why."""

    reader: str
    why: str
    settings: dict[str, str | list[str]] = {}
    criteria: tuple[str, ...] = ()


_MARKER = re.compile(r"\[(?:RESULT|SCORE|RATING|VERDICT|FINAL(?: SCORE)?|ANSWER|JUDGE?MENT)\]")
_TAG = re.compile(r"<(score|rating|grade|result|verdict|judge?ment|answer|final_score)>", re.IGNORECASE)
_DOUBLE_BRACKETS = re.compile(r"\[\[(?:rating|score|[A-C]|[0-9]{1,2})\]\]", re.IGNORECASE)
_KEY = re.compile(r"\\?[\"']([^\W\d][\w -]{0,40})\\?[\"'][ \t]{0,4}:")
_JSON_WORD = re.compile(r"\bjson\b", re.IGNORECASE)
_NESTED = re.compile(
    r"\"(\w{1,40})\"[ \t]{0,4}:\s{0,20}\{{1,2}[^{}]{0,400}?\"(score|rating|grade)\"[ \t]{0,4}:"
)
_NUMBER_VALUE = re.compile(
    r"\"(\w{1,40})\"[ \t]{0,4}:[ \t]{0,4}"
    r"(?:<[^<>\n]{0,30}(?:int|float|number|score|[0-9])[^<>\n]{0,30}>|[0-9]|N\b|(?:int|integer|float|number)\b)"
)
_SCORE_KEYS = (
    "score",
    "rating",
    "grade",
    "overall_score",
    "final_score",
    "overall",
    "value",
    "分数",
    "得分",
    "评分",
    "점수",
)
_CHOICE_KEYS = ("winner", "choice", "verdict", "preference", "preferred", "better", "answer", "result")
_REASON_KEYS = (
    "reason",
    "reasoning",
    "explanation",
    "rationale",
    "feedback",
    "analysis",
    "justification",
    "理由",
    "이유",
)
_FIRST_LINE = re.compile(
    r"first line[^.\n]{0,60}\b(?:only|alone|single|just|score|number)|\bon (?:the|its own) first line\b"
    r"|首先输出一行|第一行[^。\n]{0,15}(?:分|值)|첫 ?(?:번째 )?줄",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^[ \t#*_-]{0,6}((?:[\w-]{1,30} ){0,4}(?:score|rating|grade|评分|得分|分数|점수)(?: ?[(（][^()（）\n]{1,20}[)）])?)"
    r"[*_]{0,3} ?[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_RANGE_BEHIND = re.compile(r" ?[(（][^()（）]*[)）]\Z")


def guess_answer(text: str, *, is_compare: bool) -> AnswerGuess:
    """How the prompt wants the answer written: the clearest sign wins."""
    text = text[:LOOKED_AT]
    if marker := _MARKER.search(text):
        return AnswerGuess("marker", f"the prompt shows {marker[0]}", {"marker": marker[0]})
    if tag := _TAG.search(text):
        return AnswerGuess("tag", f"the prompt shows <{tag[1]}>", {"tag": tag[1]})
    if brackets := _DOUBLE_BRACKETS.search(text):
        return AnswerGuess("free", f"the prompt shows {brackets[0]}, which the free reader knows")
    if answer := _guess_json(text, is_compare=is_compare):
        return answer
    if line := _FIRST_LINE.search(text):
        return AnswerGuess("first_line", f"the prompt says: {line[0]}")
    labels = _LABEL.findall(text)
    if labels and not is_compare:
        # The place for the score stands at the end of a form.
        label = labels[-1].strip()
        spellings = list(dict.fromkeys([label, _RANGE_BEHIND.sub("", label)]))
        return AnswerGuess("label", f"the prompt shows the label {label}", {"labels": spellings})
    return AnswerGuess("free", "no format of the reply was recognised")


def _guess_json(text: str, *, is_compare: bool) -> AnswerGuess | None:
    if several := _several(text):
        return several
    named = {key.lower(): key for key in reversed(_KEY.findall(text))}
    score = next((named[key] for key in _SCORE_KEYS if key in named), None)
    choice = next((named[key] for key in _CHOICE_KEYS if key in named), None)
    reason = next((named[key] for key in _REASON_KEYS if key in named), None)
    settings: dict[str, str | list[str]] = {}
    if is_compare and choice is not None:
        settings["choice"] = choice
    elif score is not None:
        around = [name for name, key in _NESTED.findall(text) if key == score]
        settings["score"] = f"{around[0]}.{score}" if around else score
    elif _JSON_WORD.search(text):
        settings["choice" if is_compare else "score"] = "winner" if is_compare else "score"
        return AnswerGuess("json", "the prompt speaks of JSON, and the key is not known", settings)
    else:
        return None
    if reason is not None:
        settings["reason"] = reason
    return AnswerGuess("json", "the prompt shows JSON with these keys", settings)


def _several(text: str) -> AnswerGuess | None:
    """JSON with a score for each of several criteria: in a separate object, or as a plain number."""
    nested = _NESTED.findall(text)
    criteria = tuple(dict.fromkeys(name for name, _ in nested))
    if len(criteria) > 1:
        why = "the prompt shows JSON with an object for each criterion"
        return AnswerGuess("json", why, {"score": "{criterion}." + nested[0][1]}, criteria)
    flat = dict.fromkeys(name for name in _NUMBER_VALUE.findall(text) if not _CONFIDENCE.search(name))
    if len(flat) > 1 and not any(name.lower() in _SCORE_KEYS for name in flat):
        why = "the prompt shows JSON with a number for each criterion"
        return AnswerGuess("json", why, {"score": "{criterion}"}, tuple(flat))
    return None


_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7a3]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
_REPLY_LANGUAGE = re.compile(
    r"\b(?:in|using) (english|korean|chinese|japanese|german|french|spanish|russian|portuguese|italian)\b"
    r"|用?(中文|英文|韩文|日文)(?:回答|输出|作答)|(한국어|영어)로",
    re.IGNORECASE,
)
_CODES = {
    "english": "en", "korean": "ko", "chinese": "zh", "japanese": "ja", "german": "de", "french": "fr",
    "spanish": "es", "russian": "ru", "portuguese": "pt", "italian": "it", "中文": "zh", "英文": "en",
    "韩文": "ko", "日文": "ja", "한국어": "ko", "영어": "en",
}  # fmt: skip


def guess_languages(text: str) -> tuple[str, str]:
    """The languages of the prompt (by its script; English where it is Latin) and of the reply."""
    text = text[:LOOKED_AT]
    letters = sum(character.isalpha() for character in text) or 1
    prompt = "en"
    for code, script in _SCRIPTS:
        if len(script.findall(text)) / letters > (0.02 if code == "ja" else 0.2):
            prompt = code
            break
    named = _REPLY_LANGUAGE.search(text)
    reply = _CODES[(named[1] or named[2] or named[3]).lower()] if named else prompt
    return prompt, reply


_SIDES = {
    "a": 0, "b": 1, "1": 0, "2": 1, "one": 0, "two": 1, "first": 0, "second": 1, "left": 0, "right": 1,
}  # fmt: skip
_ROLES = {"chosen": 0, "rejected": 1, "baseline": 0, "enhanced": 1, "candidate": 1}
"""Words that name a side where no letter or number does."""

_PARTS = re.compile(r"[^\W\d_]*[^\W\d_A-Z](?=[A-Z12](?:[_.-]|\Z))|[^\W_.-]+")
"""The words of a slot's name; a side may stick to the word before it, as in responseA and answer2."""

_JUDGED = re.compile(
    r"response|answer|output|completion|summary|candidate|assistant|model|text|reply|generation|translation"
    r"|回答|答案|输出|응답|답변|回復",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"question|prompt|instruction|query|turn|example|context|source|reference|criteri", re.IGNORECASE
)
"""What two responses answer, or are compared with; it may come in pairs and is never what is judged."""

_CHOOSES = re.compile(
    r"\[\[(?:A|B)\]\]|\b(?:A or B|A, B,? or|A/B|(?:response|answer|output|assistant|option) 1 or 2)\b"
    r"|\bwhich\b[^.?!\n]{0,80}\b(?:better|best|prefer\w{0,4}|superior|stronger|wins?|higher[- ]quality)\b"
    r"|\b(?:choose|pick|select|name|indicate|output|decide)\b[^.?!\n]{0,40}\b(?:better|winner|preferred)\b"
    r"|\bthe (?:better|preferred) (?:response|answer|output|one|completion|summary|assistant)\b"
    r"|哪[一个]?[^。？\n]{0,30}(?:更好|更优|较好)|(?:어느|어떤)[^.?\n]{0,40}(?:더|나은|우수)|どちら[^。？\n]{0,30}(?:良|優)",
    re.IGNORECASE,
)


def chooses(text: str) -> str:
    """The words by which a prompt asks for the better of two, or nothing."""
    match = _CHOOSES.search(text[:LOOKED_AT])
    return match[0] if match else ""


def guess_pair(slots: Sequence[str], text: str) -> tuple[str, str] | None:
    """Two slots that hold the two things compared; none where questions come in pairs as well.

    Names that do not say that they hold responses are taken for a pair only where the words ask for the better one.
    """
    sides: dict[str, dict[int, str]] = {}
    for slot in slots:
        parts = _PARTS.findall(slot)
        marks = [part for part in parts if part.lower() in _SIDES]
        marks = marks or [part for part in parts if part.lower() in _ROLES]
        if len(marks) > 1:
            # answer_a_1 is one turn of one side: more than two texts are shown.
            return None
        if marks:
            base = "_".join(part for part in parts if part != marks[0])
            side = marks[0].lower()
            sides.setdefault(base, {})[_SIDES[side] if side in _SIDES else _ROLES[side]] = slot
    pairs = [(base, letters) for base, letters in sides.items() if len(letters) == 2]
    # Turns of one conversation are numbered too, questions and answers alike.
    if len(pairs) != 1:
        return None
    [(base, letters)] = pairs
    is_judged = _JUDGED.search(base) or (chooses(text) and not _GIVEN.search(base))
    return (letters[0], letters[1]) if is_judged else None


_RESERVED = USER_SLOTS | PROTOCOL_SLOTS | {"id", "system", "system_a", "system_b", "group"}
"""Names that an input cannot have: reserved slots, and the reserved keys of an item."""

_LAYOUT_WORDS = {
    "prompt",
    "prompts",
    "template",
    "templates",
    "the",
    "a",
    "an",
    "msg",
    "message",
    "user",
    "human",
    "content",
    "text",
}
_NAME_LENGTH = 60


class Draft(Struct, frozen=True):
    """A prompt with the system text that goes with it, under the name of its folder."""

    name: str
    user: FoundPrompt
    system: FoundPrompt | None


def paired(prompts: Sequence[FoundPrompt]) -> tuple[list[Draft], list[str]]:
    """Each prompt with the system text that stands before it, and notes on what had no use."""
    notes: list[str] = []
    chosen: list[tuple[FoundPrompt, FoundPrompt | None]] = []
    system: FoundPrompt | None = None
    is_used = True
    if all(is_system(prompt) for prompt in prompts):
        # Nothing but system texts: then they are the prompts.
        chosen = [(prompt, None) for prompt in prompts]
    else:
        for prompt in prompts:
            if is_system(prompt):
                if system is not None and not is_used:
                    notes.append(_unused(system))
                system, is_used = prompt, False
            else:
                chosen.append((prompt, system))
                is_used = True
        if system is not None and not is_used:
            notes.append(_unused(system))
    names = _names([prompt for prompt, _ in chosen])
    return [Draft(name, user, system) for name, (user, system) in zip(names, chosen, strict=True)], notes


def _unused(system: FoundPrompt) -> str:
    return (
        f"line {system.first_line}: the system text '{system.name}' has no prompt after it and was left out."
    )


def draft_folder(draft: Draft, document: Document) -> NewFolder:
    """The folder of one draft."""
    tables = _Settings(draft, document).tables()
    files = {"protocol.toml": written(tables), "user.md": file_text(draft.user.template.text)}
    if draft.system is not None:
        files["system.md"] = file_text(draft.system.template.text)
    files["NOTES.md"] = _notes(draft, document, tables)
    return NewFolder(draft.name, files)


# -- names


def _names(prompts: Sequence[FoundPrompt]) -> list[str]:
    """A folder name for each: its own heading, with those around it where that is not enough."""
    slugs = [_slug(prompt.names[:1]) for prompt in prompts]
    taken: set[str] = set()
    names = []
    for prompt, slug in zip(prompts, slugs, strict=True):
        candidates = [slug] if slug and slugs.count(slug) == 1 else []
        candidates += [_slug(reversed(prompt.names[:2])), _slug(reversed(prompt.names)), slug]
        name = next((name for name in candidates if name and name not in taken), None)
        number = 2
        base = slug or "prompt"
        while name is None:
            name = base if base not in taken else None
            if name is None and f"{base}-{number}" not in taken:
                name = f"{base}-{number}"
            number += 1
        taken.add(name)
        names.append(name)
    return names


def _slug(names: Iterable[str]) -> str:
    """Words in small letters joined by hyphens, in any script, without words for layout."""
    text = unicodedata.normalize("NFC", " ".join(names)).lower()
    words = re.findall(r"[^\W_]+", text)
    telling = list(dict.fromkeys(word for word in words if word not in _LAYOUT_WORDS))
    return "-".join(telling)[:_NAME_LENGTH].strip("-")


# -- settings


class _Settings:
    """The settings of one draft, put together guess by guess."""

    def __init__(self, draft: Draft, document: Document) -> None:
        self.draft, self.document = draft, document
        parts = [draft.user.template] + ([draft.system.template] if draft.system else [])
        self.words = "\n".join(part.literal for part in parts)
        self.slots = list(dict.fromkeys(slot for part in parts for slot in part.slots))
        if draft.system is not None and "system_message" in draft.user.template.slots:
            self.slots.remove("system_message")
        self.pair = guess_pair(self.slots, self.words)
        self.fields = _fields(self.slots, self.pair)
        self.answer: AnswerGuess = guess_answer(self.words, is_compare=self.pair is not None)

    def tables(self) -> list[Table]:
        renamed = [
            Setting(slot, field, _rename_reason(slot)) for slot, field in self.fields.items() if slot != field
        ]
        tables = [Table("", self._top()), *self._criteria()]
        if renamed:
            tables.append(Table("[alias]", renamed))
        return [*tables, Table("[answer]", self._answer())]

    def _top(self) -> list[Setting | Remark]:
        draft, user = self.draft, self.draft.user
        prompt, reply = guess_languages(self.words)
        task, why = "score", "taken for a score of one response"
        if self.pair is not None:
            task, why = "compare", f"{self.pair[0]} and {self.pair[1]} look like two responses to compare"
        inputs_why = "every placeholder was taken for a field of the items"
        if not self.fields:
            inputs_why = (
                "no placeholder was found, so nothing of an item is shown; write {{name}} where it belongs"
            )
        lines: list[Setting | Remark] = [
            Setting("title", user.name or draft.name, "from the heading or the variable"),
            Setting("task", task, why),
            Setting("language", {"prompt": prompt, "reply": reply}, "by the script and the words"),
            Setting("source", f"{self.document.name}, lines {user.first_line} to {user.last_line}"),
            Setting("imported", self.document.sha256),
            Setting("inputs", list(dict.fromkeys(self.fields.values())), inputs_why),
            Setting("fence", False),
        ]
        if draft.system is not None:
            lines.append(
                Remark(
                    f"system.md is the text '{draft.system.name}' that stands before this prompt; see that they belong together"
                )
            )
        doubts = (*user.doubts, *(draft.system.doubts if draft.system else ()))
        lines += [Remark(doubt) for doubt in dict.fromkeys(doubts)]
        if self.pair is None and (asked := chooses(self.words)):
            lines.append(
                Remark(
                    f"the prompt says '{asked}'; if it compares two responses, write task = \"compare\" and show them as "
                    "{{response_a}} and {{response_b}}"
                )
            )
        if foreign := foreign_placeholders(self.words):
            lines.append(
                Remark(
                    f"{', '.join(foreign)} was kept as text; if it is a placeholder, write it as {{{{name}}}}"
                )
            )
        return lines

    def _criteria(self) -> list[Table]:
        why = "from the name of the prompt"
        names: tuple[str, ...] = (self.draft.name,)
        if self.answer.criteria:
            names, why = self.answer.criteria, "from the keys of the JSON"
        tables = []
        for name in names:
            tables.append(Table("[[criteria]]", [Setting("name", name, why)]))
            if self.pair is None or "score" in self.answer.settings:
                tables.append(Table("[criteria.scale]", self._scale()))
        return tables

    def _scale(self) -> list[Setting | Remark]:
        unknown = Setting(
            "best", "unknown", "the prompt does not say clearly which end is good; write one of the two ends"
        )
        scale = guess_scale(self.words)
        if scale is None:
            return [Remark("no range was found; write low = and high = here"), unknown]
        why = "a range that the prompt names"
        if scale.others:
            why += f"; it names {', '.join(scale.others)} too"
        lines: list[Setting | Remark] = [Setting("low", scale.low, why), Setting("high", scale.high, why)]
        if scale.is_integer:
            lines.append(Setting("step", 1, "the prompt speaks of whole numbers"))
        best = guess_best(self.words, scale.low, scale.high)
        lines.append(Setting("best", best[0], f"the prompt says: {best[1]}") if best else unknown)
        return lines

    def _answer(self) -> list[Setting | Remark]:
        answer = self.answer
        lines: list[Setting | Remark] = [Setting("reader", answer.reader, answer.why)]
        lines += [Setting(key, value, "as the prompt shows it") for key, value in answer.settings.items()]
        if self.pair is not None and "score" not in answer.settings:
            choices = {"a": "A", "b": "B"}
            if re.search(r"\btie\b|\[\[C\]\]|平局|무승부", self.words, re.IGNORECASE):
                choices["tie"] = "C" if "[[C]]" in self.words else "tie"
            lines.append(Setting("choices", choices, "the words that the prompt asks for"))
        return lines


def _fields(slots: Sequence[str], pair: tuple[str, str] | None) -> dict[str, str]:
    """slot → the item field that fills it; a slot's own name wherever an item can have such a field."""
    fields: dict[str, str] = {}
    if pair is not None and not {"response_a", "response_b"} & ({*slots} - {*pair}):
        fields = {pair[0]: "response_a", pair[1]: "response_b"}
    taken = {*slots, *fields.values()}
    for slot in slots:
        if slot in fields:
            continue
        field = slot.replace(".", "_").replace("-", "_").strip("_") if "." in slot else slot
        if field in _RESERVED:
            field += "_text"
        while field != slot and field in taken:
            field += "_2"
        taken.add(field)
        fields[slot] = field
    return {slot: fields[slot] for slot in slots}


def _rename_reason(slot: str) -> str:
    if slot in _RESERVED:
        return f"an item cannot have a field named {slot}"
    if "." in slot:
        return "a field's name has no dots"
    return "so that the two responses can be shown in both orders"


# -- notes


def _notes(draft: Draft, document: Document, tables: Sequence[Table]) -> str:
    user, system = draft.user, draft.system
    places = [f"- `user.md`: lines {user.first_line} to {user.last_line}"]
    undone = list(user.undone)
    if system is not None:
        places.append(f"- `system.md`: lines {system.first_line} to {system.last_line}")
        undone += system.undone
    undone.append("Placeholders became slots in double braces. Nothing else was changed.")
    guesses = []
    for table in tables:
        for line in table.lines:
            if isinstance(line, Remark):
                guesses.append(f"- {line.review}")
            elif line.review:
                guesses.append(f"- `{line.key}`: {line.review}")
    marked = f"Each is marked with `{REVIEW.strip()}` in `protocol.toml`. Settle it, then take the mark away."
    return "\n".join(
        [
            f"# {draft.name}: a draft",
            "",
            f"Imported from `{document.name}` (sha256 {document.sha256}) by simple rules.",
            "",
            *places,
            "",
            "## What was undone",
            "",
            *(f"- {point}" for point in dict.fromkeys(undone)),
            "",
            "## To review",
            "",
            marked,
            "",
            *dict.fromkeys(guesses),
            "",
        ]
    )

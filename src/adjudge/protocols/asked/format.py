"""The form of reply that a prompt asks for, and a reply in that form as a judge would write it.

The signs are looked for in what the prompt says of the output: a tag around an input or an object with an
input in it is material, not a format. An import chooses the reader by it, and `check` reads the reply with
the reader that the settings name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import json_repair
from msgspec import Struct

INPUT = "\N{OBJECT REPLACEMENT CHARACTER}"
"""What stands for an input in the texts that are looked at."""

LOOKED_AT = 60_000
"""Characters of a prompt that hints are looked for in; longer ones are data more than words."""

SCORE_KEYS = (
    "score", "rating", "grade", "overall_score", "final_score", "total_score", "overall_rating",
    "overall", "value",
    "points", "mark", "分数", "得分", "评分", "综合得分", "점수", "点数",
)  # fmt: skip
VERDICT_KEYS = (
    "result", "verdict", "judgment", "judgement", "label", "decision", "answer", "correct", "pass", "passed",
    "is_correct", "criteria_met", "classification", "assessment", "category", "met", "evaluation",
    "final_verdict",
)  # fmt: skip
CHOICE_KEYS = (
    "winner", "choice", "verdict", "preference", "preferred", "better", "best", "answer", "result",
    "decision",
    "selected", "final_choice", "better_response",
)  # fmt: skip
REASON_KEYS = (
    "reason", "reasoning", "explanation", "rationale", "feedback", "analysis", "justification", "comment",
    "chain_of_thought", "thought", "evidence", "reasons", "理由", "이유",
)  # fmt: skip

_OUTPUT = re.compile(
    r"\b(?:outputs?|format(?:ted)?|return|respond|response should|reply|answer with|answer should"
    r"|final(?:ly)?|verdict"
    r"|json|provide|produce|ending? with|conclude|write|score)\b|输出|返回|格式|출력|형식",
    re.IGNORECASE,
)
_MARKER = re.compile(r"\[(?:RESULT|SCORE|RATING|VERDICT|FINAL(?: SCORE)?|ANSWER|JUDGE?MENT)\]")
_TAG = re.compile(
    r"<(score|rating|grade|result|verdict|judge?ment|answer|final_score|final_answer|final_verdict|decision|choice|label)>",
    re.IGNORECASE,
)
_TAG_OF_SCORE = re.compile(
    r"<([A-Za-z_]\w{0,30})>[ \t]*(?:(?:the|your|an?)[ ])?(?:(?:final|overall|numeric(?:al)?|integer)[ ])?"
    r"(?:score|rating|grade|verdict)[ \t]*</\1>",
    re.IGNORECASE,
)
"""A tag of any name that says what belongs into it: "<S2>your Score</S2>"."""
_BRACKETS = re.compile(r"\[\[ ?(rating|score|[A-C]|[0-9]{1,2}|[AB][<>=]{1,2}[AB]|[A-Za-z_ ]{2,20}) ?\]\]")
_FIRST_LINE = re.compile(
    r"first line[^.\n]{0,60}\b(?:only|alone|single|just|score|number)|\bon (?:the|its own) first line\b"
    r"|single line containing only"
    r"|首先输出一行|第一行[^。\n]{0,15}(?:分|值)|첫 ?(?:번째 )?줄",
    re.IGNORECASE,
)
_TWO_SCORES = re.compile(
    r"\btwo (?:values|scores|numbers|lines)\b[^.\n]{0,120}?\b(?:for )?(assistant|response|answer|model"
    r"|output|summary) ?"
    r"#?(1|a|one)\b[^.\n]{0,20}?(2|b|two)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?<![^\s\"'`*_#(\[-])((?:[^\W\d_][\w'’-]{0,30} ){0,4}(?:score|rating|grade|verdict|judge?ment"
    r"|decision|评分|得分|分数|점수)"
    r"(?: ?[(（][^()（）\n]{1,20}[)）])?)[*_]{0,3} ?[:：]",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"^#{1,6}[ \t]+((?:[^\W\d_][\w'’-]{0,30} ){0,4}"
    r"(?:score|rating|grade|verdict|judge?ment|decision))[ \t]*\n"
    r"[ \t]*(?:[<\[({]|[0-9]{1,3}(?:\.[0-9])?[ \t]*$|[A-Za-z_-]{1,20}[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A heading with the answer alone on the line below it."""
_LAST_LABEL = re.compile(
    r"(?:\A|\n)[ \t#*_-]{0,6}([^\W\d_][\w /-]{1,40}"
    r"(?: ?[(（][^()（）\n]{1,30}[)）])?)[*_]{0,3} ?[:：][ \t]*\s*\Z"
)
_FORM_LINE = re.compile(
    r"^[ \t*_-]{0,4}[\"'`]?(correct|answer|pass|verdict|label|result|final answer|conclusion"
    r"|classification)[*_]{0,3}[:：]"
    r"(?= ?(?:answer|respond|say|write|output|either|yes|no\b|true|correct|\[|<|\(|\$|[\"']))",
    re.IGNORECASE | re.MULTILINE,
)
"""A line of a form whose value is a verdict."""
_NO_ANSWER = re.compile(
    r"\b(?:json|outputs?|answers?|responses?|reasoning|explanation|rationale|analysis|feedback|evaluation|examples?|statements?"
    r"|thoughts?|steps?|human|assistant|user|system|note|for|the score of (?:each|all)|reduction)\b",
    re.IGNORECASE,
)
"""What stands before a colon and asks for more than a score."""
_ABOUT_LEVELS = re.compile(r"\b(?:following|one of|below|above|these|each|every)\b", re.IGNORECASE)
"""Words before a colon that announce the levels and no answer: "one of the following ratings:"."""
_RANGE_BEHIND = re.compile(r" ?[(（][^()（）]*[)）]\Z")
_FIELD = re.compile(
    r"[\"'`“]([^\W\d][\w -]{0,40})[\"'`”](?:[ \t]{0,4}[-–—:：(]|,| and\b| or\b|\.|\n| field| key)"
)
_KEY_SHOWN = re.compile(r"[\"'“]([^\"'”\n]{1,60})[\"'”]\s*[:：]")
_KEYS_LISTED = re.compile(
    r"\bjson\b[^.\n]{0,80}\b(?:keys?|fields?|properties)\b[^\n]{0,40}:[ \t]*\n"
    r"((?:[ \t]*[-*•][ \t]*[\"'`*]{0,3}\w[^\n]{0,400}\n?){1,12})",
    re.IGNORECASE,
)
_LISTED_KEY = re.compile(
    r"^[ \t]*[-*•][ \t]*[\"'`*]{0,3}(\w{1,40})[\"'`*]{0,3}[ \t]*(?:\([^()\n]{0,40}\)[ \t]*)?[:–-]",
    re.MULTILINE,
)
_JSON_WORD = re.compile(r"\bjson\b", re.IGNORECASE)
_ASKED_JSON = re.compile(
    r"\b(?:respond|reply|return|output|answer|format\w*|provide|produce|give)\b[^.\n]{0,60}\bjson\b",
    re.IGNORECASE,
)
_BARE_FIELDS = re.compile(
    r"\{ ?((?:\w{2,30} ?: ?(?:string|boolean|bool|number|int|integer|float|str)[^{},\n]{0,30},? ?){1,8})\}"
)
_HOLE = re.compile(
    r"^\s*(?:[<\[({$].*[>\])}]?|\.{2,}|…|x+|n|int(?:eger)?|float|number|string|str|score|rating)\s*$",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER_HOLE = re.compile(
    r"\s*<?[^<>\n]{0,30}\b(?:int|integer|float|number|n|[0-9])\b[^<>\n]{0,30}>?\s*", re.IGNORECASE
)
_RANKING = re.compile(
    r"\{? ?['\"](\w*(?:model|name|id)\w*)['\"] ?: ?[^{}\n]{1,40}, ?['\"](\w*rank\w*)['\"] ?:[^{}\n]{1,40}\}?"
)
_CHOICE_NAME = re.compile(r"better|best|winner|prefer|更好|更优|胜|우수|나은", re.IGNORECASE)
_MODEL_NAMES = re.compile(
    r"['\"](?:model(?:_identifier|_name)?|name|id)['\"] ?: ?['\"]?(\w[\w-]{0,40})['\"]?"
)


class AskedForm(Struct, frozen=True):
    """A form of reply: the reader that reads it, its settings, and what said so."""

    reader: str
    why: str
    at: int
    settings: Mapping[str, Any] = {}
    example: Any = None
    """the object that the prompt shows, or the text of a form, with holes where the judge writes"""
    key: str = ""
    """the key of the score or the choice in it"""


def asked_format(text: str, *, is_compare: bool) -> AskedForm | None:
    """How a prompt wants the answer written: the clearest sign in what it says of the output."""
    text = text[:LOOKED_AT]
    if is_compare and (ranking := _ranking(text)):
        return ranked(ranking, text)
    if asked := _marker(text) or _tag(text) or _brackets(text) or _object(text, is_compare=is_compare):
        return asked
    if asked := _first_line(text, is_compare=is_compare):
        return asked
    if not is_compare and (asked := _labelled(text)):
        return asked
    if is_compare and (two := _TWO_SCORES.search(text)):
        return AskedForm("first_line", f"the prompt says: {two[0][:60]}", two.start(), _subjects(two))
    return _json_word(text, is_compare=is_compare)


def _ranking(text: str) -> re.Match[str] | None:
    return _RANKING.search(text)


def ranked(match: re.Match[str], text: str) -> AskedForm:
    """A list with a rank for each of two names."""
    names = list(dict.fromkeys(name for name in _MODEL_NAMES.findall(text) if "<" not in name))
    choices = {"a": names[0], "b": names[1]} if len(names) == 2 else {}
    return AskedForm(
        "ranking", f"the prompt shows {match[0][:50]}", match.start(), {"choices": choices} if choices else {}
    )


def _marker(text: str) -> AskedForm | None:
    match = _MARKER.search(text)
    return match and AskedForm("marker", f"the prompt shows {match[0]}", match.start(), {"marker": match[0]})


def _tag(text: str) -> AskedForm | None:
    if (said := _TAG_OF_SCORE.search(text)) is not None:
        return AskedForm("tag", f"the prompt shows {said[0]}", said.start(), {"tag": said[1]})
    for match in _TAG.finditer(text):
        end = text.find(f"</{match[1]}", match.end())
        # A tag around an input shows material; so does one with a document in it.
        inside = text[match.end() : end] if 0 <= end < match.end() + 2000 else ""
        if INPUT in inside or "\n\n" in inside.strip():
            continue
        # `Score: <score>` is a hole to fill; a tag is closed, or called a tag.
        if end < 0 and not re.match(
            r"[\"'`]? ?(?:tags?|xml)", text[match.end() : match.end() + 8], re.IGNORECASE
        ):
            continue
        return AskedForm("tag", f"the prompt shows <{match[1]}>", match.start(), {"tag": match[1]})
    return None


def _brackets(text: str) -> AskedForm | None:
    match = _BRACKETS.search(text)
    return match and AskedForm(
        "free", f"the prompt shows {match[0]}, which the free reader knows", match.start(), {}, match[0]
    )


def _first_line(text: str, *, is_compare: bool) -> AskedForm | None:
    match = _FIRST_LINE.search(text)
    if match is None:
        return None
    two = _TWO_SCORES.search(text) if is_compare else None
    settings = _subjects(two) if two else {}
    return AskedForm("first_line", f"the prompt says: {match[0]}", match.start(), settings)


def _subjects(two: re.Match[str]) -> dict[str, Any]:
    return {"subjects": {"a": f"{two[1]} {two[2]}", "b": f"{two[1]} {two[3]}"}}


def _labelled(text: str) -> AskedForm | None:
    labels = [
        match
        for match in _LABEL.finditer(text)
        if not text[match.end() :].lstrip(" \t*\n>").startswith(INPUT) and not _ABOUT_LEVELS.search(match[1])
    ]
    # The place for the score stands at the end of a form.
    match = labels[-1] if labels else None
    last = _LAST_LABEL.search(text)
    if (
        last is not None
        and not _NO_ANSWER.search(last[1])
        and (match is None or last.start(1) > match.start(1))
    ):
        match = last
    if match is None or "?" in match[1]:
        match = _HEADING.search(text) or _FORM_LINE.search(text)
    if match is None:
        return None
    label = match[1].strip()
    spellings = list(dict.fromkeys([label, _RANGE_BEHIND.sub("", label)]))
    return AskedForm("label", f"the prompt shows the label {label}", match.start(), {"labels": spellings})


# -- objects


def _object(text: str, *, is_compare: bool) -> AskedForm | None:
    """JSON with these keys, shown or described."""
    shown = _shown_object(text)
    if shown is not None:
        at, example = shown
    else:
        described = _described_object(text)
        if described is None:
            return None
        at, example = described
    return _object_asked(example, at, is_compare=is_compare)


def _shown_object(text: str) -> tuple[int, dict[str, Any]] | None:
    """The last object that the prompt shows as output; one with an input in it is material."""
    best: tuple[bool, int, dict[str, Any]] | None = None
    shown = [(start, written) for start, written in _braced(text) if _KEY_SHOWN.search(written)]
    # An example of the material has the same keys as the material itself.
    material = [_KEY_SHOWN.findall(written) for _, written in shown if INPUT in written]
    for start, written in shown:
        if INPUT in written or _KEY_SHOWN.findall(written) in material:
            continue
        example = _as_object(written)
        if not example:
            continue
        is_output = _OUTPUT.search(text, max(0, start - 400), start) is not None
        if best is None or is_output >= best[0]:
            best = (is_output, start, example)
    return (best[1], best[2]) if best is not None else None


def _braced(text: str) -> Iterator[tuple[int, str]]:
    """The outermost stretches in braces, of at most 4,000 characters."""
    depth = start = 0
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            start = match.start() if not depth else start
            depth += 1
        elif depth:
            depth -= 1
            if not depth and match.end() - start <= 4000:
                yield start, text[start : match.end()]


def _as_object(written: str) -> dict[str, Any]:
    """An object as prompts write it: holes in angle brackets, ranges, comments and doubled braces
    included."""
    text = written
    while text.startswith("{{") and text.endswith("}}"):
        text = text[1:-1]
    text = text.replace('\\"', '"').replace("“", '"').replace("”", '"')
    text = re.sub(
        r"(:\s*)(<[^<>\n]{1,200}>|\([^()\n]{1,200}\)|\.{3}|[A-Za-z_][\w |/-]{0,80}?)(?=\s*[,}\n])",
        _quoted,
        text,
    )
    try:
        value = json_repair.loads(text)
    except (ValueError, RecursionError):
        return {}
    value = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else value
    return value if isinstance(value, dict) else {}


def _quoted(match: re.Match[str]) -> str:
    said = match[2]
    if said in ("true", "false", "null", "True", "False", "None"):
        return match[0]
    return match[1] + '"' + said.replace('"', "'") + '"'


def _described_object(text: str) -> tuple[int, dict[str, Any]] | None:
    """The fields of JSON that the prompt names without showing it."""
    if bare := _BARE_FIELDS.search(text):
        fields = re.findall(r"(\w+) ?: ?(\w+)", bare[1])
        return bare.start(), {name: f"<{kind}>" for name, kind in fields}
    if listed := _KEYS_LISTED.search(text):
        keys = _LISTED_KEY.findall(listed[1])
        if any(key.lower() in (*SCORE_KEYS, *VERDICT_KEYS, *CHOICE_KEYS) for key in keys):
            return listed.start(), {key: f"<{key}>" for key in keys}
    for word in islice(_JSON_WORD.finditer(text), 50):
        reach = text[max(0, word.start() - 300) : word.end() + 900]
        names = [
            match[1] for match in _FIELD.finditer(reach) if INPUT not in reach[match.end() : match.end() + 12]
        ]
        known = [
            name for name in names if name.lower() in (*SCORE_KEYS, *VERDICT_KEYS, *CHOICE_KEYS, *REASON_KEYS)
        ]
        if any(name.lower() not in REASON_KEYS for name in known):
            return word.start(), {name: "<" + name + ">" for name in dict.fromkeys(known)}
    return None


def _object_asked(example: dict[str, Any], at: int, *, is_compare: bool) -> AskedForm | None:
    why = "the prompt shows JSON with these keys"
    lower = {key.lower(): key for key in reversed(list(example))}
    reason = next((lower[key] for key in REASON_KEYS if key in lower), None)
    rest: dict[str, Any] = {"reason": reason} if reason is not None else {}
    if is_compare:
        choice = next((lower[key] for key in CHOICE_KEYS if key in lower), None)
        choice = choice or next((key for key in example if _CHOICE_NAME.search(key)), None)
        if choice is not None:
            return AskedForm("json", why, at, {"choice": choice, **rest}, example, choice)
    nested = {
        name: key
        for name, inner in example.items()
        if isinstance(inner, dict)
        for key in inner
        if key.lower() in SCORE_KEYS
    }
    if len(nested) > 1 and len(set(nested.values())) == 1:
        key = next(iter(nested.values()))
        why = "the prompt shows JSON with an object for each criterion"
        return AskedForm("json", why, at, {"score": "{criterion}." + key, "criteria": tuple(nested)}, example)
    score = next((lower[key] for key in SCORE_KEYS if key in lower), None)
    score = score or next(
        (key for key in example if re.search(r"(?:_|\b)(?:score|rating)\Z", key, re.IGNORECASE)), None
    )
    if nested and score is None:
        [(name, key), *_] = nested.items()
        return AskedForm("json", why, at, {"score": f"{name}.{key}", **rest}, example, key)
    numbers = [key for key, value in example.items() if _is_number(value) and "confiden" not in key.lower()]
    if len(numbers) > 1 and (score is None or score not in numbers):
        why = "the prompt shows JSON with a number for each criterion"
        return AskedForm(
            "json", why, at, {"score": "{criterion}", "criteria": tuple(numbers), **rest}, example
        )
    score = score or next((lower[key] for key in VERDICT_KEYS if key in lower), None)
    score = score or (numbers[0] if numbers else None)
    if score is None:
        return None
    return AskedForm("json", why, at, {"score": score, **rest}, example, score)


def _json_word(text: str, *, is_compare: bool) -> AskedForm | None:
    """JSON that is asked for without its keys."""
    match = _ASKED_JSON.search(text)
    if match is None:
        return None
    settings = {"choice": "winner"} if is_compare else {"score": "score"}
    return AskedForm(
        "json", "the prompt speaks of JSON, and the key is not known", match.start(), settings, {}
    )


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return True
    return isinstance(value, str) and _NUMBER_HOLE.fullmatch(value) is not None


def is_hole(value: Any) -> bool:
    """Whether a value of a shown object stands for one that the judge writes."""
    return not isinstance(value, str) or _HOLE.match(value) is not None


_SEVERAL = re.compile(
    r"\b(?:scores?|ratings?) (?:for|of|to) each (?:category|categories|criteri\w+|aspect|dimension"
    r"|skill|metric)"
    r"|\b(?:names?|skillset names?|categories|criteria|dimensions) as (?:the )?keys\b",
    re.IGNORECASE,
)
_FORM_SLOT = re.compile(
    r"\{\{(\w*(?:output_format|format_instructions?|response_format|json_schema|output_schema))\}\}"
)


def asks_for_several(text: str) -> str:
    """The words by which a prompt asks for a score for each of several criteria that it does not name as
    keys."""
    match = _SEVERAL.search(text[:LOOKED_AT])
    return match[0] if match else ""


def form_in_slot(text: str) -> str:
    """The slot that the form of the reply stands in, where a prompt leaves it to one."""
    match = _FORM_SLOT.search(text)
    return match[1] if match else ""

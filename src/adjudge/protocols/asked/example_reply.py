"""A reply as the prompt itself asks for it, to see whether the settings read it."""

from __future__ import annotations

import json
from typing import Any

from ...parse import parse
from ...records import Answer, Judgment, Protocol, Scale
from ...render import slots_of
from .choices import offered_choices
from .format import (
    CHOICE_KEYS,
    INPUT,
    REASON_KEYS,
    SCORE_KEYS,
    VERDICT_KEYS,
    AskedForm,
    asked_format,
    is_hole,
)


def sent_text(protocol: Protocol) -> str:
    """The texts of a protocol in the order in which they are sent, with a sign in the place of each input."""
    text = "\n\n".join(part for part in (protocol.system_text, protocol.user_text) if part)
    for slot in slots_of(text):
        text = text.replace("{{" + slot + "}}", INPUT)
    return text


def asks_for_nothing(protocol: Protocol) -> bool:
    """Whether neither the words nor a scale of the prompt say in what form the answer is wanted."""
    words, is_compare = sent_text(protocol), protocol.task == "compare"
    if asked_format(words, is_compare=is_compare) is not None:
        return False
    if is_compare:
        return offered_choices(words) is None
    return not protocol.answer.options and all(
        scale is None or scale.low is None for scale in protocol.criteria.values()
    )


def unread_example(protocol: Protocol) -> tuple[str, str] | None:
    """A reply in the form that the prompt shows which the settings do not read, and what says that it is
    the form."""
    if protocol.answer.reader in ("likelihood", "list") or protocol.pipeline:
        return None
    asked = asked_format(sent_text(protocol), is_compare=protocol.task == "compare")
    if asked is None:
        return None
    reply = _reply(asked, protocol, _answers(protocol)[0])
    if not reply:
        return None
    if not _is_read(parse(protocol, reply)):
        return reply, asked.why
    return next(
        (
            (reply, asked.why)
            for said, meant in _each_answer(protocol)
            if not _says(parse(protocol, reply := _reply(asked, protocol, said, is_said=True)), meant)
        ),
        None,
    )


def _each_answer(protocol: Protocol) -> list[tuple[str, object]]:
    """Every option or choice that a judge could answer, with what must be read; a number is none of them."""
    answer = protocol.answer
    if answer.reader == "ranking" or answer.is_pair_of_scores:
        return []
    if answer.options:
        return [(said, value) for said, value in answer.options.items() if isinstance(value, int | float)]
    if protocol.task != "compare" or not (answer.reader != "json" or answer.choice):
        return []
    sides = {"a": "A", "b": "B", **answer.choices}
    return [(said, side) for side, said in sides.items()]


def _says(judgment: Judgment, meant: object) -> bool:
    if judgment.choice_status is not None:
        return judgment.choice_status == "ok" and judgment.choice == meant
    return any(score.status == "ok" and score.value == meant for score in judgment.scores)


def _is_read(judgment: Judgment) -> bool:
    if judgment.choice_status == "ok":
        return True
    return any(score.status == "ok" for score in judgment.scores)


def _reply(asked: AskedForm, protocol: Protocol, said: str, *, is_said: bool = False) -> str:
    """The example of the prompt with an answer in the place that the judge fills.

    With `is_said` the answer also replaces one that the example shows.
    """
    answer = protocol.answer
    if asked.reader == "json":
        filled = _filled(asked.example, asked, protocol, said, is_said=is_said)
        return json.dumps(filled, ensure_ascii=False)
    if asked.reader == "tag":
        return f"<{asked.settings['tag']}>{said}</{asked.settings['tag']}>"
    if asked.reader == "marker":
        return f"{asked.settings['marker']} {said}"
    if asked.reader == "label":
        return f"{asked.settings['labels'][0]}: {said}"
    if asked.reader == "first_line":
        return f"{said} {said}\nReasons." if answer.is_pair_of_scores else f"{said}\nReasons."
    if asked.reader == "ranking":
        first, second = (answer.choices.get(side, name) for side, name in (("a", "A"), ("b", "B")))  # type: ignore[call-overload]
        return f"[{{'model': '{first}', 'rank': 1}}, {{'model': '{second}', 'rank': 2}}]"
    return f"[[{said}]]" if asked.example else ""


def _answers(protocol: Protocol) -> list[str]:
    """What a judge could answer: an option, the better response, or the good end of the scale."""
    answer: Answer = protocol.answer
    if answer.options:
        return list(answer.options)
    scale = next(iter(protocol.criteria.values()), None)
    if protocol.task == "compare" and (scale is None or not answer.is_pair_of_scores):
        return [answer.choices.get("a", "A")]
    return [_number(scale)]


def _number(scale: Scale | None) -> str:
    high = (
        scale.high
        if scale is not None and scale.high is not None
        else scale.low
        if scale is not None
        else None
    )
    return f"{1 if high is None else high:g}"


def _filled(
    value: Any, asked: AskedForm, protocol: Protocol, said: str, key: str = "", *, is_said: bool = False
) -> Any:
    """The object of the prompt, with values where it has holes; numbers and verdicts that it shows stay."""
    if isinstance(value, dict):
        return {
            name: _filled(inner, asked, protocol, said, name, is_said=is_said)
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_filled(inner, asked, protocol, said, key, is_said=is_said) for inner in value[:1]]
    if is_said and key and key == asked.key:
        return said
    if key.lower() in REASON_KEYS:
        return "Reasons."
    is_shown = isinstance(value, bool) or (
        isinstance(value, int | float) and not _is_off_scale(value, protocol)
    )
    if is_shown or (isinstance(value, str) and _is_answer(value, protocol)):
        return value
    answer = protocol.answer
    if not answer.options and (
        "score" in key.lower() or key.lower() in SCORE_KEYS or key in protocol.criteria
    ):
        return _number(next(iter(protocol.criteria.values()), None))
    if (
        key == asked.key
        or key.lower() in (*SCORE_KEYS, *VERDICT_KEYS, *CHOICE_KEYS)
        or key in protocol.criteria
    ):
        return said
    return said if is_hole(value) and len(asked.example) == 1 else "text"


def _is_off_scale(value: float, protocol: Protocol) -> bool:
    """Whether a number that is shown can only stand for the one that the judge writes."""
    scale = next(iter(protocol.criteria.values()), None)
    return scale is not None and scale.low is not None and scale.status_of(value) != "ok"


def _is_answer(value: str, protocol: Protocol) -> bool:
    words = {*protocol.answer.options, *protocol.answer.choices.values()}
    return value in words

"""From a reply to a `Judgment`: all scores, the choice in the item's frame, evidence and flags.

One bad criterion never fails the others, and a failure is a status, never a number.
"""

from __future__ import annotations

import re
import unicodedata

import msgspec
from msgspec import structs

from ..records import (
    Answer,
    Choice,
    FieldValue,
    Item,
    Judgment,
    Order,
    Protocol,
    Reading,
    Scale,
    Score,
    Status,
    Subject,
)
from .json_replies import JsonAnswer
from .readers import read_chosen, read_named, read_scored
from .text import ASIDE, Span, lazily, masked, set_aside, thoughts

# Checking what a judge quotes against what it judged, and what it said besides the answer.


_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "«": '"', "»": '"', "–": "-", "—": "-"}
)
_ELLIPSIS = lazily(r"\s*(?:\.{3,}|…|\[\.{3}\]|\[…\])\s*")
_EDGES = " \t\n\"'`.,;:!?-…"


def grounded_share(evidence: tuple[str, ...], judged: str) -> float | None:
    """The share of quotations that stand word for word in the judged text; none without any.

    White space, case and the shape of quotation marks do not count; an ellipsis stands for a gap.
    """
    quotes = [flat for quote in evidence if (flat := _flat(quote)).strip(_EDGES)]
    if not quotes:
        return None
    text = _flat(judged)
    return sum(_stands_in(quote, text) for quote in quotes) / len(quotes)


def _flat(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split())


def _stands_in(quote: str, text: str) -> bool:
    at = 0
    for piece in _ELLIPSIS.split(quote.strip(_EDGES)):
        wanted = piece.strip(_EDGES)
        place = text.find(wanted, at)
        if place < 0:
            return False
        at = place + len(wanted)
    return True


def said_in(text: str, answers: list[Span], answer: Answer) -> str:
    """The judge's prose: without its thoughts, without the marked answer, and without what announces it.

    A reply in JSON where another format was wanted: its reason, or the whole, but never a piece of JSON.
    """
    hidden = thoughts(text)
    plain = masked(text, hidden)
    if (said := _said_in_json(plain, answers)) is not None:
        return said
    for start, end in sorted(answers, reverse=True):
        first, last = _with_mark(plain, start, end, answer)
        line_start = plain.rfind("\n", 0, first) + 1
        line_end = plain.find("\n", last)
        line_end = len(plain) if line_end < 0 else line_end
        rest = plain[line_start:first] + plain[last:line_end]
        if len(rest) <= _LABEL_LINE and not _SAYS.search(_LABEL.sub("", rest)):
            first, last = line_start, line_end
        plain = plain[:first] + plain[last:]
    return _OPENING.sub("", plain.replace(ASIDE, "")).strip(" \t\n*")


_REASONS = (
    "reason", "reasons", "reasoning", "explanation", "rationale", "feedback", "justification", "comment", "analysis",
)  # fmt: skip
_FENCE = lazily(r"```[a-z]*", re.I)


def _said_in_json(plain: str, answers: list[Span]) -> str | None:
    """What a reply says whose answer is inside a JSON object; none where it is not.

    That is the object's reason, or the whole object where no key has the name of one, and the prose around it.
    """
    start, end = plain.find("{"), plain.rfind("}") + 1
    if start < 0 or not any(start <= first and last <= end for first, last in answers):
        return None
    try:
        values = msgspec.json.decode(plain[start:end].replace(ASIDE, ""))
    except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
        return None
    if not isinstance(values, dict):
        return None
    said = [value for key, value in values.items() if key.lower() in _REASONS and isinstance(value, str)]
    around = plain[:start], "\n".join(said) if said else plain[start:end], plain[end:]
    return _FENCE.sub("", "".join(around).replace(ASIDE, "")).strip()


_SAYS = lazily(r"[^\W\d_]")
_LABEL = lazily(
    r"(?:final |overall )?(?:score|rating|result|verdict|评分|得分|分数|점수|gpt-4回答|分|점)|\(?\d+\s?[-–~]\s?\d+\)?",
    re.I,
)
_OPENING = lazily(r"\A\s*(?:feedback|explanation|evaluation explanation)\s*[:：]\s*", re.I)
_MARK_REACH = 24
_LABEL_LINE = 100
"""A line longer than this says more than which answer it holds."""


def _with_mark(plain: str, start: int, end: int, answer: Answer) -> Span:
    """The place of a value together with the tag or marker that it belongs to."""
    before, after = (answer.marker or "", "") if answer.reader == "marker" else ("", "")
    if answer.reader == "tag":
        before, after = f"<{answer.tag}>", f"</{answer.tag}>"
    if answer.reader == "label" and answer.labels:
        before = answer.labels[0]
    if before:
        place = plain.lower().rfind(before.lower(), max(0, start - len(before) - _MARK_REACH), start)
        start = place if place >= 0 else start
    if after:
        place = plain.lower().find(after.lower(), end, end + len(after) + _MARK_REACH)
        end = place + len(after) if place >= 0 else end
    return start, end


_FRAMES: dict[tuple[str, Order], Choice] = {
    ("first", "ab"): "a",
    ("second", "ab"): "b",
    ("first", "ba"): "b",
    ("second", "ba"): "a",
    ("tie", "ab"): "tie",
    ("tie", "ba"): "tie",
}


def parse(
    protocol: Protocol,
    text: str,
    *,
    item: Item | None = None,
    order: Order = "ab",
    finish: str | None = None,
    call: str = "",
) -> Judgment:
    """Read all that a protocol asks for from one reply.

    `item` lets quoted evidence be checked. `finish` is the model's own word on why it stopped. A filtered
    reply is refused. Of a reply that was cut off, only an answer that is complete beyond doubt counts.
    """
    reply = _Reply(protocol, text, item, order)
    scores = tuple(reply.scores())
    choice = reply.choice()
    if finish == "content_filter":
        scores = tuple(_without_value(score, "refused") for score in scores)
        choice = None if choice is None else Reading(status="refused")
    elif finish == "length":
        others = [_Reply(protocol, text + end, None, order) for end in _continuations(protocol, text)]
        scores = _complete_scores(reply, scores, [other.scores() for other in others])
        choice = _complete_choice(reply, choice, [other.choice() for other in others])
    elif finish is None and _could_go_on(reply, scores):
        reply.flags.append("possibly_cut_off")
    judgment = Judgment(
        scores=scores,
        call=call,
        choice=_FRAMES[str(choice.value), order] if choice is not None and choice.value is not None else None,
        choice_status=choice.status if choice is not None else None,
        choice_how=choice.how if choice is not None else None,
        choice_span=choice.span if choice is not None else None,
        choice_confidence=reply.choice_confidence(),
        explanation=reply.explanation(),
        notes=reply.notes(),
    )
    return structs.replace(judgment, flags=_flags(protocol, judgment, reply))


def unanswered(protocol: Protocol, status: Status) -> Judgment:
    """The judgment of a call that brought no reply: every score that was asked for has this status."""
    scores = []
    for name, scale in protocol.criteria.items():
        if scale is not None:
            path = protocol.answer.scores.get(name, protocol.answer.score or "")
            subjects: list[Subject | None] = ["a", "b"] if "{subject}" in path else [None]
            scores += [Score(name, status, subject=subject) for subject in subjects]
    has_choice = protocol.task == "compare" and (protocol.answer.choice is not None or not scores)
    return Judgment(scores=tuple(scores), choice_status=status if has_choice else None)


# Replies that were cut off. An answer is complete beyond doubt where a closing mark follows it, or so much text that no
# continuation changes how it is read.


_CLOSES = lazily(r"\*|_|`|[)\]}>\"'”’」』】）]|</")


def _continuations(protocol: Protocol, text: str) -> list[str]:
    """Texts that a reply may have been cut off before; each would change an answer that is not complete."""
    ends = ["0", "5", ".5", "x", '"', " or", "/"]
    for scale in protocol.criteria.values():
        if scale is not None and scale.limits is not None:
            ends += [f"{sign}{limit:g}" for limit in scale.limits for sign in (" or ", " ", "-")]
    if protocol.task == "compare":
        ends += [f"{sign}{word}" for word in protocol.answer.choices.values() for sign in (" or ", " ")]
    names = protocol.answer.options
    ends += [f"{sign}{name}" for name in names for sign in (" or ", " ")]
    # A name that begins another one may have been going to be that one.
    ends += [
        longer[len(name) :]
        for name in names
        for longer in names
        if longer.startswith(name) and longer != name
    ]
    # The readers look at both ends of a long reply; where it is cut off, its beginning adds nothing new.
    return list(dict.fromkeys(ends)) if len(text) <= _LONGEST_CUT else []


_LONGEST_CUT = 50_000
"""Above so many characters a reply that was cut off is not read: no judge writes so much on purpose."""


def _complete_scores(
    reply: _Reply, scores: tuple[Score, ...], continued: list[list[Score]]
) -> tuple[Score, ...]:
    found = []
    for score in scores:
        key = (score.criterion, score.subject)
        others = [other for later in continued for other in later if (other.criterion, other.subject) == key]
        is_same = len(others) >= len(continued) > 0 and all(
            other.status == "ok" and (other.value, other.label) == (score.value, score.label)
            for other in others
        )
        is_complete = (is_same or reply.is_closed(score.span)) and reply.is_marked(score.span)
        if score.status == "unparsed" or (score.status == "ok" and not is_complete):
            score = _without_value(score, "truncated")
        found.append(score)
    return tuple(found)


def _complete_choice(
    reply: _Reply, choice: Reading | None, continued: list[Reading | None]
) -> Reading | None:
    if choice is None or choice.status not in ("ok", "unparsed"):
        return choice
    is_same = bool(continued) and all(
        other is not None and other.status == "ok" and other.value == choice.value for other in continued
    )
    is_complete = (is_same or reply.is_closed(choice.span)) and reply.is_marked(choice.span)
    is_complete = is_complete and choice.status == "ok"
    return choice if is_complete else Reading(status="truncated", span=choice.span)


def _without_value(score: Score, status: Status) -> Score:
    return structs.replace(score, status=status, value=None, label=None, how=None)


def _could_go_on(reply: _Reply, scores: tuple[Score, ...]) -> bool:
    """Whether a reply ends with a number that is the beginning of another score: a 1 that may be a 10."""
    if not reply.text[-1:].isdigit():
        return False
    return any(
        score.status == "ok"
        and (scale := reply.protocol.criteria[score.criterion]) is not None
        and _begins_another(reply.text, score, scale)
        for score in scores
    )


_LAST_NUMBER = lazily(r"(?<![\d.,])[0-9]+\Z")


def _begins_another(text: str, score: Score, scale: Scale) -> bool:
    number = _LAST_NUMBER.search(text)
    if number is None or scale.high is None or float(number[0]) != score.value or number[0] == "0":
        return False
    return any(scale.status_of(float(number[0] + digit)) == "ok" for digit in "0123456789")


class _Reply:
    """One reply under one protocol; gathers flags as it is read."""

    def __init__(self, protocol: Protocol, text: str, item: Item | None, order: Order) -> None:
        self.protocol, self.text, self.item, self.order = protocol, text, item, order
        self.answer = protocol.answer
        self.json = JsonAnswer(protocol, text) if self.answer.reader == "json" else None
        self.flags: list[str] = []
        self._spans: list[tuple[int, int]] = []

    def scores(self) -> list[Score]:
        if self.json is not None:
            return [
                score
                for name, scale in self.protocol.criteria.items()
                if scale
                for score in self._json_scores(name, scale)
            ]
        scored = [(name, scale) for name, scale in self.protocol.criteria.items() if scale is not None]
        scores = []
        for name, scale in scored:
            has_options = bool(self.answer.options)
            reading = (
                read_named(self.answer, self.text)
                if has_options
                else read_scored(self.answer, self.text, scale)
            )
            self._keep(reading)
            scores.append(_score(name, reading, self.answer))
        return scores

    def _json_scores(self, name: str, scale: Scale) -> list[Score]:
        assert self.json is not None
        scores = []
        for shown in self.json.subjects_of(name):
            reading = self.json.score(name, shown, scale)
            self._keep(reading)
            subject = self._in_frame(shown)
            evidence = self.json.evidence(name, shown)
            confidence, is_bad = self.json.confidence(name, shown)
            if is_bad:
                self.flags.append("confidence_out_of_range")
            judged = self._judged_text(subject)
            scores.append(
                structs.replace(
                    _score(name, reading, self.answer),
                    subject=subject,
                    confidence=confidence,
                    explanation=self.json.reason(name, shown),
                    evidence=evidence,
                    grounded=grounded_share(evidence, judged) if judged is not None else None,
                )
            )
        return scores

    def choice(self) -> Reading | None:
        """The choice in the order shown; none where the protocol asks for none."""
        if self.protocol.task != "compare":
            return None
        if self.json is not None:
            if self.answer.choice is None:
                return None
            reading = self.json.choice()
        elif all(scale is None for scale in self.protocol.criteria.values()):
            reading = read_chosen(self.answer, self.text)
        else:
            return None
        self._keep(reading)
        return reading

    def choice_confidence(self) -> float | None:
        if self.json is None:
            return None
        confidence, is_bad = self.json.choice_confidence()
        if is_bad:
            self.flags.append("confidence_out_of_range")
        return confidence

    def notes(self) -> dict[str, str]:
        return self.json.notes() if self.json is not None else {}

    def explanation(self) -> str:
        """What the judge says for itself: the reply without thoughts and without the answer's own line."""
        if self.json is not None:
            return self.json.explanation()
        return said_in(self.text, self._spans, self.answer)

    def is_marked(self, span: tuple[int, int] | None) -> bool:
        """Whether an answer stands where the protocol wants it, and not in prose before an answer that never came."""
        answer = self.answer
        if span is None:
            return False
        if self.json is not None:
            return bool(self.json.documents)
        before = self.text[: span[0]].lower()
        if answer.reader == "marker":
            return (answer.marker or "").strip().lower() in before
        if answer.reader == "tag":
            return f"<{answer.tag}".lower() in before
        if answer.reader == "label":
            return any(label.lower() in before for label in answer.labels)
        return answer.reader != "first_line" or not before.strip().count("\n")

    def is_closed(self, span: tuple[int, int] | None) -> bool:
        """Whether a closing mark follows an answer at once: **4**, (4), </score>."""
        return self.json is None and span is not None and _CLOSES.match(self.text, span[1]) is not None

    def _keep(self, reading: Reading) -> None:
        self.flags.extend(flag for flag in reading.flags if flag not in self.flags)
        if reading.span is not None:
            self._spans.append(reading.span)

    def _in_frame(self, shown: Subject | None) -> Subject | None:
        if shown is None or self.order == "ab":
            return shown
        return "b" if shown == "a" else "a"

    def _judged_text(self, subject: Subject | None) -> str | None:
        if self.item is None:
            return None
        name = "response" if subject is None else f"response_{subject}"
        texts = []
        for source in self.answer.evidence_in or (name,):
            field = self.protocol.field_for(source, self.item.fields)
            value = self.item.fields.get(field) if field is not None else None
            if value is not None:
                texts.append(_plain_text(value))
        return "\n".join(texts) if texts else None


def _plain_text(value: FieldValue) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(entry if isinstance(entry, str) else entry.content for entry in value)


def _score(criterion: str, reading: Reading, answer: Answer) -> Score:
    score = Score(criterion, reading.status, how=reading.how, span=reading.span)
    if isinstance(reading.value, str):
        worth = answer.options[reading.value]
        value = None if worth == "none" else worth
        return structs.replace(score, value=value, label=reading.value)
    return score if reading.value is None else structs.replace(score, value=float(reading.value))


# -- flags


def _flags(protocol: Protocol, judgment: Judgment, reply: _Reply) -> tuple[str, ...]:
    flags = list(dict.fromkeys(reply.flags))
    if _speaks_another_language(protocol.language.reply, reply.text):
        flags.append("language_mismatch")
    if _winner_contradicts(protocol, judgment):
        flags.append("verdict_contradicts_scores")
    if _overall_differs(protocol, judgment):
        flags.append("overall_differs_from_criteria")
    return tuple(flags)


_EXAMINED = 240
"""How much of a reply tells its language."""

_OTHER_LETTERS = {
    "ko": re.compile(r"[^가-힣]+"),
    "zh": re.compile(r"[^一-鿿]+"),
    "en": re.compile(r"[^A-Za-z]+"),
}
_NO_LETTERS = lazily(r"[\W\d_]+")


def _speaks_another_language(language: str, text: str) -> bool:
    """Whether the prose of a reply is hardly in the language it was asked for in.

    A bare score is in every language. A word of Korean or Chinese takes fewer letters than one of English.
    """
    language = language.partition("-")[0]
    others = _OTHER_LETTERS.get(language)
    if others is None or (language == "en" and text.isascii()):
        return False
    prose = set_aside(text, fenced=False, quoted=False)[:_EXAMINED] if "<" in text else text[:_EXAMINED]
    letters = len(_NO_LETTERS.sub("", prose))
    if letters < 40:
        return False
    return len(others.sub("", prose)) / letters < (0.5 if language == "en" else 0.15)


def _values(judgment: Judgment, criterion: str) -> dict[str | None, float]:
    return {s.subject: s.value for s in judgment.scores if s.criterion == criterion and s.value is not None}


def _winner_contradicts(protocol: Protocol, judgment: Judgment) -> bool:
    """A winner with fewer points than the other response, or a tie between unequal ones."""
    scale = protocol.criteria.get("overall")
    if judgment.choice is None or scale is None or scale.direction == 0:
        return False
    values = _values(judgment, "overall")
    if "a" not in values or "b" not in values:
        return False
    lead = (values["a"] - values["b"]) * scale.direction
    winner = "tie" if lead == 0 else "a" if lead > 0 else "b"
    return winner != judgment.choice


def _overall_differs(protocol: Protocol, judgment: Judgment) -> bool:
    """An overall score more than a quarter of the scale away from the mean of the criteria."""
    scale = protocol.criteria.get("overall")
    if scale is None or scale.low is None or scale.high is None:
        return False
    others = [name for name, other in protocol.criteria.items() if name != "overall" and other is not None]
    for subject, overall in _values(judgment, "overall").items():
        values = [scores[subject] for name in others if subject in (scores := _values(judgment, name))]
        if values and abs(sum(values) / len(values) - overall) > (scale.high - scale.low) / 4:
            return True
    return False

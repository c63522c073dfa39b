"""One reply under one protocol: its scores, its choice and what was said with them."""

from __future__ import annotations

from msgspec import UNSET, structs

from ..lazy_patterns import lazily
from ..records import Answer, Item, Order, Protocol, Reading, Scale, Score, Subject
from .asked.json_paths import JsonAnswer
from .asked.ladder import read_chosen, read_named, read_scored, unread
from .asked.score_pair import first_line_pair, labelled_pair
from .evidence import grounded_share, judged_text, quotes_stand
from .explanation import said_in

_CLOSES = lazily(r"\*|_|`|[)\]}>\"'”’」』】）]|</")
"""A closing mark behind an answer: it is complete."""


class JudgeReply:
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
        if self.answer.is_pair_of_scores:
            return [score for name, scale in scored for score in self._pair_of_scores(name, scale)]
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

    def _pair_of_scores(self, name: str, scale: Scale) -> list[Score]:
        """A score for each of two responses, in the order shown."""
        readings = (
            first_line_pair(self.text, scale)
            or labelled_pair(self.text, scale, self.answer.subjects)
            or (unread(self.text), unread(self.text))
        )
        for reading in readings:
            self._keep(reading)
        sides: tuple[Subject, Subject] = ("a", "b")
        return [
            structs.replace(_score(name, reading, self.answer), subject=self._in_frame(shown))
            for shown, reading in zip(sides, readings, strict=True)
        ]

    def _json_scores(self, name: str, scale: Scale) -> list[Score]:
        assert self.json is not None
        scores = []
        for shown in self.answer.scored_subjects(name):
            reading = self.json.score(name, shown, scale)
            self._keep(reading)
            subject = self._in_frame(shown)
            evidence = self.json.evidence(name, shown)
            confidence, is_bad = self.json.confidence(name, shown)
            if is_bad:
                self.flags.append("confidence_out_of_range")
            judged = judged_text(self.protocol, self.item, subject)
            scores.append(
                structs.replace(
                    _score(name, reading, self.answer),
                    subject=subject,
                    confidence=confidence,
                    explanation=self.json.reason(name, shown),
                    evidence=evidence,
                    grounded=grounded_share(evidence, judged) if judged is not None else None,
                    quotes_stand=quotes_stand(evidence, judged) if evidence and judged is not None else UNSET,
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
        """Whether an answer stands where the protocol wants it,
        and not in prose before an answer that never came.
        """
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


def _score(criterion: str, reading: Reading, answer: Answer) -> Score:
    score = Score(criterion, reading.status, how=reading.how, span=reading.span)
    if isinstance(reading.value, str):
        worth = answer.options[reading.value]
        value = None if worth == "none" else worth
        return structs.replace(score, value=value, label=reading.value)
    return score if reading.value is None else structs.replace(score, value=float(reading.value))

"""The parts of the view of one item as plain values. Nothing here computes."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from ...records import PART_KINDS, Item, ReplyError
from ...words import score_text

Span = tuple[int, int]


class RejectedNumber(NamedTuple):
    """A number of a reply that was not read as the score, and why not."""

    span: Span
    reason: str


class ShownText(Struct, frozen=True):
    """A text, shortened where it is long, with the spans to mark in it."""

    text: str
    spans: tuple[Span, ...] = ()
    doubtful: tuple[Span, ...] = ()
    """the spans among them that contradict each other, so that none was taken"""
    rejected: tuple[RejectedNumber, ...] = ()
    """only of a text that is shown whole"""


class Turn(Struct, frozen=True):
    """A message of a prompt or a part of a field."""

    role: str
    """empty where a field is plain text"""
    content: ShownText


class FieldView(Struct, frozen=True):
    """A field of the item: one text, or the turns of a transcript; quoted evidence is marked."""

    name: str
    turns: tuple[Turn, ...]


class TokenView(Struct, frozen=True):
    """A token at one position of a reply, and how likely it was."""

    text: str
    probability: float
    is_written: bool


class Quotation(Struct, frozen=True):
    """A quotation, and the names of the fields that contain it."""

    text: str
    fields: tuple[str, ...]


class AnswerView(Struct, frozen=True):
    """One score, or the choice, as it was read from a reply; or why it was not read."""

    name: str
    subject: str | None
    status: str
    value: float | str | None
    how: str | None
    span: Span | None
    """in the reply as it came, not as it is shortened"""
    confidence: float | None = None
    estimator: str = "parsed"
    explanation: str = ""
    evidence: tuple[Quotation, ...] = ()
    grounded: float | None = None
    distribution: tuple[tuple[float, float], ...] = ()
    caught_mass: float | None = None
    tokens: tuple[TokenView, ...] = ()
    status_text: str = ""
    """the status in words: a score off its scale is out of range, or between two levels"""
    rule: str = ""
    """where the protocol asks for the answer"""
    written: str = ""
    """what stands there; of a choice, the name that the judge used"""

    @property
    def value_text(self) -> str:
        """The value; empty where nothing was read."""
        if self.value is None or isinstance(self.value, str):
            return self.value or ""
        return score_text(self.value)


Tone = Literal["good", "partly", "bad", "aside", "failed"]
"""How an element was judged: at the best end of its scale, between, at the worst, set aside, or not read."""


class CheckView(NamedTuple):
    """What one check says of an element."""

    name: str
    verdict: str
    tone: Tone


class ElementView(Struct, frozen=True):
    """One element that a step has checked: a claim, a passage, a point of a checklist."""

    number: int
    text: str
    verdict: str
    """the option or the value, or why there is none"""
    tone: Tone
    span: Span | None
    """in the judged text; none: it was put into other words"""
    evidence: tuple[Quotation, ...] = ()
    grounded: float | None = None
    passage: int | None = None
    explanation: str = ""
    checks: tuple[CheckView, ...] = ()
    """each check of an element that has several"""
    turn: int | None = None
    """the number of the turn of a conversation that the element is"""


class JudgedPart(Struct, frozen=True):
    """A piece of the judged text, with the element that stands there, if any."""

    text: str
    element: ElementView | None = None


class CallView(Struct, frozen=True):
    """One call: what was sent, what came back, and what was read from it."""

    protocol: str
    criteria: tuple[str, ...]
    model: str
    order: str
    sample: int
    kind: str
    messages: tuple[Turn, ...]
    target: ShownText | None
    """the text whose likelihood was asked for; none for a call that generates text"""
    reply: ShownText | None
    reasoning: ShownText | None
    error: ReplyError | None
    answers: tuple[AnswerView, ...]
    is_judged: bool
    notes: dict[str, str]
    flags: tuple[str, ...]
    target_tokens: tuple[TokenView, ...]
    """the tokens of the target, as the model scored them"""
    model_name: str = ""
    finish: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    cost_usd: float | None = None
    elements: tuple[ElementView, ...] = ()
    """what the steps of a judgment have checked one by one"""
    judged: tuple[JudgedPart, ...] = ()
    """the judged text with its elements; empty where the elements are no parts of a text"""
    judged_field: str = ""
    turns_field: str = ""
    """the conversation whose turns the elements are"""

    @property
    def step_text(self) -> str:
        """Which step of a judgment the call belongs to; empty for a call that is a judgment."""
        return {"extract": "Step: extract the elements", "check": "Step: check"}.get(self.kind, "")

    @property
    def hows(self) -> tuple[str, ...]:
        """How the answers were read, each way once."""
        return tuple(dict.fromkeys(answer.how for answer in self.answers if answer.how))


class JudgeView(Struct, frozen=True):
    """The calls of one judge under one protocol, by sample; the orders of one sample belong together."""

    protocol: str
    digest: str
    model: str
    criteria: tuple[str, ...]
    n_samples: int
    """also those that are not shown"""
    samples: tuple[tuple[CallView, ...], ...]

    @property
    def has_answers(self) -> bool:
        """Whether any call shows what was read; if not, only `criteria` says what the calls were about."""
        return any(call.answers for calls in self.samples for call in calls)

    @property
    def prompts(self) -> list[CallView]:
        """The first call of each prompt that differs; second questions are shown with their replies."""
        first_calls: dict[tuple[tuple[Turn, ...], ShownText | None], CallView] = {}
        for calls in self.samples:
            for call in calls:
                if call.kind not in PART_KINDS and call.messages:
                    first_calls.setdefault((call.messages, call.target), call)
        return list(first_calls.values())


class ItemView(Struct, frozen=True):
    """An item with its calls."""

    item: Item | None
    """none for calls of the run as a whole"""
    fields: tuple[FieldView, ...]
    calls: tuple[CallView, ...]
    n_hidden: int
    """calls that are not shown"""
    n_samples: dict[tuple[str, str, tuple[str, ...]], int]
    """(protocol, model, criteria) → samples of all calls, shown or not"""

    @property
    def judges(self) -> list[JudgeView]:
        """The calls that are shown, by protocol and judge."""
        by_judge: dict[tuple[str, str, tuple[str, ...]], dict[int, list[CallView]]] = {}
        for call in self.calls:
            samples = by_judge.setdefault((call.protocol, call.model, call.criteria), {})
            samples.setdefault(call.sample, []).append(call)
        views = []
        for key, samples in by_judge.items():
            name, _, digest = key[0].partition("@")
            calls = tuple(map(tuple, samples.values()))
            views.append(JudgeView(name, digest, key[1], key[2], self.n_samples[key], calls))
        return views

"""OpenAI's decisions: `POST {base}/decisions`, wire formats only.

A call's input and typed questions become one request; the reply's text is the answers as the server sent
them, which `parse.decision` reads. A request that the server refuses is halved: it may take fewer questions,
or refuse one of them. A decision model writes no text, and takes no temperature, token limit or seed.
"""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
from msgspec import structs

from ..errors import ModelError
from ..parse.decision import answers_by_name, lenient_json, questions_in, read_decision
from ..records import QUESTIONS, Call, Message, Option, Question, Reply, ReplyError
from ..render import INPUT, fenced
from .base import Capabilities, Parameters
from .keys import Secret
from .remote import RemoteModel
from .token_counts import IMPLAUSIBLE, token_count

PATH = "/decisions"
MOST_QUESTIONS = 400
"""The most questions of one request that OpenAI's format takes."""

_MOST_REFUSED = 3
"""After so many single questions refused, and none accepted, the whole call is."""

_encode = msgspec.json.Encoder().encode


class _Parts(msgspec.Struct):
    """What came of the requests of one call."""

    replies: list[tuple[Sequence[Question], Reply]] = []
    refused: dict[str, str] = {}
    """single questions → why the server refused each"""
    too_many: bool = False
    """whether the server refused several questions at once"""
    error: ReplyError | None = None
    """why the call has no reply"""


class DecisionModel(RemoteModel):
    """A model that answers typed questions with probabilities; the two wire formats are its subclasses."""

    gives_logprobs = False
    asks_questions = True
    most_questions = MOST_QUESTIONS
    usual_reply_tokens: ClassVar[int] = 0
    droppable: ClassVar[frozenset[str]] = frozenset()
    key_header = "bearer"
    _most_accepted = 0
    """how many questions the server takes at once, where it has refused more; 0: it has refused none"""

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        unasked = sorted({"likelihood", "steps", "extract"} & set(kinds))
        if unasked:
            what = {
                "likelihood": "the likelihood of a text",
                "steps": "evaluation steps",
                "extract": "a list",
            }[unasked[0]]
            raise ModelError(
                f"{self.name} answers typed questions and writes no text: it cannot give {what}. "
                "Use a chat judge for this protocol."
            )
        super().check(params, kinds)

    async def ask(self, call: Call, params: Parameters) -> Reply:
        questions = questions_in(call.messages[-1].content)
        most = self._most_accepted or self.most_questions
        if len(questions) <= most:
            reply = await super().ask(call, params)
            if reply.error is None or len(questions) == 1 or not _is_refusal(reply.error):
                return reply
            chunks, parts = _halves(questions), _Parts(too_many=True)
        else:
            chunks, parts = _chunks(questions, most), _Parts()
        for chunk in chunks:
            await self._ask_part(call, chunk, params, parts)
        return self._whole(call, parts)

    async def _ask_part(
        self, call: Call, questions: Sequence[Question], params: Parameters, parts: _Parts
    ) -> None:
        """Ask some of a call's questions, in halves where the server refuses them together."""
        if parts.error is not None:
            return
        asked = Message(QUESTIONS, _encode(tuple(questions)).decode())
        part = structs.replace(call, messages=(*call.messages[:-1], asked))
        reply = await super().ask(part, params)
        if reply.error is None:
            parts.replies.append((questions, reply))
        elif not _is_refusal(reply.error):
            parts.error = reply.error
        elif len(questions) > 1:
            parts.too_many = True
            for half in _halves(questions):
                await self._ask_part(call, half, params, parts)
        else:
            parts.refused[questions[0].name] = reply.error.message
            if not parts.replies and len(parts.refused) >= _MOST_REFUSED:
                parts.error = reply.error

    def _whole(self, call: Call, parts: _Parts) -> Reply:
        """One reply of the parts; a question that the server refused has no answer."""
        replies = [reply for _, reply in parts.replies]
        if parts.error is None and replies:
            self._learn(parts)
        answers: dict[str, Any] = {}
        for questions, reply in parts.replies:
            answers |= answers_by_name(questions, lenient_json(reply.text))
        costs = [reply.cost_usd for reply in replies]
        whole = Reply(
            call.key,
            json.dumps(answers, ensure_ascii=False, separators=(",", ":")),
            tokens_in=sum(reply.tokens_in for reply in replies),
            tokens_out=sum(reply.tokens_out for reply in replies),
            cost_usd=None if None in costs or not costs else math.fsum(cost or 0.0 for cost in costs),
            seconds=sum(reply.seconds for reply in replies),
            model_name=next((reply.model_name for reply in replies), ""),
            finish="stop",
            flags=tuple(dict.fromkeys(flag for reply in replies for flag in reply.flags)),
        )
        if parts.error is None and replies:
            return whole
        error = parts.error or ReplyError(
            "bad_reply", f"{self.name} refused every question: {next(iter(parts.refused.values()), '')}"
        )
        return structs.replace(whole, text="", finish=None, error=error)

    def _learn(self, parts: _Parts) -> None:
        """How many questions the server takes, and which it refuses; both are for the report."""
        notes = [f"question {name} is refused: {why:.200}" for name, why in parts.refused.items()]
        if parts.too_many and not parts.refused:
            accepted = max(len(questions) for questions, _ in parts.replies)
            if accepted > self._most_accepted:
                earlier = f"at most {self._most_accepted} questions are sent at once"
                self.adjustments[:] = [note for note in self.adjustments if not note.startswith(earlier)]
                self._most_accepted = accepted
            notes = [f"at most {self._most_accepted} questions are sent at once: {self.name} refuses more"]
        self.adjustments += [note for note in notes if note not in self.adjustments]

    def _with_usage(self, call: Call, reply: Reply, n_sent: int, n_received: int) -> Reply:
        """The reply with token counts that can be true; a server need not count what it answers."""
        if reply.tokens_in and not reply.tokens_out:
            counted = super()._with_usage(call, structs.replace(reply, text=""), n_sent, n_received)
            return structs.replace(counted, text=reply.text)
        return super()._with_usage(call, reply, n_sent, n_received)

    def _headers(self, key: Secret | None) -> dict[str, str]:
        if key is None:
            return {}
        if self.key_header != "bearer":
            return {self.key_header: key.reveal()}
        return {"Authorization": f"Bearer {key.reveal()}"}

    def _encode(self, call: Call, params: Parameters, max_tokens: int | None) -> bytes:
        del params, max_tokens
        return _encode(self.request_of(call))

    @abstractmethod
    def request_of(self, call: Call) -> dict[str, Any]:
        """The body of a request."""

    def _decode(self, call: Call, body: bytes, seconds: float) -> Reply | None:
        decision = lenient_json(body)
        answers = decision.get("answers") if isinstance(decision, dict) else None
        if not isinstance(answers, list | dict):
            return None
        usage = decision.get("usage")
        usage = usage if isinstance(usage, dict) else {}
        tokens = tuple(token_count(usage.get(name)) for name in ("input_tokens", "output_tokens"))
        name = decision.get("model")
        return Reply(
            call.key,
            json.dumps(answers, ensure_ascii=False, separators=(",", ":")),
            tokens_in=tokens[0],
            tokens_out=tokens[1],
            cost_usd=self.cost(*tokens) if IMPLAUSIBLE not in tokens else None,
            seconds=seconds,
            model_name=name if isinstance(name, str) else "",
            finish="stop",
        )

    async def probe(self) -> Capabilities:
        """Whether the model answers a typed question; it gives no log-probabilities and takes no schema."""
        call = _probe_call(self)
        reply = await self.ask(call, Parameters())
        if reply.error is not None:
            return Capabilities(False, notes=(reply.error.message,))
        (score,) = read_decision(call, reply.text).scores
        notes = [] if score.status == "ok" else [f"the answer to a typed question is {score.status}"]
        notes += [*self.adjustments, *self.warnings]
        return Capabilities(
            score.status == "ok", False, False, reply.model_name, "", reply.seconds, tuple(notes)
        )


class OpenAIDecisions(DecisionModel):
    """A model behind OpenAI's decisions, or a server of that format."""

    def request_of(self, call: Call) -> dict[str, Any]:
        inputs = input_texts(call)
        text = "\n\n".join(fenced(name, value, inputs.values()) for name, value in inputs.items())
        return {
            "model": self._model,
            "input": text,
            "questions": _wire_questions(call.messages[-1].content),
        }


def _is_refusal(error: ReplyError) -> bool:
    """Whether fewer questions, or others, may be accepted; the judged text itself was not refused."""
    return error.kind in ("bad_reply", "too_long") and not error.is_retryable


def _halves(questions: Sequence[Question]) -> list[Sequence[Question]]:
    middle = (len(questions) + 1) // 2
    return [questions[:middle], questions[middle:]]


def _chunks(questions: Sequence[Question], most: int) -> list[Sequence[Question]]:
    return [questions[start : start + most] for start in range(0, len(questions), most)]


def input_texts(call: Call) -> dict[str, str]:
    """The judged texts of a call by the names of their fields."""
    return {message.name: message.content for message in call.messages if message.role == INPUT}


@lru_cache(maxsize=256)
def _wire_questions(content: str) -> tuple[dict[str, Any], ...]:
    return tuple(_question(question) for question in questions_in(content))


def _question(question: Question) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "type": question.type,
        "name": question.name,
        "instructions": question.instructions,
    }
    if question.type == "choice":
        wire["choices"] = [_described("value", option) for option in question.options]
    elif question.type == "score":
        wire["levels"] = [_described("label", option) for option in question.options]
    return wire


def _described(key: str, option: Option) -> dict[str, str]:
    return {key: option.label, "description": option.text} if option.text else {key: option.label}


def _probe_call(model: DecisionModel) -> Call:
    options = (Option("no", value=0.0), Option("yes", value=1.0))
    question = Question("probe", "predicate", "Does the text mention an animal?", options, "probe")
    messages = (
        Message(INPUT, "A dog has four legs.", name="text"),
        Message(QUESTIONS, _encode((question,)).decode()),
    )
    return Call("probe", "probe", "probe", ("probe",), model.name, messages)

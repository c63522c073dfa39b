"""OpenAI's decisions: `POST {base}/decisions`, wire formats only.

A call's input and typed questions become one request; the reply's text is the answers as the server sent them, which
`parse.decision` reads. A decision model writes no text, and takes no temperature, token limit or seed.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import lru_cache
from typing import Any, ClassVar

import msgspec
from msgspec import structs

from ..errors import ModelError
from ..parse.decision import lenient_json, questions_in, read_decision
from ..records import QUESTIONS, Call, Message, Option, Question, Reply
from ..render import INPUT, fenced
from .base import Parameters, Probe
from .keys import Secret
from .remote import RemoteModel
from .token_counts import IMPLAUSIBLE, token_count

PATH = "/decisions"
MOST_QUESTIONS = 400
"""The most questions of one request that OpenAI's format takes."""

_encode = msgspec.json.Encoder().encode


class DecisionModel(RemoteModel):
    """A model that answers typed questions with probabilities; the two wire formats are its subclasses."""

    gives_logprobs = False
    asks_questions = True
    most_questions = MOST_QUESTIONS
    usual_reply_tokens: ClassVar[int] = 0
    droppable: ClassVar[frozenset[str]] = frozenset()
    key_header = "bearer"

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

    def request_of(self, call: Call) -> dict[str, Any]:
        """The body of a request."""
        raise NotImplementedError

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

    async def probe(self) -> Probe:
        """Whether the model answers a typed question; it gives no log-probabilities and takes no schema."""
        call = _probe_call(self)
        reply = await self.ask(call, Parameters())
        if reply.error is not None:
            return Probe(False, notes=(reply.error.message,))
        (score,) = read_decision(call, reply.text).scores
        notes = [] if score.status == "ok" else [f"the answer to a typed question is {score.status}"]
        notes += [*self.adjustments, *self.warnings]
        return Probe(score.status == "ok", False, False, reply.model_name, "", reply.seconds, tuple(notes))


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

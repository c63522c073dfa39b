"""A model with log-probabilities that answers typed questions: the options are letters, and the probabilities
of the letters as the first token of the reply are those of the options.

Each question is a short, separate chat call; the answers have the form of OpenAI's decisions, with the mass
that the letters caught. A reply without log-probabilities stops the run: there is nothing to fall back to.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Sequence
from string import ascii_uppercase
from typing import Any

from msgspec import structs

from ..errors import ModelError
from ..parse.decision import questions_in
from ..records import Call, Message, Question, Reply, TokenLogprob
from ..render import fenced
from .base import Capabilities, Form, Model, Parameters, no_logprobs
from .decision_models import input_texts

MOST_OPTIONS = 20
"""As many alternatives to a token as hosts report."""

_LONGEST_REPLY = 4
"""Tokens: one for the letter, and some for what may stand before it."""
_AROUND = re.compile(r"^[\s(\[*\"'`]+|[\s)\].:,*\"'`]+$")

_SHARED = (
    "settings", "endpoint", "n_hosts", "is_fake", "is_recorded", "needs_network", "is_local",
    "gives_logprobs", "plugin", "spec", "price_date", "adjustments", "refused", "warnings",
)  # fmt: skip


class OptionTokens(Model):
    """Asks a model that writes text typed questions, one call for each."""

    asks_questions = True
    most_questions = 1

    def __init__(self, model: Model) -> None:
        super().__init__(model.name, model.price)
        for name in _SHARED:
            setattr(self, name, getattr(model, name))
        self._model = model
        # llama.cpp continues the judge's turn where the last message is its own. With this opening a small
        # model puts 0.8 of the probability on the letters, without it 0.07.
        self._opening = (Message("assistant", "Answer:"),) if model.is_local else ()

    @property
    def identity(self) -> str:
        return f"{self._model.identity}|options"

    def check(self, params: Parameters, kinds: Collection[str] = ("generate",)) -> None:
        if self._model.is_recorded:
            raise ModelError(
                f"--estimator decision: {self.name} replays recorded replies and answers no new questions. "
                "Leave --estimator out."
            )
        if unasked := sorted({"likelihood", "steps", "extract"} & set(kinds)):
            raise ModelError(
                f"--estimator decision: {self.name} is asked typed questions, and this protocol needs "
                f"{unasked[0]}. Leave --estimator out."
            )
        self._model.check(_parameters(params, ()), kinds)

    async def ask(self, call: Call, params: Parameters) -> Reply:
        answers: list[dict[str, Any]] = []
        whole = Reply(call.key)
        for question in questions_in(call.messages[-1].content):
            letters = tuple(ascii_uppercase[: len(question.options)])
            messages = (Message("user", _prompt(call, question, letters)), *self._opening)
            asked = _parameters(params, letters, 1 if self.is_local else _LONGEST_REPLY)
            reply = await self._model.ask(structs.replace(call, messages=messages), asked)
            if reply.error is not None:
                return reply
            if reply.logprobs is None:
                raise no_logprobs(self.name, "--estimator decision needs them")
            answers.append(_answer(question, letters, reply.logprobs))
            whole = _added(whole, reply)
        text = json.dumps(answers, ensure_ascii=False, separators=(",", ":"))
        return structs.replace(whole, text=text, finish="stop")

    async def probe(self) -> Capabilities:
        return await self._model.probe()

    async def probe_logprobs(self) -> bool:
        return await self._model.probe_logprobs()

    async def find_ending(self) -> None:
        await self._model.find_ending()
        self.ending = self._model.ending

    async def close(self) -> None:
        await self._model.close()


def check_letters(questions: Sequence[Question], name: str) -> None:
    """`ModelError` for a question with more options than log-probabilities are reported for."""
    for question in questions:
        if len(question.options) > MOST_OPTIONS:
            raise ModelError(
                f"--estimator decision: {name} reports log-probabilities of {MOST_OPTIONS} tokens, and "
                f"{question.criterion or 'the choice'} has {len(question.options)} options. Use a decision "
                "model, or a scale with a larger step."
            )


def _parameters(params: Parameters, letters: tuple[str, ...], max_tokens: int = _LONGEST_REPLY) -> Parameters:
    return structs.replace(
        params,
        top_logprobs=MOST_OPTIONS,
        max_tokens=max_tokens,
        temperature=0.0,
        schema=None,
        form=Form(letters, is_first=True) if letters else None,
        is_cut_off=None,
        more_room=False,
    )


def _prompt(call: Call, question: Question, letters: Sequence[str]) -> str:
    inputs = input_texts(call)
    texts = "\n\n".join(fenced(name, text, inputs.values()) for name, text in inputs.items())
    options = "\n".join(
        f"{letter}: {option.label}" + (f" ({option.text})" if option.text else "")
        for letter, option in zip(letters, question.options, strict=True)
    )
    return (
        f"{texts}\n\nThe question about these texts:\n{question.instructions}\n\nThe possible answers:\n"
        f"{options}\n\nAnswer with one letter ({', '.join(letters)}) and nothing else."
    )


def _answer(question: Question, letters: Sequence[str], logprobs: Sequence[TokenLogprob]) -> dict[str, Any]:
    caught = _masses(letters, logprobs)
    mass = math.fsum(caught)
    shares = [share / mass if mass else 0.0 for share in caught]
    answer: dict[str, Any] = {"type": question.type, "name": question.name, "mass": min(1.0, mass)}
    if not mass:
        return answer
    if question.type == "predicate":
        return answer | {"probability": min(1.0, shares[1])}
    key = "label" if question.type == "score" else "value"
    pairs = [
        {key: option.label, "probability": share}
        for option, share in zip(question.options, shares, strict=True)
    ]
    return answer | {"confidence": max(shares), "probabilities": pairs}


def _masses(letters: Sequence[str], logprobs: Sequence[TokenLogprob]) -> list[float]:
    """The probability of each letter at the first token that is more than white space and signs."""
    first = next((token for token in logprobs if _AROUND.sub("", token.token)), None)
    known = {} if first is None else {top.token: top.logprob for top in first.top}
    if first is not None:
        known.setdefault(first.token, first.logprob)
    masses = dict.fromkeys(letters, 0.0)
    for text, logprob in known.items():
        letter = _AROUND.sub("", text).upper()
        if letter in masses:
            masses[letter] += math.exp(min(0.0, logprob))
    return list(masses.values())


def _added(whole: Reply, reply: Reply) -> Reply:
    costs = [cost for cost in (whole.cost_usd, reply.cost_usd) if cost is not None]
    return structs.replace(
        whole,
        tokens_in=whole.tokens_in + reply.tokens_in,
        tokens_out=whole.tokens_out + reply.tokens_out,
        cost_usd=math.fsum(costs) if reply.cost_usd is not None else None,
        seconds=whole.seconds + reply.seconds,
        model_name=reply.model_name,
        fingerprint=reply.fingerprint,
    )

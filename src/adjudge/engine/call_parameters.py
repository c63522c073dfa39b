"""The parameters of the calls of a protocol to a model: the
run's, the model's own, and what the protocol asks for.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from ..models import Parameters
from ..models.base import TIMEOUT_SECONDS
from ..parse import parse, read_list
from ..records import ModelSettings, Protocol, Reply
from ..run_options.options import RunOptions
from .reply_format import form_of, reply_schema


def parameters_for(
    protocol: Protocol, options: RunOptions, settings: ModelSettings | None = None, sample: int = 0
) -> Parameters:
    """The parameters of the calls of a protocol to a model, for one sample.

    At temperature 0, repeated samples would be one sample; with the same seed as well.
    """

    def value(name: str) -> Any:
        of_model = getattr(settings, name) if settings is not None else None
        return getattr(options, name) if of_model is None else of_model

    temperature = value("temperature")
    if temperature is None:
        temperature = 0.0 if options.samples == 1 else 1.0
    return Parameters(
        temperature=temperature,
        max_tokens=value("max_tokens"),
        reasoning_effort=value("reasoning_effort"),
        thinking_tokens=value("thinking_tokens"),
        top_logprobs=20 if options.estimator == "probability" else None,
        schema=reply_schema(protocol),
        form=form_of(protocol),
        seed=None if options.seed is None else options.seed + sample,
        is_cut_off=None if protocol.answer.reader == "likelihood" else partial(_is_cut_off, protocol),
        more_room=options.more_room,
        timeout_seconds=options.timeout or TIMEOUT_SECONDS,
    )


def _is_cut_off(protocol: Protocol, reply: Reply) -> bool:
    """Whether a reply ends before its answer is complete."""
    if protocol.answer.reader == "list":
        listing = read_list(reply.text, finish=reply.finish)
        return listing.cut is not None or listing.status == "truncated"
    judgment = parse(protocol, reply.text, finish=reply.finish)
    return "truncated" in (judgment.choice_status, *(score.status for score in judgment.scores))

"""Samples of the LM Evaluation Harness (`lm_eval --log_samples`): documents with their answers as items, and
their metrics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..encoding import BadRowError
from ..json_rows import Row
from ..messages import written
from ..named_columns import finite_number
from ..table import Problems
from ..traces.messages import message_of
from ..traces.trace import Trace
from ..traces.values import list_of, object_of, parsed, text_of
from .fields import plain_fields

_NOT_METRICS = {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}


def is_lm_eval(record: Row) -> bool:
    return "doc_id" in record and "doc" in record and ("resps" in record or "filtered_resps" in record)


def read_lm_eval_items(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    """Each document once, also where several filters were applied to its answer."""
    seen: set[str] = set()
    for number, record in records:
        name = text_of(record.get("doc_id"))
        if name in seen:
            continue
        seen.add(name)
        trace = Trace(name)
        trace.searched = "Looked for 'arguments' and 'resps'"
        arguments = _arguments(record)
        trace.response = _answer(record, arguments)
        answer = [{"role": "assistant", "content": trace.response}] if trace.response.strip() else []
        trace.more = plain_fields(object_of(record.get("doc")))
        reference = _reference(record, arguments)
        trace.more |= {"reference": reference} if reference.strip() else {}
        try:
            trace.add_call("", _sent(arguments), answer)
        except BadRowError as bad:
            problems.add(number, str(bad))
            continue
        yield number, trace


def _arguments(record: Row) -> list[list[Any]]:
    """The arguments of each request, the prompt first: a list of lists, or objects named `gen_args_0`,
    `arg_0`."""
    whole = record.get("arguments")
    requests = list(whole.values()) if isinstance(whole, dict) else list_of(whole)
    return [list(request.values()) if isinstance(request, dict) else list_of(request) for request in requests]


def _sent(arguments: list[list[Any]]) -> list[Any]:
    """The messages of the first request: those of a chat, or one text of the user."""
    prompt = arguments[0][0] if arguments and arguments[0] else None
    prompt = prompt[0] if isinstance(prompt, list) and prompt else prompt
    value = parsed(prompt)
    if (
        isinstance(value, list)
        and value
        and all(isinstance(entry, dict) and "role" in entry for entry in value)
    ):
        return [message_of(entry) for entry in value]
    return [{"role": "user", "content": text_of(prompt)}] if text_of(prompt).strip() else []


def _answer(record: Row, arguments: list[list[Any]]) -> str:
    """The text that was generated, or the choice with the largest likelihood."""
    replies = [list_of(reply)[0] if list_of(reply) else reply for reply in list_of(record.get("resps"))]
    likelihoods = [finite_number(list_of(reply)[0]) if list_of(reply) else None for reply in replies]
    if likelihoods and None not in likelihoods:
        best = max(range(len(likelihoods)), key=lambda place: likelihoods[place] or 0.0)
        return _choice(arguments, best)
    return written(replies[0]) if replies else written((list_of(record.get("filtered_resps")) or [None])[0])


def _choice(arguments: list[list[Any]], place: int) -> str:
    """The text of a choice: the second argument of its request."""
    request = arguments[place] if place < len(arguments) else []
    return text_of(request[1]).strip() if len(request) > 1 and not isinstance(request[1], list | dict) else ""


def _reference(record: Row, arguments: list[list[Any]]) -> str:
    """The target; of a multiple choice, whose target is a number, the text of the choice."""
    target = record.get("target")
    number = text_of(target)
    if len(arguments) > 1 and number.isdecimal() and (text := _choice(arguments, int(number))):
        return text
    return "\n".join(map(text_of, target)) if isinstance(target, list) else written(target)


def read_lm_eval_scores(records: list[tuple[int, Row]], _problems: Problems) -> Iterator[tuple[int, Row]]:
    """A row for each document and metric, and for each filter where there are several."""
    filters = {text_of(record.get("filter")) for _, record in records}
    for number, record in records:
        chosen = text_of(record.get("filter"))
        for name in _metrics(record):
            value = record[name]
            criterion = f"{name},{chosen}" if len(filters) > 1 and chosen else name
            number_of = float(value) if isinstance(value, bool) else finite_number(value)
            yield number, {"item": text_of(record.get("doc_id")), "criterion": criterion, "value": number_of}


def _metrics(record: Row) -> list[str]:
    """The metrics with one number for each document; those of a whole file keep what they need of it in
    lists."""
    named = [name for name in list_of(record.get("metrics")) if isinstance(name, str) and name in record]
    names = named or [name for name in record if name not in _NOT_METRICS and not name.endswith("_hash")]
    return [
        name for name in names if not isinstance(record[name], list | dict | str) or _is_number(record[name])
    ]


def _is_number(value: object) -> bool:
    return isinstance(value, str) and finite_number(value) is not None

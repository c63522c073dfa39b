"""Logs of Inspect (`inspect eval`), in JSON or as `.eval` archives: samples as items, and their scores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..encoding import BadRowError
from ..json_rows import Row
from ..messages import scalar_text
from ..named_columns import finite_number
from ..table import Problems
from ..traces.trace import Trace
from ..traces.values import list_of, object_of, text_of
from .fields import plain_fields

_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Correct, partial, incorrect, no answer: the values that Inspect gives its grades."""
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_ATTACHMENT = "attachment://"


def is_inspect_log(record: Row) -> bool:
    return isinstance(record.get("eval"), dict) and ("samples" in record or "results" in record)


def read_inspect_items(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    """Each sample of the logs; its messages, with the target as reference and its metadata as fields."""
    for _, log in records:
        system = text_of(object_of(log.get("eval")).get("model"))
        for number, sample in enumerate(_samples(log), 1):
            try:
                yield number, _trace(sample, system, n_epochs=_n_epochs(log))
            except BadRowError as bad:
                problems.add(number, f"sample '{text_of(sample.get('id')):.80}': {bad}")


def _samples(log: Row) -> list[Row]:
    return [sample for sample in list_of(log.get("samples")) if isinstance(sample, dict)]


def _n_epochs(log: Row) -> int:
    return len({text_of(sample.get("epoch")) for sample in _samples(log)})


def _trace(sample: Row, system: str, *, n_epochs: int) -> Trace:
    trace = Trace(_id(sample), system, text_of(sample.get("id")) if n_epochs > 1 else "")
    attachments = object_of(sample.get("attachments"))
    messages = _attached(list_of(sample.get("messages")), attachments)
    trace.add_call("", [_message(entry) for entry in messages], ())
    given = sample.get("input")
    trace.task = given if isinstance(given, str) else None
    trace.response = text_of(object_of(sample.get("output")).get("completion"))
    trace.error = text_of(object_of(sample.get("error")).get("message"))
    trace.searched = "Looked for 'messages' of the sample"
    target = sample.get("target")
    reference = "\n".join(map(text_of, target)) if isinstance(target, list) else text_of(target)
    trace.more = plain_fields(object_of(sample.get("metadata")))
    trace.more |= {"reference": reference} if reference.strip() else {}
    trace.more |= {"choices": list(map(text_of, sample["choices"]))} if list_of(sample.get("choices")) else {}
    return trace


def _id(sample: Row) -> str:
    """The id of a sample; a later epoch, whose output is another one, has its number behind it."""
    epoch = text_of(sample.get("epoch"))
    name = text_of(sample.get("id"))
    return name if epoch in ("", "1") else f"{name} ({epoch})"


def _attached(value: Any, attachments: Row) -> Any:
    """A value with the texts and images that the log keeps apart, in their place."""
    if isinstance(value, str):
        key = value.removeprefix(_ATTACHMENT)
        return attachments.get(key, value) if value.startswith(_ATTACHMENT) else value
    if isinstance(value, list):
        return [_attached(entry, attachments) for entry in value]
    if isinstance(value, dict):
        return {key: _attached(entry, attachments) for key, entry in value.items()}
    return value


def _message(entry: Any) -> Any:
    """A message as OpenAI writes it: Inspect names the function of a call, and of a result, as a text."""
    if not isinstance(entry, dict):
        return entry
    message = dict(entry)
    if isinstance(entry.get("tool_calls"), list):
        message["tool_calls"] = [
            {"id": call.get("id"), "name": call.get("function"), "arguments": call.get("arguments")}
            for call in entry["tool_calls"]
            if isinstance(call, dict)
        ]
    if entry.get("role") == "tool":
        message |= {"name": entry.get("function"), "is_error": bool(entry.get("error"))}
    return message


def read_inspect_scores(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Row]]:
    """A row for each sample and scorer; a sample without a score is a failure of the scorer."""
    for _, log in records:
        system = text_of(object_of(log.get("eval")).get("model")) or "all"
        samples = _samples(log)
        values = [_values(sample) for sample in samples]
        names = list(dict.fromkeys(name for of_sample in values for name in of_sample))
        criteria = _criteria(names)
        for number, (sample, of_sample) in enumerate(zip(samples, values, strict=True), 1):
            group = text_of(sample.get("id")) if _n_epochs(log) > 1 else None
            for name in names:
                row = {"item": _id(sample), "system": system, "group": group, "criterion": criteria[name]}
                yield number, {**row, "value": _number(of_sample.get(name), criteria[name], number, problems)}


def _values(sample: Row) -> dict[tuple[str, str], Any]:
    """The values of a sample by scorer and, where a score has several, by the name of each."""
    values: dict[tuple[str, str], Any] = {}
    for scorer, score in object_of(sample.get("scores")).items():
        value = object_of(score).get("value")
        if isinstance(value, dict):
            values |= {(scorer, name): entry for name, entry in value.items()}
        elif isinstance(value, list):
            values |= {(scorer, str(place)): entry for place, entry in enumerate(value, 1)}
        else:
            values[scorer, ""] = value
    return values


def _criteria(names: list[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """The names of criteria: the scorer, or the name of its value, with the scorer where two would be
    alike."""
    short = Counter(name or scorer for scorer, name in names)
    return {
        (scorer, name): f"{scorer}/{name}"
        if name and (short[name] > 1 or name.isdecimal())
        else name or scorer
        for scorer, name in names
    }


def _number(value: object, criterion: str, number: int, problems: Problems) -> float | None:
    """The value as Inspect's metrics count it; none for a failure."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return float(value)
    known = _GRADES.get(str(value), _WORDS.get(str(value).lower(), finite_number(value)))
    if known is None:
        problems.add(
            number,
            f"{criterion} is '{scalar_text(value):.40}', which is no number and no grade (C, P, I, N). "
            "Convert it in the scorer, or give a table with the column value.",
        )
    return known

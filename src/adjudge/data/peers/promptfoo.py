"""Results of promptfoo (`promptfoo eval -o FILE`), as JSON or JSONL: outputs as items, and their scores."""

from __future__ import annotations

import json
from collections import Counter
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

_FAILED = "2"
"""The reason of a failure that is the provider's, and not that of an assertion."""
_LONGEST_LABEL = 40


def is_promptfoo(record: Row) -> bool:
    """Whether a record is a file of results, or one line of them."""
    return bool(_listed(record)) or ("promptIdx" in record and "testIdx" in record)


def _listed(record: Row) -> list[Any]:
    """The results in a file: under `results`, in older files directly, in newer ones one level deeper."""
    inner = record.get("results")
    if isinstance(inner, dict):
        inner = inner.get("results")
    return [entry for entry in list_of(inner) if isinstance(entry, dict) and "vars" in entry]


def _results(records: list[tuple[int, Row]]) -> list[tuple[int, Row]]:
    results: list[tuple[int, Row]] = []
    for number, record in records:
        listed = _listed(record)
        results += list(enumerate(listed, 1)) if listed else [(number, record)]
    return results


def read_promptfoo_items(records: list[tuple[int, Row]], problems: Problems) -> Iterator[tuple[int, Trace]]:
    """Each output: the prompt as it was sent, and the variables of the test as fields."""
    results = _results(records)
    prompts, tests = _prompts(results), _tests(results)
    for number, result in results:
        trace = Trace(_id(result, number), _system(result, prompts), tests[_test(result)])
        response = object_of(result.get("response"))
        trace.response = written(response.get("output"))
        trace.error = _error(result)
        trace.searched = "Looked for 'prompt.raw' and 'response.output' of the result"
        trace.more = plain_fields(object_of(result.get("vars")))
        answer = [{"role": "assistant", "content": trace.response}] if trace.response.strip() else []
        try:
            trace.add_call("", _sent(object_of(result.get("prompt")).get("raw")), answer)
        except BadRowError as bad:
            problems.add(number, str(bad))
            continue
        yield number, trace


def _sent(raw: object) -> list[Any]:
    """The messages of a prompt: a list of them in JSON, or one text of the user."""
    value = parsed(raw)
    if (
        isinstance(value, list)
        and value
        and all(isinstance(entry, dict) and "role" in entry for entry in value)
    ):
        return [message_of(entry) for entry in value]
    return [{"role": "user", "content": text_of(raw)}] if text_of(raw).strip() else []


def _id(result: Row, number: int) -> str:
    """The number of the test and that of the prompt with its provider, as in promptfoo's table."""
    places = [text_of(result.get(key)) for key in ("testIdx", "promptIdx")]
    return "-".join(places) if all(places) else text_of(result.get("id")) or str(number)


def _test(result: Row) -> str:
    """What a result shares with those of the same test: its number, in older files its variables."""
    return text_of(result.get("testIdx")) or json.dumps(result.get("vars"), sort_keys=True, default=str)


def _tests(results: list[tuple[int, Row]]) -> dict[str, str]:
    """Test → its name: its description, or its number where it has none or another test has the same."""
    described: dict[str, str] = {}
    for _, result in results:
        described[_test(result)] = text_of(object_of(result.get("testCase")).get("description"))
    shared = Counter(described.values())
    return {
        test: name if name and shared[name] == 1 else test if test.isdecimal() else str(place)
        for place, (test, name) in enumerate(described.items())
    }


def _label(result: Row) -> str:
    prompt = object_of(result.get("prompt"))
    return text_of(prompt.get("label")) or text_of(result.get("promptId"))


def _prompts(results: list[tuple[int, Row]]) -> dict[str, str]:
    """Label of a prompt → its short name; empty where all results have one prompt."""
    labels = list(dict.fromkeys(_label(result) for _, result in results))
    if len(labels) < 2:
        return {}
    return {
        label: label if len(label) <= _LONGEST_LABEL and label.isprintable() else f"prompt {place}"
        for place, label in enumerate(labels, 1)
    }


def _system(result: Row, prompts: dict[str, str]) -> str:
    """The provider, with the prompt where there are several."""
    provider = result.get("provider")
    inner = object_of(provider)
    name = (
        text_of(inner.get("label"))
        or text_of(inner.get("id"))
        or (provider if isinstance(provider, str) else "")
    )
    prompt = prompts.get(_label(result), "")
    return f"{name}, {prompt}" if prompt else name


def _error(result: Row) -> str:
    """Why there is no output; the words of a failed assertion are none."""
    response = object_of(result.get("response"))
    is_failed = text_of(result.get("failureReason")) == _FAILED or not response
    said = text_of(response.get("error")) or (text_of(result.get("error")) if is_failed else "")
    return said or ("failed" if is_failed else "")


def read_promptfoo_scores(records: list[tuple[int, Row]], _problems: Problems) -> Iterator[tuple[int, Row]]:
    """A row for each output and metric: `score` for all assertions, and the named ones of its test."""
    results = _results(records)
    prompts, tests = _prompts(results), _tests(results)
    named: dict[str, dict[str, None]] = {}
    for _, result in results:
        names = dict.fromkeys(object_of(result.get("namedScores")))
        named.setdefault(_test(result), {}).update(names)
    for number, result in results:
        test = _test(result)
        system = _system(result, prompts) or "all"
        row = {"item": _id(result, number), "system": system, "group": tests[test]}
        scores = named[test] | {"score": result.get("score")} | object_of(result.get("namedScores"))
        for name, value in scores.items():
            counted = None if _error(result) else finite_number(value)
            yield number, {**row, "criterion": name, "value": counted}

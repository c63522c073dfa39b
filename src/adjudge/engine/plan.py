"""What a run will ask: which calls belong to an item, and what makes two runs the same run.

Nothing is asked or stored here. A call's key is a hash of all that the model sees, so an unchanged call finds its stored
reply and a changed one never does.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import unicodedata
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ..data import ItemFile, local_file, plain, read_traces, rows_of_frame
from ..errors import DataError, ProtocolError
from ..models import Form, Model, Parameters
from ..models.base import TIMEOUT_SECONDS
from ..parse import parse, read_list
from ..probes import LEVELS, REPEAT, split_id
from ..protocols import step_protocol
from ..records import Call, Item, Message, ModelSettings, Order, Protocol, Rendered, Reply, Scale, Subject
from ..render import number_text, render, render_questions, written_answer
from ..run_options import RunOptions, recorded_settings, shard_of
from .steps import StepPrompt


class PlannedCall(Struct, frozen=True):
    """One of the calls that are made for every item; `index` means the same kind of call for all items."""

    index: int
    protocol: Protocol
    model: Model
    order: Order
    sample: int
    params: Parameters
    step_params: tuple[Parameters, ...] = ()
    """the parameters of the calls of each step, where the protocol has steps"""

    def of_step(self, prompt: StepPrompt) -> PlannedCall:
        """The same for one step of the protocol, as if it were a protocol with one prompt."""
        return msgspec.structs.replace(
            self, protocol=prompt.protocol, params=self.step_params[prompt.position], step_params=()
        )


class Plan(Struct, frozen=True):
    """The calls of a run, the same for all items."""

    options: RunOptions
    protocols: tuple[Protocol, ...]
    models: tuple[Model, ...]
    calls: tuple[PlannedCall, ...]
    steps_for: tuple[int, ...] | None = None
    """the protocols whose evaluation steps the judge writes, by position; none: all, where `--steps generate` is set"""
    is_audit: bool = False
    """whether items are those of an audit; the second protocol, if any, lists its levels in reverse order"""
    absent: frozenset[str] = frozenset()
    """optional inputs that no item has"""

    def calls_of(self, item: Item) -> tuple[PlannedCall, ...]:
        """The calls of this item: all, or with `--order random` only those in the order that its id decides."""
        calls = self._of_probe(item) if self.is_audit else self.calls
        if self.options.order != "random":
            return calls
        # Every probe shows an item in the same order.
        drawn = _drawn(split_id(item.id)[0] if self.is_audit else item.id)
        return tuple(
            planned for planned in calls if planned.protocol.task != "compare" or planned.order == drawn
        )

    def _of_probe(self, item: Item) -> tuple[PlannedCall, ...]:
        """The calls of an item of an audit. A repeated item has samples that no other item has: never a cache hit."""
        probe = split_id(item.id)[1]
        number = 1 if probe == LEVELS and len(self.protocols) > 1 else 0
        return tuple(
            planned
            for planned in self.calls
            if planned.protocol is self.protocols[number]
            and (planned.sample >= self.options.samples) == (probe == REPEAT)
        )

    def writes_steps(self, number: int) -> bool:
        """Whether the judge writes the evaluation steps of the protocol at this position."""
        if self.options.steps != "generate":
            return False
        return self.steps_for is None or number in self.steps_for

    def reask_index(self, planned: PlannedCall, number: int = 1) -> int:
        """The index of a follow-up question to a call, the first, second or third: after those of all planned calls.

        The calls for evaluation steps have indices between the first and the second.
        """
        return len(self.calls) * (number if number == 1 else number + 1) + planned.index


def _drawn(item: str) -> Order:
    """The order of the item with this id with `--order random`: the same in every run."""
    return "ab" if hashlib.blake2b(item.encode(), digest_size=1).digest()[0] % 2 == 0 else "ba"


def make_plan(
    protocols: Sequence[Protocol],
    models: Sequence[Model],
    options: RunOptions,
    steps_for: tuple[int, ...] | None = None,
    *,
    is_audit: bool = False,
) -> Plan:
    """All calls of a run, in the order in which their results are reported."""
    _check_unique(protocols, models)
    calls: list[PlannedCall] = []
    for protocol in protocols:
        orders: tuple[Order, ...] = ("ab",)
        if protocol.task == "compare" and options.order != "given":
            orders = ("ab", "ba")
        for model in models:
            for sample in range(options.samples * (2 if is_audit else 1)):
                params = parameters_for(protocol, options, model.settings, sample)
                of_steps = tuple(
                    parameters_for(step_protocol(protocol, step), options, model.settings, sample)
                    for step in protocol.pipeline
                )
                for order in orders:
                    calls.append(PlannedCall(len(calls), protocol, model, order, sample, params, of_steps))
    return Plan(options, tuple(protocols), tuple(models), tuple(calls), steps_for, is_audit)


def _check_unique(protocols: Sequence[Protocol], models: Sequence[Model]) -> None:
    names = [f"{protocol.id}@{protocol.digest}" for protocol in protocols]
    for name in names:
        if names.count(name) > 1:
            raise ProtocolError(f"protocol {name} is given twice. Name it once.")
    specs = [model.name for model in models]
    for spec in specs:
        if specs.count(spec) > 1:
            raise ProtocolError(
                f"model {spec} is given twice. Name it once; use --samples for several replies."
            )


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
        schema=schema_of(protocol),
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


# -- calls


Prompts = dict[tuple[int, Order, bool], Rendered]
"""The prompts of one item that were made already, by protocol, order and whether they are typed questions."""


def call_for(
    planned: PlannedCall, item: Item, absent: frozenset[str] = frozenset(), prompts: Prompts | None = None
) -> tuple[Call, tuple[str, ...]]:
    """A planned call for one item, and the flags of its prompt; `absent` are optional inputs that no item has.

    Samples and judges share `prompts`: with five samples of an item, its calls take 0.73 of the CPU time.
    """
    protocol = planned.protocol
    ruled = answer_by_rule(protocol, item)
    if ruled is not None:
        call = Call(
            "", item.id, f"{protocol.id}@{protocol.digest}", tuple(protocol.criteria), planned.model.name, ()
        )
        call = msgspec.structs.replace(call, order=planned.order, sample=planned.sample, target=ruled)
        return with_key(call, planned.model, planned.params), (BY_RULE,)
    prompts = {} if prompts is None else prompts
    asks = planned.model.asks_questions
    rendered = prompts.get((id(protocol), planned.order, asks))
    if rendered is None:
        rendered = (render_questions if asks else render)(protocol, item, planned.order, absent)
        prompts[id(protocol), planned.order, asks] = rendered
    kind: Literal["generate", "likelihood"] = (
        "likelihood" if protocol.answer.reader == "likelihood" else "generate"
    )
    call = Call(
        key="",
        item=item.id,
        protocol=f"{protocol.id}@{protocol.digest}",
        criteria=tuple(protocol.criteria),
        model=planned.model.name,
        messages=rendered.messages,
        order=planned.order,
        sample=planned.sample,
        kind=kind,
        target=rendered.target,
    )
    return with_key(call, planned.model, planned.params), rendered.flags


def step_call(planned: PlannedCall, prompt: StepPrompt, item: Item) -> Call:
    """One call of one step for one item."""
    protocol = planned.protocol
    call = Call(
        key="",
        item=item.id,
        protocol=f"{protocol.id}@{protocol.digest}",
        criteria=tuple(prompt.protocol.criteria),
        model=planned.model.name,
        messages=prompt.messages,
        sample=planned.sample,
        kind="extract" if prompt.step.kind == "extract" else "check",
        step=prompt.step.name,
        element=prompt.elements[0] if prompt.elements else None,
    )
    return with_key(call, planned.model, planned.step_params[prompt.position])


def combine_call(planned: PlannedCall, item: Item, keys: Sequence[str]) -> Call:
    """What stands for all calls of an item's steps: it is never sent, and its judgment is that of the item."""
    protocol = planned.protocol
    digest = hashlib.blake2b(digest_size=20)
    for part in ("combine", protocol.digest, planned.model.identity, str(planned.sample), *keys):
        digest.update(part.encode() + b"\n")
    return Call(
        key=digest.hexdigest(),
        item=item.id,
        protocol=f"{protocol.id}@{protocol.digest}",
        criteria=tuple(protocol.criteria),
        model=planned.model.name,
        messages=(),
        sample=planned.sample,
        kind="combine",
    )


def with_key(call: Call, model: Model, params: Parameters) -> Call:
    """The call with its key: a hash of all that the reply depends on."""
    sent: tuple[Any, ...] = (
        params.temperature, params.max_tokens, params.top_logprobs, params.schema, params.seed,
    )  # fmt: skip
    if params.reasoning_effort is not None or params.thinking_tokens is not None:
        # Only where they are set, so that replies from before these parameters existed are found.
        sent = (*sent, params.reasoning_effort, params.thinking_tokens)
    parts: tuple[Any, ...] = (
        model.identity,
        sent,
        _identified(call.messages),
        call.target,
        call.kind,
        call.sample,
    )
    if model.is_recorded:
        # A recorded reply is looked up by its item, not by the prompt.
        parts = (*parts, call.item, call.criteria, call.order)
        if call.step:
            parts = (*parts, call.step, call.element)
    key = hashlib.blake2b(msgspec.json.encode(parts), digest_size=20).hexdigest()
    return msgspec.structs.replace(call, key=key)


def _identified(messages: tuple[Message, ...]) -> Any:
    """Messages as a key covers them: an image by its hash, so that a prompt without images has the key it always had."""
    if not any(message.images for message in messages):
        return messages
    return [
        {
            "role": message.role,
            "content": message.content,
            "images": [(image.media_type, image.sha256) for image in message.images],
        }
        for message in messages
    ]


# -- calls that a rule answers: a number, an option or a short answer that equals the reference, or cannot

BY_RULE = "checked_by_rule"
"""The flag of a judgment that a rule made."""

_LONGEST_RULED = 200
_NUMBER = re.compile(
    r"(?P<currency>[$€£¥]?)\s?(?P<sign>[-−+]?)(?P<digits>\d{1,3}(?:,\d{3})+|\d{1,15})(?P<decimals>\.\d{1,12})?\s?(?P<unit>%|[^\W\d_]{0,12}²?³?)"
)
_OPTIONS = (frozenset({"yes", "no"}), frozenset({"true", "false"}), frozenset("abcdefghij"))
_APPROXIMATE = re.compile(
    r"about|approx|estimat|roughly|nearest|around|circa|round|at least|at most|~|≈", re.I
)
_ABOUT_CASE = re.compile(r"capital|upper|lower|case", re.I)
_EDGES = " \t\r\n.!\"'`*“”‘’()"


def answer_by_rule(protocol: Protocol, item: Item) -> str | None:
    """The reply that a rule gives in place of a judge, in the protocol's format; none where it is not certain."""
    if protocol.rule is None:
        return None
    fields = {
        name: item.fields[field]
        for name in ("task", "response", "reference")
        if (field := protocol.field_for(name, item.fields)) is not None
    }
    response, reference = fields.get("response"), fields.get("reference")
    if not isinstance(response, str) or reference is None or not 0 < len(response.strip()) <= _LONGEST_RULED:
        return None
    task = fields.get("task", "")
    references = [reference] if isinstance(reference, str) else list(reference)
    if not isinstance(task, str) or not all(isinstance(entry, str) for entry in references):
        return None
    verdicts = [_is_equal(response, str(entry), task) for entry in references]
    if True in verdicts:
        return _ruled(protocol, "The response is the reference answer.", is_right=True)
    if verdicts and None not in verdicts:
        return _ruled(protocol, "The response is not the reference answer.", is_right=False)
    return None


def _ruled(protocol: Protocol, reason: str, *, is_right: bool) -> str:
    ((_, scale),) = protocol.criteria.items()
    assert scale is not None
    ends = (scale.low, scale.high) if scale.direction > 0 else (scale.high, scale.low)
    value = ends[1 if is_right else 0]
    return f"{reason}\n{written_answer(protocol.answer, scale.names[float(value or 0)])}"


def _is_equal(response: str, reference: str, task: str) -> bool | None:
    """Whether a response is the reference; none where only a judge can say."""
    given, right = (
        " ".join(unicodedata.normalize("NFKC", text).strip(_EDGES).split()) for text in (response, reference)
    )
    if not given or not right:
        return None
    if given == right:
        return True
    if given.casefold() == right.casefold():
        return None if _ABOUT_CASE.search(task) else True
    for options in _OPTIONS:
        if {given.casefold(), right.casefold()} <= options:
            return False
    ours, theirs = _NUMBER.fullmatch(given), _NUMBER.fullmatch(right)
    return _is_same_number(ours, theirs, task) if ours is not None and theirs is not None else None


def _is_same_number(ours: re.Match[str], theirs: re.Match[str], task: str) -> bool | None:
    """Two numbers as written: the same, surely another, or none where rounding, units or the notation leave it open."""
    if (ours["currency"], ours["unit"].casefold()) != (theirs["currency"], theirs["unit"].casefold()):
        return None
    values = [Decimal(_digits(match)) for match in (ours, theirs)]
    if values[0] == values[1]:
        return True
    has_odd_form = any(
        (match["digits"].startswith("0") and len(match["digits"]) > 1)  # a code, not a quantity
        or (len(match["decimals"] or "") == 4 and len(match["digits"]) <= 3)  # 1.500 may be one thousand five hundred
        for match in (ours, theirs)
    )  # fmt: skip
    if has_odd_form or _APPROXIMATE.search(task):
        return None
    places = min(len((match["decimals"] or ".")[1:]) for match in (ours, theirs))
    # One may be the other, rounded or cut off.
    return (
        None
        if abs(values[0] - values[1]) <= Decimal(1).scaleb(-places) and _differ_in_length(ours, theirs)
        else False
    )


def _digits(match: re.Match[str]) -> str:
    sign = "-" if match["sign"] in ("-", "−") else ""
    return f"{sign}{match['digits'].replace(',', '')}{match['decimals'] or ''}"


def _differ_in_length(ours: re.Match[str], theirs: re.Match[str]) -> bool:
    return len(ours["decimals"] or "") != len(theirs["decimals"] or "")


_REASK_SCORE = {
    "en": "Your reply holds no score that can be read. Reply with the score alone: {format}. Nothing else.",
    "zh": "您的回复中没有可以读取的分数。请只回复分数：{format}。不要写其他内容。",
    "ko": "답변에서 읽을 수 있는 점수를 찾지 못했습니다. 점수만 답하십시오: {format}. 다른 말은 쓰지 마십시오.",
}

_REASK_CHOICE = {
    "en": "Your reply holds no choice that can be read. Reply with your choice alone: {format}. Nothing else.",
    "zh": "您的回复中没有可以读取的选择。请只回复您的选择：{format}。不要写其他内容。",
    "ko": "답변에서 읽을 수 있는 선택을 찾지 못했습니다. 선택만 답하십시오: {format}. 다른 말은 쓰지 마십시오.",
}


_REASK_LIST = {
    "en": "Your reply holds no list that can be read. Reply with the list alone: one entry a line, numbered, or NONE. Nothing else.",
    "zh": "您的回复中没有可以读取的列表。请只回复列表：每行一条并编号；没有则回复 无。不要写其他内容。",
    "ko": "답변에서 읽을 수 있는 목록을 찾지 못했습니다. 목록만 답하십시오: 한 줄에 하나씩 번호를 붙이고, 없으면 없음. 다른 말은 쓰지 마십시오.",
}


def reask_call(call: Call, planned: PlannedCall, text: str) -> Call:
    """The follow-up question: the judge sees its reply and is asked for the answer alone."""
    protocol = planned.protocol
    is_choice = bool(protocol.answer.options) or all(scale is None for scale in protocol.criteria.values())
    questions = _REASK_CHOICE if is_choice else _REASK_SCORE
    if protocol.answer.reader == "list":
        questions = _REASK_LIST
    question = questions.get(protocol.language.prompt, questions["en"]).format(format=_format_of(protocol))
    messages = (*call.messages, Message("assistant", text or "…"), Message("user", question))
    follow_up = msgspec.structs.replace(call, key="", messages=messages, kind="reask", parent=call.key)
    return with_key(follow_up, planned.model, planned.params)


def _format_of(protocol: Protocol) -> str:
    """The form of the answer, without a value that the judge could copy."""
    if protocol.answer.reader == "json":
        return "the JSON object"
    if protocol.answer.options:
        return written_answer(protocol.answer, "WORD") + f" (WORD: {', '.join(protocol.answer.options)})"
    return written_answer(
        protocol.answer, "N" if any(scale is not None for scale in protocol.criteria.values()) else "LETTER"
    )


# -- evaluation steps that the judge writes itself, once per run: an idea of G-Eval (Liu et al. 2023)

_LIST_ENTRY = re.compile(r"^\s*(?:\d{1,2}[.)]|[-*•])\s+(\S.*)$")

_MOST_STEPS = 12


def steps_call(protocol: Protocol, model: Model) -> tuple[Call, Parameters]:
    """The call that asks a model to write the steps of a protocol, and its parameters."""
    if "steps" not in protocol.takes:
        raise ProtocolError(
            f"protocol {protocol.id} takes no evaluation steps. Leave --steps out, or use geval/score."
        )
    params = Parameters(temperature=0.0)
    call = Call(
        key="",
        item="",
        protocol=f"{protocol.id}@{protocol.digest}",
        criteria=tuple(protocol.criteria),
        model=model.name,
        messages=(Message("user", _steps_prompt(protocol)),),
        kind="steps",
    )
    return with_key(call, model, params), params


def _steps_prompt(protocol: Protocol) -> str:
    scale = next(scale for scale in protocol.criteria.values() if scale is not None)
    rubric = protocol.rubric
    criterion = protocol.criterion_text or (rubric.criterion if rubric else "")
    lines = [
        "You are going to grade many responses, one at a time, by the criterion below.",
        "Write down the steps that you will follow for each of them: three to six, short, in an order that makes sense,",
        "so that two careful graders who follow them would come to the same score.",
        "",
        "Criterion:",
        criterion,
    ]
    if rubric is not None:
        lines += [
            f"Score {number_text(level)}: {text}" for level, text in sorted(rubric.scale.levels.items())
        ]
    if scale.low is not None and scale.high is not None:
        lines += ["", f"The score runs from {number_text(scale.low)} to {number_text(scale.high)}."]
    return "\n".join([*lines, "", "Reply with a numbered list and nothing else."])


def steps_in(text: str) -> tuple[str, ...]:
    """The entries of a numbered or bulleted list; without a list, each line that is not empty."""
    listed = [entry[1].strip() for line in text.splitlines() if (entry := _LIST_ENTRY.match(line))]
    steps = listed or [line.strip() for line in text.splitlines() if line.strip()]
    return tuple(steps[:_MOST_STEPS])


# -- the form or JSON schema of a reply, for models whose output can be constrained

_MOST_VALUES = 101


def form_of(protocol: Protocol) -> Form | None:
    """The form of a reply that is not JSON; none where it has several answers or no fixed place for one."""
    answer = protocol.answer
    values = _values(protocol)
    if not values:
        return None
    if answer.reader == "first_line":
        return Form(values, closing="\n", is_first=True)
    if answer.reader == "tag":
        return Form(values, f"<{answer.tag}>", f"</{answer.tag}>")
    if answer.reader == "marker":
        return Form(values, f"{answer.marker} ")
    if answer.reader == "label" and answer.labels:
        return Form(values, f"{answer.labels[0]}: ")
    return None


def _values(protocol: Protocol) -> tuple[str, ...]:
    """All possible answers as they are written; none where there are too many to list."""
    if protocol.task == "compare":
        return tuple(protocol.answer.choices.values())
    if len(protocol.criteria) != 1:
        return ()
    if protocol.answer.options:
        return tuple(protocol.answer.options)
    (scale,) = protocol.criteria.values()
    return _levels(scale) if scale is not None else ()


def _levels(scale: Scale) -> tuple[str, ...]:
    if scale.low is None or scale.high is None or not scale.step:
        return ()
    count = round((scale.high - scale.low) / scale.step) + 1
    return tuple(f"{scale.low + n * scale.step:g}" for n in range(count)) if count <= _MOST_VALUES else ()


_KEY = re.compile(r'"([A-Za-z_][\w-]*)"\s*:')


def schema_of(protocol: Protocol) -> dict[str, Any] | None:
    """The JSON schema of a reply, from the key paths of `[answer]`.

    None where the reply is not JSON, or where the prompt shows keys that no path names: the schema would forbid them.
    """
    if protocol.answer.reader != "json":
        return None
    leaves = _leaves(protocol)
    if any("{number}" in key for path in leaves for key in path):
        return None  # how many elements there are differs from call to call
    named = {key for path in leaves for key in path}
    if not set(_KEY.findall(protocol.user_text)) <= named:
        return None
    return _object(leaves, protocol.user_text)


def _leaves(protocol: Protocol) -> dict[tuple[str, ...], dict[str, Any]]:
    """Every key path of the reply with the type of its value."""
    answer = protocol.answer
    leaves: dict[tuple[str, ...], dict[str, Any]] = {}
    for name, scale in protocol.criteria.items():
        if scale is None:
            continue
        score = answer.scores.get(name, answer.score)
        sides: list[Subject | None] = ["a", "b"] if "{subject}" in (score or "") else [None]
        for side in sides:
            options = list(answer.options)
            kind = {"type": "string", "enum": options} if options else _score_type(scale)
            _add(leaves, protocol, score, name, side, kind)
            # The overall score often has no reasons: the criteria have them.
            if name not in answer.scores and not (name == "overall" and answer.choice):
                _add(leaves, protocol, answer.reason, name, side, {"type": "string"})
                _add(
                    leaves,
                    protocol,
                    answer.evidence,
                    name,
                    side,
                    {"type": "array", "items": {"type": "string"}},
                )
                _add(leaves, protocol, answer.confidence, name, side, {"type": "number"})
    words = list(answer.choices.values())
    _add(
        leaves,
        protocol,
        answer.choice,
        "",
        None,
        {"type": "string", "enum": words} if words else {"type": "string"},
    )
    _add(leaves, protocol, answer.choice_confidence, "", None, {"type": "number"})
    for path in answer.notes.values():
        either = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
        _add(leaves, protocol, path, "", None, {"anyOf": either})
    return leaves


def _add(
    leaves: dict[tuple[str, ...], dict[str, Any]],
    protocol: Protocol,
    template: str | None,
    criterion: str,
    side: Subject | None,
    kind: dict[str, Any],
) -> None:
    if template is None:
        return
    subject = protocol.answer.subjects.get(side, side) if side is not None else ""
    path = tuple(template.replace("{criterion}", criterion).replace("{subject}", str(subject)).split("."))
    leaves[path] = kind


def _score_type(scale: Scale) -> dict[str, Any]:
    if scale.step == 1 and scale.low is not None and scale.high is not None:
        return {"type": "integer", "enum": list(range(int(scale.low), int(scale.high) + 1))}
    return {"type": "number"}


def _object(leaves: dict[tuple[str, ...], dict[str, Any]], text: str) -> dict[str, Any]:
    """The nested object of all paths, its keys in the order of the prompt."""
    children: dict[str, dict[tuple[str, ...], dict[str, Any]]] = {}
    for path, kind in leaves.items():
        children.setdefault(path[0], {})[path[1:]] = kind
    ordered = sorted(children, key=lambda key: text.find(f'"{key}"') if f'"{key}"' in text else len(text))
    properties = {
        key: children[key][()] if () in children[key] else _object(children[key], text) for key in ordered
    }
    return {"type": "object", "properties": properties, "required": ordered, "additionalProperties": False}


# -- the items of a run, from a file or from Python values

Check = Callable[[Item], Sequence[str]]


class ItemSource:
    """Items that can be read more than once, up to a limit."""

    def __init__(
        self, file: ItemFile, path: Path, name: str, renames: Mapping[str, str], limit: int | None
    ) -> None:
        self._file, self._path, self._name = file, path, name
        self._renames, self._limit = dict(renames), limit

    def check(self, *, skip_bad: bool) -> int:
        """How many items there are; raises with all problems of the file, or leaves bad lines out."""
        n_items = self._file.check(skip_bad=skip_bad)
        return n_items if self._limit is None else min(n_items, self._limit)

    def bad(self) -> tuple[str, ...]:
        """The lines that are left out, each with the reason."""
        return self._file.bad()

    def __iter__(self) -> Iterator[Item]:
        return islice(iter(self._file), self._limit)

    def described(self) -> dict[str, Any]:
        """The items as the manifest describes them; the hash decides whether they are the same."""
        return {"path": self._name, "sha256": _sha256(self._path), "map": self._renames}


def open_items(
    items: str | Path | Sequence[Item | Mapping[str, Any]] | Any,
    renames: Mapping[str, str],
    check: Check,
    limit: int | None,
    traces: str | None = None,
) -> ItemSource:
    """The items of a file, of a list of `Item`s or mappings, of a polars or pandas frame, or of a file of traces."""
    name = "(given in Python)"
    if traces is not None:
        if not isinstance(items, str | Path):
            raise DataError("traces: give the name of a file. Rows in Python are items already.")
        name, items = str(items), read_traces(items, traces).rows
    elif isinstance(items, str | Path):
        file = ItemFile(items, renames, check=check)
        return ItemSource(file, local_file(items), str(items), renames, limit)
    items = rows_of_frame(items) or items
    # Written to a temporary file, so that they pass the same checks as a user's file.
    folder = tempfile.mkdtemp(prefix="adjudge-")
    path = Path(folder) / "items.jsonl"
    source = ItemSource(ItemFile(path, renames, check=check), path, name, renames, limit)
    weakref.finalize(source, shutil.rmtree, folder, ignore_errors=True)
    with path.open("wb") as written:
        for number, item in enumerate(items, 1):
            written.write(_line(item, number) + b"\n")
    return source


def _line(item: Item | Mapping[str, Any], number: int) -> bytes:
    try:
        return msgspec.json.encode(_row(item) if isinstance(item, Item) else dict(item))
    except (TypeError, UnicodeEncodeError, ValueError) as error:
        raise DataError(
            f"item {number} cannot be written as JSON: {error}. Give texts, numbers and lists."
        ) from error


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {"id": item.id}
    if item.system_a is not None or item.system_b is not None:
        row |= {"system_a": item.system_a, "system_b": item.system_b}
    else:
        row["system"] = item.system
    if item.group is not None:
        row["group"] = item.group
    for name, value in item.fields.items():
        row[name] = plain(value)
    return row


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


# -- the manifest


def manifest_of(plan: Plan, items: dict[str, Any], command: Sequence[str], version: str) -> dict[str, Any]:
    """All that is needed to say what a run did, and to parse its replies again without the original files."""
    settings = recorded_settings(plan.options)
    if plan.steps_for is not None:
        settings["steps_for"] = list(plan.steps_for)
    dates = {model.name: model.price_date for model in plan.models if model.price_date}
    n_shards = shard_of(plan.options).n
    return {
        "items": items,
        "protocols": [msgspec.to_builtins(protocol, str_keys=True) for protocol in plan.protocols],
        "models": [_model_entry(model) for model in plan.models],
        "settings": settings,
        "version": version,
        "command": list(command),
        **({"price_dates": dates} if dates else {}),
        **({"shards": n_shards} if n_shards > 1 else {}),
    }


_MODEL_PARAMETERS = ("temperature", "max_tokens", "reasoning_effort", "thinking_tokens")


def _model_entry(model: Model) -> dict[str, Any]:
    """A model in the manifest. `spec` is its name in results; an alias and parameters of its own are recorded only
    where it has them, so that runs from before these existed keep their identity."""
    entry: dict[str, Any] = {"spec": model.name, "identity": model.identity, "is_fake": model.is_fake}
    if model.name != model.spec:
        entry["model"] = model.spec
    if model.settings is not None:
        values = {name: getattr(model.settings, name) for name in _MODEL_PARAMETERS}
        if parameters := {name: value for name, value in values.items() if value is not None}:
            entry["parameters"] = parameters
    if model.score_map is not None:
        # The digest makes it another judge; the curves are kept so that stored replies can be read again.
        entry["map_scores"] = {
            "digest": model.score_map.digest,
            "curves": msgspec.to_builtins(model.score_map),
        }
    return entry


def identity_of(manifest: dict[str, Any]) -> str:
    """A hash of the parts of a manifest that decide what is asked and how replies are parsed."""
    decisive = {
        "items": {key: value for key, value in manifest["items"].items() if key != "path"},
        "protocols": [[protocol["id"], protocol["digest"]] for protocol in manifest["protocols"]],
        "models": manifest["models"],
        "settings": manifest["settings"],
    }
    return hashlib.blake2b(msgspec.json.encode(decisive, order="sorted"), digest_size=16).hexdigest()

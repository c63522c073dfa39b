"""The ways of judging of a request: protocols with the rubrics,
criteria, steps and examples that the user gives to each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..data import read_small, rubric_of_labels
from ..errors import DataError, ProtocolError
from ..protocols import (
    ALONE,
    LEAST_TRANSCRIPT_TOKENS,
    TOGETHER,
    load_protocol,
    shows_item,
    takes_examples,
    template_logic,
    together,
    with_digest,
    with_finer_steps,
)
from ..records import Protocol, Rubric
from ..run_options.options import JudgeSettings, named_criterion
from .request import Request, as_tuple


class ProtocolUse(NamedTuple):
    """One way of judging in a run: a protocol and what the user gives to it."""

    protocol: str | Path | Protocol
    rubric: Rubric | str | Path | None = None
    criterion: str = ""
    name: str = ""
    steps: Sequence[str] | str = ()
    examples: str | Path | None = None


DEFAULT_PROTOCOL = ALONE
"""The protocol of a criterion in words."""


def judges_of(request: Request) -> list[ProtocolUse]:
    """The ways of judging of a request, each criterion with a separate name where there are several."""
    return _with_examples(_judges(request), request.examples)


def _judges(request: Request) -> list[ProtocolUse]:
    rubrics = () if request.rubric is None else as_tuple(request.rubric)
    criteria = _criteria(request.criterion)
    if request.judge:
        if request.protocol or rubrics or criteria:
            raise DataError(
                "judge lists protocols, rubrics and criteria: leave out protocol, rubric and "
                "criterion, or judge."
            )
        judges = [_judge(entry, request) for entry in request.judge]
        return _with_names(judges) if len(judges) > 1 else judges
    refs = as_tuple(request.protocol) or ((DEFAULT_PROTOCOL,) if criteria else ())
    if len(rubrics) <= 1 and len(criteria) <= 1:
        rubric = rubrics[0] if rubrics else None
        name, text = criteria[0] if criteria else ("", "")
        return [ProtocolUse(ref, rubric, text, name, request.steps) for ref in refs]
    judges = []
    for ref in refs:
        takes = _takes_of(ref)
        if isinstance(ref, Protocol) or not {"rubric", "criterion"} & takes:
            # It has no place for any of them: loading it says so.
            judges.append(
                ProtocolUse(ref, rubrics[0] if rubrics else None, criteria[0][1] if criteria else "")
            )
            continue
        if "rubric" in takes:
            judges += [ProtocolUse(ref, rubric, "", "", request.steps) for rubric in rubrics]
        if "criterion" in takes:
            judges += [ProtocolUse(ref, None, text, name, request.steps) for name, text in criteria]
    for kind, is_given, is_used in (
        ("rubric", bool(rubrics), any(judge.rubric is not None for judge in judges)),
        ("criterion", bool(criteria), any(judge.criterion for judge in judges)),
    ):
        if is_given and not is_used:
            raise ProtocolError(
                f"no protocol of this run has a place for --{kind}: it would never be shown to the judge. "
                f"Leave it out, or add a protocol that takes it: -p {DEFAULT_PROTOCOL}."
            )
    return _with_names(judges)


def _with_examples(judges: list[ProtocolUse], given: str | Path | None) -> list[ProtocolUse]:
    """The judges with the examples for all; of several, those whose prompt takes none are asked without."""
    if given is None:
        return judges
    takes = [len(judges) == 1 or takes_examples(_unfilled(judge.protocol)) for judge in judges]
    return [
        judge if judge.examples or (any(takes) and not is_taken) else judge._replace(examples=given)
        for judge, is_taken in zip(judges, takes, strict=True)
    ]


def _unfilled(ref: str | Path | Protocol) -> Protocol:
    return ref if isinstance(ref, Protocol) else load_protocol(ref)


def _takes_of(ref: str | Path | Protocol) -> set[str]:
    protocol = _unfilled(ref)
    return {*protocol.takes, *(name.partition(".")[0] for name in protocol.alias.values() if "." in name)}


def _criteria(given: str | Sequence[str] | Mapping[str, str]) -> list[tuple[str, str]]:
    """(name, text) of each criterion; the name is empty where none is given."""
    if isinstance(given, Mapping):
        return list(given.items())
    texts = (given,) if isinstance(given, str) else given
    return [named_criterion(text) for text in texts if text]


def _judge(entry: JudgeSettings | Mapping[str, Any], request: Request) -> ProtocolUse:
    if not isinstance(entry, JudgeSettings):
        try:
            entry = msgspec.convert(entry, JudgeSettings)
        except msgspec.ValidationError as error:
            known = ", ".join(JudgeSettings.__struct_fields__)
            raise DataError(f"judge: {error}. The keys of an entry are: {known}.") from None
    if entry.labels:
        return _judge_by_labels(entry)
    if not entry.protocol and not entry.criterion and not entry.rubric:
        raise DataError("judge: an entry needs a protocol, a rubric or a criterion. Add one.")
    return ProtocolUse(
        entry.protocol or DEFAULT_PROTOCOL,
        entry.rubric or None,
        entry.criterion,
        entry.name,
        (read_steps(entry.steps) if isinstance(entry.steps, str) else entry.steps) or request.steps,
        entry.examples or None,
    )


def _judge_by_labels(entry: JudgeSettings) -> ProtocolUse:
    if entry.rubric:
        raise DataError("judge: an entry has both labels and a rubric. Leave one of the two out.")
    if not entry.criterion:
        raise DataError(
            'judge: an entry with labels needs a criterion: the question, such as "What is it about?".'
        )
    name = entry.name or criterion_name(entry.criterion)
    return ProtocolUse(entry.protocol or "classify", rubric_of_labels(name, entry.criterion, entry.labels))


def read_steps(text: str) -> str | tuple[str, ...]:
    """The evaluation steps in a file, one a line; `generate` means that the judge writes them."""
    if text == "generate" or not text:
        return text
    try:
        lines = read_small(Path(text)).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"--steps {text}: cannot be read ({error}). Give 'generate', or a file with one step per line."
        ) from error
    return tuple(line.strip() for line in lines if line.strip())


def _with_names(judges: Sequence[ProtocolUse]) -> list[ProtocolUse]:
    """Each criterion without a name gets one from its text."""
    taken = {judge.name for judge in judges if judge.name}
    named_judges = []
    for judge in judges:
        if judge.criterion and not judge.name and judge.rubric is None and len(judges) > 1:
            name = _unique(criterion_name(judge.criterion), taken)
            taken.add(name)
            judge = judge._replace(name=name)
        named_judges.append(judge)
    return named_judges


def _unique(name: str, taken: set[str]) -> str:
    number = 2
    unique = name
    while unique in taken:
        unique, number = f"{name}-{number}", number + 1
    return unique


_FILLERS = frozenset(
    "a an and answer are as at be been by can could did do does for had has have how if in is it its "
    "of on or output reply response should so text that the their then there they this to was well "
    "were what whether which will with "
    "would you your".split()
)


_NAME_WORDS = 3


def criterion_name(text: str) -> str:
    """A name for a criterion: the first words of its text that carry meaning."""
    words = re.findall(r"[^\W_]+", text.lower())
    telling = [word for word in words if word not in _FILLERS] or words
    return "-".join(telling[:_NAME_WORDS])[:40] or "criterion"


def only_protocol(request: Request) -> Protocol:
    """The protocol of a request for an audit, with what the user gives to it."""
    judges = judges_of(request)
    protocols = loaded_protocols(request, judges)
    if len(protocols) != 1:
        raise ProtocolError(
            f"an audit has one protocol and one criterion or rubric; {len(protocols)} are given. "
            "Audit each alone."
        )
    return protocols[0]


def loaded_protocols(request: Request, judges: Sequence[ProtocolUse]) -> list[Protocol]:
    protocols = [_protocol(judge) for judge in judges]
    _check_names(judges, protocols)
    is_asked = request.together or any(protocol.id == TOGETHER for protocol in protocols)
    if is_asked and not any(protocol.asked_criteria for protocol in protocols):
        protocols = [together(protocols)]
    if (tokens := request.transcript_tokens) is not None:
        if tokens < LEAST_TRANSCRIPT_TOKENS:
            raise DataError(f"--transcript-tokens {tokens}: must be at least {LEAST_TRANSCRIPT_TOKENS}.")
        protocols = [with_digest(protocol, transcript_tokens=tokens) for protocol in protocols]
    if request.step is not None:
        protocols = with_finer_steps(protocols, request.step)
    if request.empty == "fail":
        protocols = [msgspec.structs.replace(protocol, empty_fails=True) for protocol in protocols]
    for protocol in protocols:
        if protocol.pipeline and request.estimator == "probability":
            raise ProtocolError(
                f"--estimator probability: protocol {protocol.id} judges in steps, and its score is "
                "combined from many replies. Leave --estimator out."
            )
        is_likelihood = protocol.answer.reader == "likelihood"
        if is_likelihood != (request.estimator == "likelihood") and request.estimator is not None:
            other = "asks for no reply" if is_likelihood else "asks for a reply"
            raise ProtocolError(
                f"--estimator {request.estimator}: protocol {protocol.id} {other}. Leave --estimator out."
            )
        if not shows_item(protocol):
            raise ProtocolError(
                f"protocol {protocol.id} shows nothing of an item, so every item would get the same score. "
                "Put a placeholder such as {{response}} into its prompt, and its name into inputs."
            )
        if (logic := template_logic(protocol)) is not None:
            raise ProtocolError(
                f"protocol {protocol.id}: {logic[0]} holds template logic, '{logic[1][:60]}', which "
                f"would be sent to the "
                "judge as it stands. Write the text that it stands for; use two protocols for two cases."
            )
    return protocols


def _protocol(judge: ProtocolUse) -> Protocol:
    if isinstance(judge.protocol, Protocol):
        return judge.protocol if judge.protocol.digest else with_digest(judge.protocol)
    return load_protocol(
        judge.protocol,
        rubric=judge.rubric,
        examples=judge.examples or (),
        criterion=judge.criterion,
        steps=() if judge.steps == "generate" else judge.steps,
        name=judge.name,
    )


def _check_names(judges: Sequence[ProtocolUse], protocols: Sequence[Protocol]) -> None:
    """Two criteria of one protocol need two names: otherwise their scores could not be distinguished."""
    seen: dict[tuple[str, str], Protocol] = {}
    for judge, protocol in zip(judges, protocols, strict=True):
        for criterion in protocol.criteria if judge.rubric is not None or judge.criterion else ():
            other = seen.setdefault((protocol.id, criterion), protocol)
            if other is not protocol:
                raise ProtocolError(
                    f"two criteria of protocol {protocol.id} are called '{criterion}'. Name each "
                    "differently: --criterion NAME=TEXT, name = … in a rubric file, or name = … in "
                    "the run file."
                )

"""The cases of a protocol, `cases.toml`: replies, and what must be read from each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ..data import BrokenFileError, read_small
from ..parse import parse, read_list
from ..records import Choice, FieldValue, How, Item, Judgment, Listing, Protocol, Score, Status
from ..toml_text import parse_toml
from .findings import Finding
from .setting_lines import line_number, line_of_key
from .setting_mistakes import Mistake, key_meant, mistakes_in, toml_mistake
from .step_protocols import answer_about, step_protocol

FILE = "cases.toml"


_KEY = "case"


_HEADING = re.compile(r"^[ \t]*(\[\[[ \t]*case[ \t]*\]\])", re.MULTILINE)


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One reply and what must be read from it; what is left out may be anything."""

    name: str
    reply: str
    only: tuple[str, ...] | None = None
    status: Status | None = None
    value: float | None = None
    how: How | None = None
    choice: Choice | None = None
    choice_status: Status | None = None
    scores: dict[str, float | Status] = {}
    """criterion, or criterion/subject → the value, or the status where there is no value"""
    flags: tuple[str, ...] = ()
    fields: dict[str, FieldValue] = {}
    grounded: dict[str, float] = {}
    step: str = ""
    """the step whose reply it is; without a name, that of the check"""
    entries: tuple[str, ...] | None = None
    """extract: the list that must be read"""
    element: int = 1
    """check: the number of the element, where a reply is about several"""
    label: str | None = None
    """the option that must be read"""
    finish: str | None = None
    """why the model stopped: "length" means that the reply was cut off"""
    is_cut: bool | None = None
    """extract: whether the list was cut off"""


class Failure(NamedTuple):
    """Something about the cases of one protocol that is not as promised."""

    path: Path
    line: int
    message: str
    todo: str
    protocol: str = ""
    """empty where the file itself is at fault"""
    case: str = ""


def case_failures(folder: Path, protocol: Protocol, *, is_builtin: bool) -> list[Failure]:
    """Every case that does not read as promised, and cases that a built-in protocol should have."""
    if protocol.answer.reader == "likelihood":
        return []
    path = next((place / FILE for place in (folder, folder.parent) if (place / FILE).is_file()), None)
    if path is None:
        if not is_builtin:
            return []
        todo = "Write replies, each with the expected reading."
        return [Failure(folder / FILE, 1, f"a built-in protocol needs {FILE}.", todo, protocol.id)]
    failures: list[Failure] = []
    cases = [
        (line, case)
        for line, case in _read(path, failures)
        if case.only is None or protocol.id.rpartition("/")[2] in case.only
    ]
    for line, case in cases:
        # One reply that is read differently violates several expectations at once, and is one problem.
        if differences := list(_case_differences(protocol, case)):
            message = "; ".join(differences) + "."
            failures.append(
                Failure(path, line, message, "Fix the reader, or the case.", protocol.id, case.name)
            )
    has_unparsed = any("unparsed" in (case.status, case.choice_status) for _, case in cases)
    if is_builtin and not has_unparsed:
        todo = "Add a reply without a readable score."
        failures.append(Failure(path, 1, "no case is unparsed.", todo, protocol.id))
    return failures


def family_findings(failures: Iterable[Failure]) -> list[Finding]:
    """One finding for each case that fails in the same way under several protocols of a family."""
    failing: dict[tuple[Path, int, str, str, str], list[str]] = {}
    for path, line, message, todo, protocol, case in failures:
        failing.setdefault((path, line, message, todo, case), []).append(protocol)
    return [
        Finding(str(path), line, "case", f"{_whose(case, protocols)}{message}", todo)
        for (path, line, message, todo, case), protocols in failing.items()
    ]


def _whose(case: str, protocols: Sequence[str]) -> str:
    """The case and the protocols, before what is wrong: behind it, a name could be taken for what was
    read."""
    more = len(protocols) - 1
    others = f" and {more} other{'s' if more > 1 else ''}" if more else ""
    named = f"protocol '{protocols[0]}'{others}" if protocols[0] else ""
    if case:
        return f"'{case}' in {named}: "
    return f"{named}: " if named else ""


def _read(path: Path, failures: list[Failure]) -> Iterator[tuple[int, Case]]:
    """The cases of a file with their lines; what cannot be read goes to the failures."""
    text = ""
    try:
        text = read_small(path).decode("utf-8")
        settings = parse_toml(text)
    except (OSError, UnicodeDecodeError, BrokenFileError) as error:
        message = f"{FILE} cannot be read as UTF-8 text ({error})."
        failures.append(Failure(path, 1, message, "Save it as UTF-8."))
        return
    except (
        ValueError,
        RecursionError,
    ) as error:  # ValueError: also of int(), which refuses thousands of digits
        failures.append(Failure(path, *toml_mistake(FILE, text, error, [_KEY])[:3]))
        return
    for key in settings:
        if key != _KEY:
            todo = key_meant(key, [_KEY])
            failures.append(Failure(path, line_of_key(text, key), f"unknown key '{key}'.", todo))
    entries = settings.get(_KEY, [])
    if not isinstance(entries, list):
        mistakes = mistakes_in(text, entries, list[Case], _KEY)
        failures += [Failure(path, *mistake[:3]) for mistake in mistakes]
        return
    lines = [line_number(text, heading.start(1)) for heading in _HEADING.finditer(text)]
    for number, entry in enumerate(entries):
        try:
            yield lines[number] if number < len(lines) else 1, msgspec.convert(entry, Case)
        except msgspec.ValidationError as error:
            mistakes = mistakes_in(text, entry, Case, _KEY, number)
            mistakes = mistakes or [Mistake(1, f"case {number + 1}: {error}.", "Correct the value.")]
            failures += [Failure(path, *mistake[:3]) for mistake in mistakes]


def _case_differences(protocol: Protocol, case: Case) -> Iterator[str]:
    """What is read from a reply otherwise than promised; in a protocol with steps, by the reader of the
    step."""
    if not protocol.pipeline:
        yield from _differences(case, _judgment(protocol, case))
        return
    asking = {step.name: step for step in protocol.pipeline if step.prompt}
    default = next((name for name, step in asking.items() if step.kind == "check"), "")
    step = asking.get(case.step or default)
    if step is None:
        yield f"there is no step '{case.step}' with a prompt, only {sorted(asking)}"
    elif step.kind == "extract":
        yield from _list_differences(case, read_list(case.reply, finish=case.finish))
    else:
        checked = step_protocol(protocol, step)
        answer = answer_about(checked.answer, case.element)
        yield from _differences(case, _judgment(msgspec.structs.replace(checked, answer=answer), case))


def _list_differences(case: Case, listing: Listing) -> Iterator[str]:
    if case.status is not None:
        yield from _unequal("status", case.status, listing.status)
    if case.entries is not None:
        yield from _unequal("the list", list(case.entries), list(listing.entries))
    if case.how is not None:
        yield from _unequal("how", case.how, listing.how)
    if case.is_cut is not None:
        yield from _unequal("is_cut", case.is_cut, listing.cut is not None)
    for flag in case.flags:
        if flag not in listing.flags:
            yield f"flag '{flag}' is expected, but the flags are {sorted(listing.flags)}"


def _judgment(protocol: Protocol, case: Case) -> Judgment:
    label = protocol.answer.labels[0] if protocol.answer.labels else ""
    criterion = next(iter(protocol.criteria), "")
    reply = case.reply.replace("{{label}}", label).replace("{{criterion}}", criterion)
    return parse(protocol, reply, item=Item("case", case.fields), finish=case.finish)


def _differences(case: Case, judgment: Judgment) -> Iterator[str]:
    named = _named(judgment)
    yield from _overall(case, judgment)
    for name, promised in case.scores.items():
        score = named.get(name)
        if score is None:
            yield f"there is no score '{name}', only {sorted(named)}"
        elif isinstance(promised, str):
            yield from _unequal(f"status of '{name}'", promised, score.status)
        else:
            yield from _unequal(f"'{name}'", promised, _value_or_status(score))
    for name, share in case.grounded.items():
        score = named.get(name)
        grounded = score.grounded if score else None
        if grounded is None or abs(grounded - share) > 1e-6:
            yield from _unequal(f"grounded share of '{name}'", share, grounded)
    for flag in case.flags:
        if flag not in judgment.flags:
            yield f"flag '{flag}' is expected, but the flags are {sorted(judgment.flags)}"


def _overall(case: Case, judgment: Judgment) -> Iterator[str]:
    """The promises that concern every score, or the choice."""
    if case.choice_status is not None:
        yield from _unequal("choice_status", case.choice_status, judgment.choice_status)
    if case.choice is not None:
        yield from _unequal("choice", case.choice, judgment.choice)
    scores = judgment.scores
    if case.status is not None and not scores and case.choice_status is None:
        yield from _unequal("status", case.status, judgment.choice_status)
    if case.label is not None:
        yield from _unequal("label", case.label, scores[0].label if scores else None)
    if not scores:
        if case.value is not None:
            yield f"value {case.value:g} is expected, but the protocol has no scores"
        if case.how is not None:
            yield from _unequal("how", case.how, judgment.choice_how)
        return
    for name, score in _named(judgment).items():
        if name in case.scores:
            continue
        of = f" of '{name}'" if len(scores) > 1 else ""
        is_other = case.status is not None and case.status != score.status
        if is_other:
            yield from _unequal(f"status{of}", case.status, score.status)
        if case.value is not None:
            # The status is said once.
            answer = "none" if is_other and score.value is None else _value_or_status(score)
            yield from _unequal(f"value{of}", case.value, answer)
        if case.how is not None and score.status == "ok":
            yield from _unequal(f"how{of}", case.how, score.how)


def _named(judgment: Judgment) -> dict[str, Score]:
    return {
        score.criterion + (f"/{score.subject}" if score.subject else ""): score for score in judgment.scores
    }


def _value_or_status(score: Score) -> float | str:
    return score.value if score.value is not None else score.status


def _unequal(what: str, promised: object, actual: object) -> Iterator[str]:
    if promised != actual:
        yield f"{what} should be {_text(promised)} but is {_text(actual)}"


def _text(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)

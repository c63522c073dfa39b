"""Reading a protocol folder: settings and texts become a `Protocol`, or a list of all problems.

This file knows the format of `protocol.toml` and nothing of what a good prompt is (that is `check.py`). It never stops
at the first problem.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from ..data import BrokenFileError, read_small
from ..parse.elements import ELEMENT_RULES
from ..parse.free.option_names import flat_name
from ..records import (
    TRANSCRIPT_TOKENS,
    Accepted,
    Answer,
    Combination,
    ExampleWords,
    Given,
    Language,
    Protocol,
    Rule,
    Scale,
    Step,
    StepKind,
    Task,
)
from ..render import ELEMENT_SLOTS, PROTOCOL_SLOTS, USER_SLOTS, slots_of, targets_of
from .findings import Finding
from .setting_lines import Steps, line_of, line_of_key, line_of_steps
from .setting_mistakes import Mistake, key_meant, mistakes_in, toml_mistake
from .step_protocols import checked_criteria, criterion_of

T = TypeVar("T")
LEAST_TRANSCRIPT_TOKENS = 100
_KEYS = (
    "title", "task", "language", "source", "inputs", "optional", "at_least_one", "takes", "refuses", "fence",
    "not_given", "criteria", "examples", "answer", "alias", "accept", "imported", "transcripts", "transcript_tokens",
    "rule",
    "numbered", "steps",
)  # fmt: skip
_REQUIRED = ("title", "task", "language", "source", "inputs", "criteria", "answer")
_LISTS = ("criteria", "accept", "steps")
"""Keys with a table for each entry."""

_SLOT_KEYS = {"inputs", "optional", "at_least_one", "takes", "alias", "examples"}
"""Keys that say which slots a text may have."""

_QUOTED = {"response", "response_a", "response_b"}
"""Inputs in which quoted evidence is looked for."""

_NEEDED_BY_READER = {
    "tag": ("tag",),
    "marker": ("marker",),
    "label": ("labels",),
    "likelihood": ("target",),
    "ranking": ("choices",),
}


class _ScaleSettings(msgspec.Struct, forbid_unknown_fields=True):
    low: float | None = None
    high: float | None = None
    best: float | str | None = None
    step: float | None = None
    levels: dict[str, str] = {}
    names: dict[str, str] = {}


class _StepSettings(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    kind: StepKind
    prompt: str = ""
    answer: Answer | None = None
    field: str = msgspec.field(default="", name="from")
    rule: str = "entries"
    judged: str = "response"
    elements: str = ""
    per_call: int | Literal["all"] = 1
    how: Combination = "share"
    criterion: str = ""
    of: str = ""
    set_aside: Literal["leave out", "worst"] = "leave out"


class _CriterionSettings(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    scale: _ScaleSettings | None = None


def read_text(path: Path) -> str:
    """A text of a protocol as it is sent: without its one final newline, nothing else stripped."""
    text = read_small(path).decode("utf-8")
    return text[:-1] if text.endswith("\n") else text


def read_folder(folder: Path, protocol_id: str) -> tuple[Protocol | None, list[Finding]]:
    """The protocol of a folder and its problems; no protocol where it cannot be used at all."""
    reader = _FolderReader(folder, protocol_id)
    return reader.read(), reader.findings


class _FolderReader:
    def __init__(self, folder: Path, protocol_id: str) -> None:
        self.folder = folder
        self.id = protocol_id
        self.findings: list[Finding] = []
        self.toml_text = ""
        self.settings: dict[str, Any] = {}
        self.pipeline: tuple[Step, ...] = ()
        self.broken: set[str] = set()
        """keys whose values could not be used, so that nothing can be said of what depends on them"""

    def read(self) -> Protocol | None:
        texts = self._texts()
        if texts is None or not self._load_toml():
            return None
        self._check_keys()
        protocol = self._protocol(*texts)
        if "steps" in self.settings:
            self._check_steps(protocol)
        elif "answer" not in self.broken:
            self._check_answer(protocol, ("answer",))
            if "criteria" not in self.broken:
                self._check_scores(protocol)
        if not self.broken & _SLOT_KEYS:
            self._check_inputs(protocol)
            if "user.md" not in self.broken and "steps" not in self.broken:
                self._check_slots(protocol)
        return None if self.findings else protocol

    # -- files

    def _texts(self) -> tuple[str, str] | None:
        texts = {}
        for name, required in (("user.md", True), ("system.md", False)):
            path = self.folder / name
            try:
                texts[name] = read_text(path)
            except FileNotFoundError:
                texts[name] = ""
                if required and not self._has_steps():
                    self.broken.add(name)
                    self._problem(
                        "missing-file", f"{name} is missing.", "Write the text that the judge is sent.", name
                    )
            except UnicodeDecodeError as error:
                self._problem(
                    "unreadable", f"{name} cannot be read as UTF-8 text ({error}).", "Save it as UTF-8.", name
                )
                return None
            except BrokenFileError as broken:
                self._problem("unreadable", f"{name}: {broken.problem}", "", name)
                return None
        return texts["system.md"], texts["user.md"]

    def _has_steps(self) -> bool:
        """Whether the protocol has steps, each with its own prompt; the file is read and checked later."""
        try:
            return "steps" in tomllib.loads(read_small(self.folder / "protocol.toml").decode("utf-8"))
        except (OSError, ValueError, RecursionError, BrokenFileError):
            return False

    def _load_toml(self) -> bool:
        path = self.folder / "protocol.toml"
        try:
            self.toml_text = read_small(path).decode("utf-8")
            self.settings = tomllib.loads(self.toml_text)
        except FileNotFoundError:
            todo = "Write one, or start from a commented one: adjudge protocols new DIR."
            self._problem("missing-file", "protocol.toml is missing.", todo)
            return False
        except UnicodeDecodeError as error:
            message = f"protocol.toml cannot be read as UTF-8 text ({error})."
            self._problem("unreadable", message, "Save it as UTF-8.")
            return False
        except BrokenFileError as broken:
            self._problem("unreadable", f"protocol.toml: {broken.problem}", "")
            return False
        except (
            ValueError,
            RecursionError,
        ) as error:  # ValueError: also of int(), which refuses thousands of digits
            self._mistaken([toml_mistake("protocol.toml", self.toml_text, error, _LISTS)])
            return False
        return True

    # -- settings

    def _check_keys(self) -> None:
        for key in self.settings:
            if key not in _KEYS:
                self._problem("unknown-key", f"unknown key '{key}'.", key_meant(key, _KEYS), key=key)
        for key in _REQUIRED:
            if key == "answer" and "steps" in self.settings:
                continue
            if key not in self.settings:
                self.broken.add(key)
                self._problem("missing-key", f"key '{key}' is missing.", f"Add {key} = …")

    def _convert(self, key: str, kind: type[T] | Any, default: T) -> T:
        """One setting as the type that it must have; problems and the default otherwise."""
        if key not in self.settings:
            return default
        try:
            return msgspec.convert(self.settings[key], kind, strict=True)
        except msgspec.ValidationError as error:
            self.broken.add(key)
            mistakes = mistakes_in(self.toml_text, self.settings[key], kind, key)
            line = line_of_key(self.toml_text, key)
            self._mistaken(mistakes or [Mistake(line, f"{key}: {error}.", "Correct the value.")])
            return default

    def _protocol(self, system_text: str, user_text: str) -> Protocol:
        return Protocol(
            id=self.id,
            digest="",
            title=self._convert("title", str, ""),
            task=self._convert("task", Task, "score"),
            language=self._convert("language", Language, Language("en", "en")),
            source=self._convert("source", str, ""),
            inputs=self._convert("inputs", tuple[str, ...], ()),
            optional=self._convert("optional", tuple[str, ...], ()),
            at_least_one=self._convert("at_least_one", tuple[str, ...], ()),
            takes=self._convert("takes", tuple[Given, ...], ()),
            refuses=self._convert("refuses", dict[str, str], {}),
            fence=self._convert("fence", bool, False),
            not_given=self._convert("not_given", str, "(not given)"),
            criteria=self._criteria(),
            example_words=self._example_words(user_text),
            system_text=system_text,
            user_text=user_text,
            answer=self._answer(),
            numbered=self._convert("numbered", tuple[str, ...], ()),
            pipeline=self.pipeline,
            alias=self._convert("alias", dict[str, str], {}),
            accept=self._convert("accept", tuple[Accepted, ...], ()),
            imported=self._convert("imported", str, ""),
            transcripts=self._convert("transcripts", tuple[str, ...], ()),
            transcript_tokens=self._convert("transcript_tokens", int, TRANSCRIPT_TOKENS),
            rule=self._convert("rule", Rule, None),
            folder=str(self.folder),
        )

    def _answer(self) -> Answer:
        """How a reply is read: that of the last check, where the protocol has steps."""
        answer = self._convert("answer", Answer, Answer(reader="free"))
        self.pipeline = self._pipeline()
        checks = [step.answer for step in self.pipeline if step.kind == "check" and step.answer is not None]
        return checks[-1] if checks else answer

    def _pipeline(self) -> tuple[Step, ...]:
        """The steps with the texts of their prompts."""
        declared: list[_StepSettings] = self._convert("steps", list[_StepSettings], [])
        steps = []
        for number, settings in enumerate(declared):
            values = {name: getattr(settings, name) for name in settings.__struct_fields__}
            answer = settings.answer
            if settings.kind == "extract" and settings.prompt and answer is None:
                answer = Answer(reader="list")
            per_call = 0 if settings.per_call == "all" else settings.per_call
            text = self._step_text(settings, number)
            steps.append(Step(**{**values, "answer": answer, "per_call": per_call, "text": text}))
        return tuple(steps)

    def _step_text(self, step: _StepSettings, number: int) -> str:
        where: Steps = ("steps", number, "prompt")
        if not step.prompt:
            return ""
        if Path(step.prompt).name != step.prompt:
            message = (
                f"step '{step.name}' has the prompt '{step.prompt}', which is not a file of this folder."
            )
            self._problem(
                "bad-step", message, 'Name a file of the folder: prompt = "claims.md".', steps=where
            )
            return ""
        try:
            return read_text(self.folder / step.prompt)
        except FileNotFoundError:
            message = f"{step.prompt} is missing: the prompt of step '{step.name}'."
            self._problem("missing-file", message, "Write the text that the judge is sent.", steps=where)
        except (UnicodeDecodeError, BrokenFileError, OSError) as error:
            self._problem(
                "unreadable", f"{step.prompt} cannot be read ({error}).", "Save it as UTF-8.", steps=where
            )
        self.broken.add("steps")
        return ""

    def _example_words(self, user_text: str) -> ExampleWords | None:
        """How examples are introduced. By likelihood they are shown as the item is, and need no words."""
        answer = self.settings.get("answer")
        if isinstance(answer, dict) and answer.get("reader") == "likelihood":
            return ExampleWords("", "", "", "") if "examples" in slots_of(user_text) else None
        return self._convert("examples", ExampleWords, None)

    def _criteria(self) -> dict[str, Scale | None]:
        criteria: dict[str, Scale | None] = {}
        declared: list[_CriterionSettings] = self._convert("criteria", list[_CriterionSettings], [])
        for number, settings in enumerate(declared):
            if settings.name in criteria:
                message = f"criterion '{settings.name}' is declared twice."
                self._problem("duplicate-criterion", message, "Keep one.", steps=("criteria", number))
            criteria[settings.name] = self._scale(settings, ("criteria", number, "scale"))
        if self.settings.get("criteria") == []:
            self._problem(
                "no-criteria", "no criterion is declared.", "Add [[criteria]] with a name and a scale."
            )
        return criteria

    def _scale(self, criterion: _CriterionSettings, steps: Steps) -> Scale | None:
        declared, name = criterion.scale, criterion.name
        if declared is None:
            if self.settings.get("task") == "score":
                todo = "Add scale = { low, high, best }."
                self._problem("no-scale", f"criterion '{name}' has no scale.", todo, steps=steps)
            return None
        levels, names = self._levels(declared.levels, name, steps), self._levels(declared.names, name, steps)
        self._check_best(declared, name, steps)
        if declared.low is not None and declared.high is not None and not declared.low < declared.high:
            message, todo = f"criterion '{name}' has low >= high.", "Write the smaller value as low."
            self._problem("bad-scale", message, todo, steps=steps)
            return None
        if declared.step is not None and declared.step <= 0:
            message, todo = f"criterion '{name}' has step <= 0.", "Leave step out for any value."
            self._problem("bad-scale", message, todo, steps=steps)
            return None
        best = declared.best if declared.best is not None else "unknown"
        scale = Scale(declared.low, declared.high, best, declared.step, levels, names)  # type: ignore[arg-type]
        for level in {*levels, *names}:
            if scale.status_of(level) != "ok":
                message = f"criterion '{name}' describes level {level:g}, which is not on its scale."
                self._problem("bad-scale", message, "Correct the level or the scale.", steps=steps)
        return scale

    def _check_best(self, declared: _ScaleSettings, name: str, steps: Steps) -> None:
        best, ends = declared.best, (declared.low, declared.high)
        if best is None:
            message = f"criterion '{name}' needs scale = {{ low, high, best }}."
            todo = "'best' says which end is good; it is never assumed."
            self._problem("scale-without-best", message, todo, steps=steps)
        elif best == "unknown":
            if not self.settings.get("imported"):
                message = f"criterion '{name}' has best = \"unknown\"."
                todo = "Say which end is good; only an imported original may leave it open."
                self._problem("scale-without-best", message, todo, steps=steps)
        elif best == "none":
            n_classes = len(declared.names) or 2 * ("rubric" in self.settings.get("takes", ()))
            if ends != (0, n_classes - 1) or declared.step != 1 or n_classes < 2:
                message = (
                    f"criterion '{name}' has best = \"none\", so its values are classes without an order."
                )
                todo = "Give low = 0, step = 1, high = the number of classes less one, and a name for each in names."
                self._problem("bad-scale", message, todo, steps=steps)
        elif ends == (None, None):
            if best not in ("high", "low"):
                message = f"criterion '{name}' is unbounded, and best = {best!r} is no end of it."
                self._problem("bad-scale", message, 'Write best = "high" or best = "low".', steps=steps)
        elif best not in ends:
            message = f"criterion '{name}' has best = {best!r}, which is neither low nor high."
            self._problem("bad-scale", message, "Name one of the two ends.", steps=steps)

    def _levels(self, texts: dict[str, str], criterion: str, steps: Steps) -> dict[float, str]:
        levels = {}
        for level, text in texts.items():
            try:
                levels[float(level)] = text
            except ValueError:
                message = f"criterion '{criterion}' has a level '{level}', which is not a number."
                self._problem("bad-scale", message, 'Write levels as 1 = "…".', steps=steps)
        return levels

    # -- what must fit together

    def _check_answer(self, protocol: Protocol, where: Steps) -> None:
        answer = protocol.answer
        for key in _NEEDED_BY_READER.get(answer.reader, ()):
            if not getattr(answer, key):
                message = f"reader '{answer.reader}' needs '{key}'."
                self._problem("bad-answer", message, f"Add {key} = … under [answer].", steps=where)
        if answer.reader == "json" and answer.score is None and answer.choice is None and not answer.scores:
            message = "reader 'json' needs the path of a score or of a choice."
            self._problem("bad-answer", message, 'Add score = "path.to.score" under [answer].', steps=where)
        if answer.reader == "list" and where == ("answer",):
            message = "reader 'list' reads a list, which is no score."
            self._problem("bad-answer", message, "Use it in an extract step: [[steps]].", steps=where)

        if answer.options:
            self._check_options(protocol, (*where, "options"))

    def _check_options(self, protocol: Protocol, steps: Steps) -> None:
        """Options must be told apart, and each needs a value on the scale."""
        answer = protocol.answer
        is_step = steps[0] == "steps"
        if answer.reader in ("likelihood", "list"):
            message = f"reader '{answer.reader}' reads no options."
            self._problem("bad-answer", message, "Leave options out, or use another reader.", steps=steps)
        same: dict[str, str] = {}
        for name, value in answer.options.items():
            if not flat_name(name):
                self._problem("bad-answer", f"option '{name}' has no name.", "Write a word.", steps=steps)
            elif (other := same.setdefault(flat_name(name), name)) != name:
                message = (
                    f"options '{other}' and '{name}' read the same: case, spaces and hyphens do not count."
                )
                self._problem("bad-answer", message, "Give one of them another name.", steps=steps)
            if value == "none":
                if is_step:
                    continue
                message = f"option '{name}' has no value, so an item that gets it would have no score."
                todo = "Give it a value on the scale; only the options of a check step may be set aside."
                self._problem("bad-answer", message, todo, steps=steps)
                continue
            for criterion, scale in protocol.criteria.items():
                if scale is not None and scale.status_of(float(value)) != "ok":
                    message = f"option '{name}' has the value {value:g}, which is not on the scale of '{criterion}'."
                    self._problem("bad-answer", message, "Correct the value or the scale.", steps=steps)

    def _check_scores(self, protocol: Protocol) -> None:
        """Each criterion needs a separate number: one number is not a judgment of two criteria."""
        answer = protocol.answer
        for name in answer.scores:
            if name not in protocol.criteria:
                message = f"answer.scores names '{name}', which is no criterion."
                self._problem("bad-answer", message, "Correct the name.", steps=("answer", "scores"))
        if answer.reader != "json":
            return
        readers: dict[str, list[str]] = {}
        for name, scale in protocol.criteria.items():
            path = answer.scores.get(name, answer.score)
            if scale is not None and path is not None:
                readers.setdefault(path.replace("{criterion}", name), []).append(f"'{name}'")
        for path, names in readers.items():
            if len(names) > 1:
                message = f"the criteria {', '.join(names)} all read the same number, '{path}' of the reply."
                todo = "Write {criterion} into the path, or give each its own path under [answer.scores]."
                self._problem("same-score", message, todo, steps=("answer", "score"))

    # -- steps

    def _check_steps(self, protocol: Protocol) -> None:
        """The steps must lead from a list over its checks to a score of every criterion."""
        if "steps" in self.broken:
            return
        if "answer" in self.settings:
            message = "[answer] is set beside [[steps]]: each step has its own."
            self._problem("bad-step", message, "Move it to [steps.answer] of the check step.", key="answer")
        if protocol.task != "score":
            message = "a protocol with steps scores one response; task is 'compare'."
            self._problem("bad-step", message, 'Write task = "score".', key="task")
        kinds = [step.kind for step in protocol.pipeline]
        for kind, todo in (
            ("extract", "Add the step that makes the list."),
            ("check", "Add the step that checks each element."),
            ("combine", "Add the step that makes one score of the checks."),
        ):
            if kind not in kinds:
                self._problem("bad-step", f"there is no step of kind '{kind}'.", todo, key="steps")
        if kinds != sorted(kinds, key=("extract", "check", "combine").index):
            message = f"the steps stand in the order {', '.join(kinds)}."
            self._problem("bad-step", message, "Extract comes first, then check, then combine.", key="steps")
        names = [step.name for step in protocol.pipeline]
        for number, step in enumerate(protocol.pipeline):
            where: Steps = ("steps", number)
            if names.index(step.name) != number or not step.name.isidentifier():
                message = f"step '{step.name}' needs a name of its own, of letters, digits and underscores."
                self._problem("bad-step", message, "Rename it.", steps=where)
            for message, todo in self._step_problems(protocol, step):
                self._problem("bad-step", f"step '{step.name}': {message}", todo, steps=where)
            if step.answer is not None and step.kind == "check" and "criteria" not in self.broken:
                inner = msgspec.structs.replace(
                    protocol,
                    answer=step.answer,
                    criteria={
                        name: scale
                        for name, scale in protocol.criteria.items()
                        if name in checked_criteria(protocol)
                    },
                )
                self._check_answer(inner, (*where, "answer"))
        scored = [criterion_of(protocol, step) for step in protocol.pipeline if step.kind == "combine"]
        for name in protocol.criteria:
            if scored and scored.count(name) != 1:
                message = f"criterion '{name}' is scored by {scored.count(name)} combine steps."
                self._problem("bad-step", message, "Each criterion needs one.", key="steps")

    def _step_problems(self, protocol: Protocol, step: Step) -> Iterator[tuple[str, str]]:
        if step.kind == "extract":
            yield from self._extract_problems(protocol, step)
        elif step.kind == "check":
            yield from _check_problems(protocol, step)
        else:
            yield from _combine_problems(protocol, step)

    def _extract_problems(self, protocol: Protocol, step: Step) -> Iterator[tuple[str, str]]:
        declared = (*protocol.inputs, *protocol.optional)
        if bool(step.prompt) == bool(step.field):
            yield "it needs a prompt or a field, not both.", 'Set prompt = "FILE", or from = "FIELD".'
        if step.field and step.field not in declared:
            yield f"from = '{step.field}' is not in inputs {list(declared)}.", "Name one of the inputs."
        if step.rule not in ELEMENT_RULES:
            yield f"there is no rule '{step.rule}'.", f"The rules are: {', '.join(ELEMENT_RULES)}."
        if step.name in protocol.inputs:
            yield (
                f"its name is that of the input '{step.name}', which every item brings along.",
                "Move the input to optional, or leave the step's prompt out and write from.",
            )
        if step.answer is not None and step.answer.reader != "list":
            yield f"its reader is '{step.answer.reader}'.", 'An extract step reads a list: reader = "list".'

    def _check_inputs(self, protocol: Protocol) -> None:
        answer, declared = protocol.answer, {*protocol.inputs, *protocol.optional}
        targets = targets_of(protocol)
        for name in targets:
            if name not in protocol.inputs:
                message = f"target '{name}' is not in inputs {list(protocol.inputs)}."
                self._problem("bad-answer", message, "Name one of the inputs.", steps=("answer", "target"))
        if len(targets) > 2 or len(set(targets)) < len(targets):
            message = f"target '{answer.target}' names {len(targets)} inputs."
            todo = "Name one, or two different ones that are each asked given the other."
            self._problem("bad-answer", message, todo, steps=("answer", "target"))
        for name in (*answer.evidence_in, *protocol.numbered):
            if name not in declared:
                message = f"'{name}' is in {'numbered' if name in protocol.numbered else 'evidence_in'}, but is no input."
                self._problem("bad-value", message, "Name one of the inputs.", key="inputs")
        if answer.evidence is not None and not answer.evidence_in and not declared & _QUOTED:
            message = "evidence is looked for in the input 'response' (or response_a, response_b), and there is none."
            todo = "Give the judged text that name, or take evidence out of [answer]."
            self._problem("evidence-unchecked", message, todo, steps=("answer", "evidence"))
        for name in protocol.at_least_one:
            if name not in protocol.optional:
                message = f"at_least_one names '{name}', which is not in optional."
                self._problem("bad-value", message, "Add it to optional.", key="at_least_one")
        for name in protocol.transcripts:
            if name not in declared:
                message = f"transcripts names '{name}', which is not in inputs or optional."
                self._problem("bad-value", message, "Correct the name.", key="transcripts")
        if protocol.transcript_tokens < LEAST_TRANSCRIPT_TOKENS:
            message = f"transcript_tokens = {protocol.transcript_tokens} leaves nothing of a conversation."
            todo = f"Give at least {LEAST_TRANSCRIPT_TOKENS}."
            self._problem("bad-value", message, todo, key="transcript_tokens")
        self._check_rule(protocol, declared)
        for name in sorted({*protocol.inputs} & {*protocol.optional}):
            message = f"'{name}' is in both inputs and optional."
            self._problem("bad-value", message, "Keep it in one of them.", key="optional")
        reserved = PROTOCOL_SLOTS | USER_SLOTS | (ELEMENT_SLOTS if protocol.pipeline else frozenset())
        for name in sorted(declared & reserved):
            message = f"'{name}' cannot be an input: this slot name is reserved."
            self._problem("reserved-name", message, "Give the input another name.", key="inputs")

    def _check_rule(self, protocol: Protocol, declared: set[str]) -> None:
        """A rule compares a response with a reference, and answers with the name of an end of the only scale."""
        if protocol.rule is None:
            return
        scales = list(protocol.criteria.values())
        is_named = (
            len(scales) == 1 and scales[0] is not None and len(scales[0].names) == len(scales[0].values())
        )
        if not {"response", "reference"} <= declared or not is_named or protocol.answer.reader == "json":
            message = (
                "rule needs the inputs response and reference, and one scale with a name for each value."
            )
            self._problem("bad-value", message, "Add them, or take rule out.", key="rule")

    def _check_slots(self, protocol: Protocol) -> None:
        known = {*protocol.inputs, *protocol.optional, "low", "high", *protocol.takes}
        if protocol.example_words is not None:
            known.add("examples")
        shown = {step.field for step in protocol.pipeline}
        checks = {step.prompt for step in protocol.pipeline if step.kind == "check"}
        for file, text in self._prompts(protocol):
            names = known | ELEMENT_SLOTS if file in checks else known
            for slot in dict.fromkeys(slots_of(text)):
                name = protocol.alias.get(slot, slot)
                shown.add(name)
                is_part = slot in protocol.alias and _is_part(protocol, name)
                is_system = name == "system_message" and file == "user.md" and bool(protocol.system_text)
                if name not in names and not is_part and not is_system:
                    where = line_of(text, text.index("{{" + slot + "}}"))
                    self._unknown_slot(file, where, slot, sorted(names - {"low", "high"}))
            shown |= self._spaced_slots(file, text, names)
        # From the settings as they stand: a mistake elsewhere in [answer] does not make the target unused.
        answer = self.settings.get("answer")
        target = answer.get("target") if isinstance(answer, dict) else None
        targets = [name.strip() for name in target.split(",")] if isinstance(target, str) else []
        for name in (*protocol.inputs, *protocol.optional, *protocol.takes):
            if name not in shown and name not in targets and not self._is_in_single_braces(protocol, name):
                message = f"'{name}' is declared, but no slot {{{{{name}}}}} shows it to the judge."
                self._problem("unused-input", message, "Show it in user.md, or take it out.", key="inputs")
        if protocol.example_words is not None and "examples" not in shown:
            message = "[examples] is declared, but no slot {{examples}} shows them."
            self._problem("unused-input", message, "Add {{examples}} on a separate line.", key="examples")

    def _prompts(self, protocol: Protocol) -> list[tuple[str, str]]:
        """The files that are sent, each with its text."""
        steps = [(step.prompt, step.text) for step in protocol.pipeline if step.prompt]
        return [*(steps or [("user.md", protocol.user_text)]), ("system.md", protocol.system_text)]

    def _unknown_slot(self, file: str, line: int, slot: str, known: Sequence[str]) -> None:
        near = difflib.get_close_matches(slot, known, 1)
        todo = f"Did you mean {{{{{near[0]}}}}}?" if near else "Fix the name or add it."
        message = f"placeholder {{{{{slot}}}}} is not in inputs {list(known)}."
        self.findings.append(Finding(str(self.folder / file), line, "unknown-placeholder", message, todo))

    def _spaced_slots(self, file: str, text: str, known: set[str]) -> set[str]:
        """The names in `{{ name }}`: with spaces it is text, not a slot, and surely a slip where the name is known."""
        slots = set()
        for name in known:
            for slip in (f"{{{{ {name} }}}}", f"{{{{{name} }}}}", f"{{{{ {name}}}}}"):
                if slip in text:
                    message = f"'{slip}' is sent as it stands: a placeholder has no spaces inside."
                    self._slip("spaced-placeholder", file, line_of(text, text.index(slip)), message, name)
                    slots.add(name)
        return slots

    def _is_in_single_braces(self, protocol: Protocol, name: str) -> bool:
        """Whether an input that no slot shows stands in single braces, which are text; then that is the problem."""
        written = [name, *(slot for slot, field in protocol.alias.items() if field == name)]
        names = "|".join(map(re.escape, written))
        for file, text in self._prompts(protocol):
            if match := re.search(rf"(?<!\{{)\{{[ \t]*({names})[ \t]*\}}(?!\}})", text):
                message = f"'{match[0]}' is sent as it stands: a placeholder has double braces."
                self._slip("single-braces", file, line_of(text, match.start()), message, match[1])
                return True
        return False

    def _slip(self, name: str, file: str, line: int, message: str, slot: str) -> None:
        todo = f"Write {{{{{slot}}}}}."
        self.findings.append(Finding(str(self.folder / file), line, name, message, todo))

    def _mistaken(self, mistakes: Iterable[Mistake]) -> None:
        file = str(self.folder / "protocol.toml")
        self.findings += [Finding(file, line, name, message, todo) for line, message, todo, name in mistakes]

    def _problem(
        self,
        name: str,
        message: str,
        todo: str,
        file: str = "protocol.toml",
        *,
        key: str | None = None,
        steps: Steps = (),
    ) -> None:
        line = line_of_key(self.toml_text, key) if key else line_of_steps(self.toml_text, steps)
        self.findings.append(Finding(str(self.folder / file), line, name, message, todo))


def _check_problems(protocol: Protocol, step: Step) -> Iterator[tuple[str, str]]:
    extracts = [other.name for other in protocol.pipeline if other.kind == "extract"]
    slots = slots_of(step.text)
    if step.elements and step.elements not in extracts:
        yield (
            f"elements = '{step.elements}' is no extract step.",
            f"The extract steps are: {', '.join(extracts)}.",
        )
    if not step.elements and len(extracts) > 1:
        yield "it does not say whose elements it checks.", f"Set elements to one of: {', '.join(extracts)}."
    if not step.prompt:
        yield "it has no prompt.", 'Set prompt = "FILE".'
    elif step.per_call == 1 and "element" not in slots:
        yield "its prompt does not show the element.", "Add {{element}} on a separate line."
    elif step.per_call != 1 and "elements" not in slots:
        yield "its prompt does not show the elements.", "Add {{elements}} on a separate line."
    if step.per_call < 0:
        yield f"per_call = {step.per_call}.", 'Give a number of elements, or "all".'
    if step.answer is None:
        yield "it does not say how its reply is read.", "Add [steps.answer]."
    elif step.answer.reader in ("list", "likelihood"):
        yield f"its reader is '{step.answer.reader}'.", "A check needs a score or an option."
    elif step.per_call != 1 and b"{number}" not in msgspec.json.encode(step.answer):
        todo = 'Write {number} into the paths or labels: score = "{number}.verdict".'
        yield "it checks several elements in one call, but reads one answer.", todo


def _combine_problems(protocol: Protocol, step: Step) -> Iterator[tuple[str, str]]:
    for key, name in (("criterion", step.criterion), ("of", step.of)):
        if name and name not in protocol.criteria:
            yield f"{key} = '{name}' is no criterion.", f"The criteria are: {', '.join(protocol.criteria)}."
            return
    if not step.criterion and len(protocol.criteria) > 1:
        yield "it does not say which criterion it scores.", "Set criterion."
    if not protocol.criteria:
        return
    scale = protocol.criteria[criterion_of(protocol, step)]
    if scale is None or scale.limits is None or scale.direction == 0:
        yield "its criterion needs a scale with both ends and a best one.", "Set low, high and best."
    elif step.how in ("share", "precision") and scale.limits != (0, 1):
        todo = 'Use scale = { low = 0, high = 1, best = 1 }, or how = "mean".'
        yield f"how = '{step.how}' is a share, but the scale is {scale.low:g} to {scale.high:g}.", todo
    if step.prompt or step.answer is not None:
        yield "it asks nothing, so it needs neither a prompt nor an answer.", "Remove them."


_LEVEL = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,6})?")


def _is_part(protocol: Protocol, name: str) -> bool:
    """Whether a slot stands for a part of the rubric, a criterion or a level, or for a part of the one example."""
    whole, _, part = name.partition(".")
    if whole == "rubric":
        return part == "criterion" or _LEVEL.fullmatch(part) is not None
    return whole == "example" and part in ("judgment", *protocol.inputs)

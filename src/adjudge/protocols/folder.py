"""Reading a protocol folder: settings and texts become a `Protocol`, or a list of all problems.

This file knows the format of `protocol.toml` and nothing of what a good prompt is (that is `check.py`). It
never stops at the first problem.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from ..data import BrokenFileError, read_small
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
from ..render import slots_of
from ..toml_text import parse_toml
from .answer_settings import check_answer, check_scores
from .findings import Finding
from .folder_problems import FolderProblems
from .input_settings import check_input_settings, check_slots
from .setting_lines import Steps, line_of_key
from .setting_mistakes import Mistake, key_meant, mistakes_in, toml_mistake
from .step_settings import check_steps

T = TypeVar("T")
_KEYS = (
    "title", "task", "language", "source", "inputs", "optional", "at_least_one", "takes", "refuses", "fence",
    "not_given", "criteria", "examples", "answer", "alias", "accept", "imported", "transcripts",
    "transcript_tokens",
    "rule",
    "numbered", "steps",
)  # fmt: skip
_REQUIRED = ("title", "task", "language", "source", "inputs", "criteria", "answer")
_LISTS = ("criteria", "accept", "steps")
"""Keys with a table for each entry."""

_SLOT_KEYS = {"inputs", "optional", "at_least_one", "takes", "alias", "examples"}
"""Keys that say which slots a text may have."""


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


def protocol_text(path: Path) -> str:
    """A text of a protocol as it is sent: without its one final newline, nothing else stripped."""
    text = read_small(path).decode("utf-8")
    return text[:-1] if text.endswith("\n") else text


def read_folder(folder: Path, protocol_id: str) -> tuple[Protocol | None, list[Finding]]:
    """The protocol of a folder and its problems; no protocol where it cannot be used at all."""
    reader = _FolderReader(folder, protocol_id)
    return reader.read(), reader.problems.findings


class _FolderReader:
    def __init__(self, folder: Path, protocol_id: str) -> None:
        self.folder = folder
        self.id = protocol_id
        self.problems = FolderProblems(folder)
        self.settings: dict[str, Any] = {}
        self.pipeline: tuple[Step, ...] = ()

    def read(self) -> Protocol | None:
        texts = self._texts()
        if texts is None or not self._load_toml():
            return None
        self._check_keys()
        protocol = self._protocol(*texts)
        if "steps" in self.settings:
            check_steps(self.problems, protocol, has_answer="answer" in self.settings)
        elif "answer" not in self.problems.broken:
            check_answer(self.problems, protocol, ("answer",))
            if "criteria" not in self.problems.broken:
                check_scores(self.problems, protocol)
        if not self.problems.broken & _SLOT_KEYS:
            check_input_settings(self.problems, protocol)
            if "user.md" not in self.problems.broken and "steps" not in self.problems.broken:
                check_slots(self.problems, protocol, self.settings.get("answer"))
        return None if self.problems.findings else protocol

    # -- files

    def _texts(self) -> tuple[str, str] | None:
        texts = {}
        for name, required in (("user.md", True), ("system.md", False)):
            path = self.folder / name
            try:
                texts[name] = protocol_text(path)
            except FileNotFoundError:
                texts[name] = ""
                if required and not self._has_steps():
                    self.problems.broken.add(name)
                    self.problems.add(
                        "missing-file", f"{name} is missing.", "Write the text that the judge is sent.", name
                    )
            except UnicodeDecodeError as error:
                self.problems.add(
                    "unreadable", f"{name} cannot be read as UTF-8 text ({error}).", "Save it as UTF-8.", name
                )
                return None
            except BrokenFileError as broken:
                self.problems.add("unreadable", f"{name}: {broken.problem}", "", name)
                return None
        return texts["system.md"], texts["user.md"]

    def _has_steps(self) -> bool:
        """Whether the protocol has steps, each with its own prompt; the file is read and checked later."""
        try:
            return "steps" in parse_toml(read_small(self.folder / "protocol.toml").decode("utf-8"))
        except (OSError, ValueError, RecursionError, BrokenFileError):
            return False

    def _load_toml(self) -> bool:
        path = self.folder / "protocol.toml"
        try:
            self.problems.toml_text = read_small(path).decode("utf-8")
            self.settings = parse_toml(self.problems.toml_text)
        except FileNotFoundError:
            todo = "Write one, or start from a commented one: adjudge protocols new DIR."
            self.problems.add("missing-file", "protocol.toml is missing.", todo)
            return False
        except UnicodeDecodeError as error:
            message = f"protocol.toml cannot be read as UTF-8 text ({error})."
            self.problems.add("unreadable", message, "Save it as UTF-8.")
            return False
        except BrokenFileError as broken:
            self.problems.add("unreadable", f"protocol.toml: {broken.problem}", "")
            return False
        except (
            ValueError,
            RecursionError,
        ) as error:  # ValueError: also of int(), which refuses thousands of digits
            self.problems.add_mistakes(
                [toml_mistake("protocol.toml", self.problems.toml_text, error, _LISTS)]
            )
            return False
        return True

    # -- settings

    def _check_keys(self) -> None:
        for key in self.settings:
            if key not in _KEYS:
                self.problems.add("unknown-key", f"unknown key '{key}'.", key_meant(key, _KEYS), key=key)
        for key in _REQUIRED:
            if key == "answer" and "steps" in self.settings:
                continue
            if key not in self.settings:
                self.problems.broken.add(key)
                self.problems.add("missing-key", f"key '{key}' is missing.", f"Add {key} = …")

    def _convert(self, key: str, kind: type[T] | Any, default: T) -> T:
        """One setting as the type that it must have; problems and the default otherwise."""
        if key not in self.settings:
            return default
        try:
            return msgspec.convert(self.settings[key], kind, strict=True)
        except msgspec.ValidationError as error:
            self.problems.broken.add(key)
            mistakes = mistakes_in(self.problems.toml_text, self.settings[key], kind, key)
            line = line_of_key(self.problems.toml_text, key)
            self.problems.add_mistakes(mistakes or [Mistake(line, f"{key}: {error}.", "Correct the value.")])
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
            self.problems.add(
                "bad-step", message, 'Name a file of the folder: prompt = "claims.md".', steps=where
            )
            return ""
        try:
            return protocol_text(self.folder / step.prompt)
        except FileNotFoundError:
            message = f"{step.prompt} is missing: the prompt of step '{step.name}'."
            self.problems.add("missing-file", message, "Write the text that the judge is sent.", steps=where)
        except (UnicodeDecodeError, BrokenFileError, OSError) as error:
            self.problems.add(
                "unreadable", f"{step.prompt} cannot be read ({error}).", "Save it as UTF-8.", steps=where
            )
        self.problems.broken.add("steps")
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
                self.problems.add("duplicate-criterion", message, "Keep one.", steps=("criteria", number))
            criteria[settings.name] = self._scale(settings, ("criteria", number, "scale"))
        if self.settings.get("criteria") == []:
            self.problems.add(
                "no-criteria", "no criterion is declared.", "Add [[criteria]] with a name and a scale."
            )
        return criteria

    def _scale(self, criterion: _CriterionSettings, steps: Steps) -> Scale | None:
        declared, name = criterion.scale, criterion.name
        if declared is None:
            if self.settings.get("task") == "score":
                todo = "Add scale = { low, high, best }."
                self.problems.add("no-scale", f"criterion '{name}' has no scale.", todo, steps=steps)
            return None
        levels, names = self._levels(declared.levels, name, steps), self._levels(declared.names, name, steps)
        self._check_best(declared, name, steps)
        if declared.low is not None and declared.high is not None and not declared.low < declared.high:
            message, todo = f"criterion '{name}' has low >= high.", "Write the smaller value as low."
            self.problems.add("bad-scale", message, todo, steps=steps)
            return None
        if declared.step is not None and declared.step <= 0:
            message, todo = f"criterion '{name}' has step <= 0.", "Leave step out for any value."
            self.problems.add("bad-scale", message, todo, steps=steps)
            return None
        best = declared.best if declared.best is not None else "unknown"
        scale = Scale(declared.low, declared.high, best, declared.step, levels, names)  # type: ignore[arg-type]
        for level in {*levels, *names}:
            if scale.status_of(level) != "ok":
                message = f"criterion '{name}' describes level {level:g}, which is not on its scale."
                self.problems.add("bad-scale", message, "Correct the level or the scale.", steps=steps)
        return scale

    def _check_best(self, declared: _ScaleSettings, name: str, steps: Steps) -> None:
        best, ends = declared.best, (declared.low, declared.high)
        if best is None:
            message = f"criterion '{name}' needs scale = {{ low, high, best }}."
            todo = "'best' says which end is good; it is never assumed."
            self.problems.add("scale-without-best", message, todo, steps=steps)
        elif best == "unknown":
            if not self.settings.get("imported"):
                message = f"criterion '{name}' has best = \"unknown\"."
                todo = "Say which end is good; only an imported original may leave it open."
                self.problems.add("scale-without-best", message, todo, steps=steps)
        elif best == "none":
            n_classes = len(declared.names) or 2 * ("rubric" in self.settings.get("takes", ()))
            if ends != (0, n_classes - 1) or declared.step != 1 or n_classes < 2:
                message = (
                    f"criterion '{name}' has best = \"none\", so its values are classes without an order."
                )
                todo = (
                    "Give low = 0, step = 1, high = the number of classes less one, and a name for each in"
                    " names."
                )
                self.problems.add("bad-scale", message, todo, steps=steps)
        elif ends == (None, None):
            if best not in ("high", "low"):
                message = f"criterion '{name}' is unbounded, and best = {best!r} is no end of it."
                self.problems.add("bad-scale", message, 'Write best = "high" or best = "low".', steps=steps)
        elif best not in ends:
            message = f"criterion '{name}' has best = {best!r}, which is neither low nor high."
            self.problems.add("bad-scale", message, "Name one of the two ends.", steps=steps)

    def _levels(self, texts: dict[str, str], criterion: str, steps: Steps) -> dict[float, str]:
        levels = {}
        for level, text in texts.items():
            try:
                levels[float(level)] = text
            except ValueError:
                message = f"criterion '{criterion}' has a level '{level}', which is not a number."
                self.problems.add("bad-scale", message, 'Write levels as 1 = "…".', steps=steps)
        return levels

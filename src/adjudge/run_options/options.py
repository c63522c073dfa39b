"""The options of a run, each declared once.

A field of `RunOptions` is at the same time a flag of `adjudge run`, a keyword of `adjudge.run` and of the
pytest fixture `judge`, and, where it changes the calls, a part of the run's manifest. To add an option, add a
field here and the code that uses it. Light to import: the command line reads it to print its help.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct, field, structs

from ..data.traces.read import FORMATS
from ..records import Estimator, Rubric

OrderPolicy = Literal["both", "random", "given"]


EmptyPolicy = Literal["judge", "fail"]


TRACE_FORMATS = f"auto, {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"


Effect = Literal["settings", "content", "execution"]
"""What an option changes: how judges are asked (recorded as `settings` in the manifest); the protocol or the
items (whose hashes are in the manifest); or only how the run is carried out (not in the manifest).
"""


Subject = Literal["What is judged", "The judge's answer", "Cost, speed and limits", "The run and its output"]
"""What an option is about: its heading in the help."""


class OptionDeclaration(Struct, frozen=True):
    """What a field's type and default do not say."""

    effect: Effect
    metavar: str
    """the placeholder of the value in the help; empty for a switch"""
    help: str
    at_least: float | None = None
    more_than: float | None = None
    is_repeatable: bool = False
    """whether the flag may be given several times"""
    is_for_tests: bool = True
    """whether the pytest fixture takes it as a keyword; others are free to be fields of an item"""
    subject: Subject = "The run and its output"


OF_A_MODEL = ("temperature", "max_tokens", "reasoning_effort", "thinking_tokens")
"""Options that a model may have for itself, in place of the run's."""


class JudgeSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way of judging in a run: a protocol and what is given to it."""

    protocol: str = ""
    """a built-in id or a folder; empty: geval/score"""
    rubric: str = ""
    labels: dict[str, str] = {}
    """the labels of classify with their descriptions, in place of a rubric file"""
    criterion: str = ""
    name: str = ""
    """the criterion's name in reports; by default the rubric's, or one made from the text of the criterion"""
    steps: str | tuple[str, ...] = ()
    """generate, a file with one step a line, or the steps"""
    examples: str = ""


def default_store() -> str:
    """The store where none is named: the variable ADJUDGE_STORE, or `adjudge.db` in this folder."""
    return os.environ.get("ADJUDGE_STORE") or "adjudge.db"


class RunOptions(Struct, frozen=True, kw_only=True):
    """How a run is made. The order of the fields is the order of the flags in the help."""

    samples: Annotated[
        int,
        OptionDeclaration(
            "settings", "N", "Draw N samples per item.", at_least=1, subject="The judge's answer"
        ),
    ] = 1
    estimator: Annotated[
        Estimator | None,
        OptionDeclaration(
            "settings",
            "E",
            "parsed, samples, probability, likelihood or decision.",
            subject="The judge's answer",
        ),
    ] = None
    """none: `parsed` for one sample, `samples` for several, `likelihood` where the protocol asks for no reply
    """
    rubric: Annotated[
        Rubric | str | Path | Sequence[Rubric | str | Path] | None,
        OptionDeclaration(
            "content",
            "FILE",
            "Your rubric (TOML or JSON); repeatable.",
            is_repeatable=True,
            subject="What is judged",
        ),
    ] = None
    together: Annotated[
        bool,
        OptionDeclaration(
            "content",
            "",
            "Ask for all criteria and rubrics of an item in one call: cheaper, and each score may depend on "
            "the others.",
            is_for_tests=False,
            subject="What is judged",
        ),
    ] = False
    examples: Annotated[
        str | Path | None,
        OptionDeclaration(
            "content", "FILE", "Judged examples to show the judge (JSONL).", subject="What is judged"
        ),
    ] = None
    criterion: Annotated[
        str | Sequence[str] | Mapping[str, str],
        OptionDeclaration(
            "content",
            "[NAME=]TEXT",
            'A criterion in your own words: "Is the answer polite?" or polite="Is the answer '
            'polite?"; repeatable.',
            is_repeatable=True,
            subject="What is judged",
        ),
    ] = ""
    steps: Annotated[
        Sequence[str] | Literal["generate"],
        OptionDeclaration(
            "settings",
            "generate|FILE",
            "Evaluation steps: generated by the judge once per run, or one per line in FILE.",
            subject="What is judged",
        ),
    ] = ()
    step: Annotated[
        float | None,
        OptionDeclaration(
            "content",
            "X",
            "Accept scores in steps of X, such as 0.5, where the protocol has a larger step. "
            "Default: the protocol's.",
            subject="What is judged",
        ),
    ] = None
    map: Annotated[
        Mapping[str, str],
        OptionDeclaration(
            "content",
            "INPUT=FIELD",
            "Take an input from another field; repeatable.",
            is_repeatable=True,
            subject="What is judged",
        ),
    ] = {}
    traces: Annotated[
        str | None,
        OptionDeclaration(
            "content",
            "FORMAT",
            f"The items are traces, or results of another tool: {TRACE_FORMATS}.",
            is_for_tests=False,
            subject="What is judged",
        ),
    ] = None
    transcript_tokens: Annotated[
        int | None,
        OptionDeclaration(
            "content",
            "N",
            "Show about N tokens of a conversation at most; a gap says what is left out. Default: "
            "the protocol's, 32000.",
            at_least=100,
            subject="What is judged",
        ),
    ] = None
    map_scores: Annotated[
        str | Path | None,
        OptionDeclaration(
            "content",
            "FILE",
            "Map the scores with a file of adjudge calibrate; part of the judge.",
            subject="The judge's answer",
        ),
    ] = None
    run: Annotated[
        str | None,
        OptionDeclaration(
            "execution", "NAME", "The name of the run; an existing run is resumed.", is_for_tests=False
        ),
    ] = None
    replace: Annotated[
        bool,
        OptionDeclaration(
            "execution",
            "",
            "Replace an existing run of this name that has other items or settings; unchanged "
            "replies are reused.",
            is_for_tests=False,
        ),
    ] = False
    limit: Annotated[
        int | None,
        OptionDeclaration(
            "settings",
            "N",
            "Judge only the first N items.",
            is_for_tests=False,
            at_least=1,
            subject="What is judged",
        ),
    ] = None
    order: Annotated[
        OrderPolicy,
        OptionDeclaration(
            "settings",
            "both|random|given",
            "The order in which the responses of a pair are shown.",
            subject="What is judged",
        ),
    ] = "both"
    concurrency: Annotated[
        int,
        OptionDeclaration(
            "execution",
            "N",
            "At most N concurrent calls per host. A run starts with a few, and sends more while the "
            "host answers.",
            at_least=1,
            subject="Cost, speed and limits",
        ),
    ] = 64
    timeout: Annotated[
        float | None,
        OptionDeclaration(
            "execution",
            "SECONDS",
            "How long the host may take for one reply. Default: 120 seconds.",
            more_than=0,
            subject="Cost, speed and limits",
        ),
    ] = None
    rpm: Annotated[
        float | None,
        OptionDeclaration(
            "execution", "N", "At most N calls per minute.", more_than=0, subject="Cost, speed and limits"
        ),
    ] = None
    tpm: Annotated[
        float | None,
        OptionDeclaration(
            "execution", "N", "At most N tokens per minute.", more_than=0, subject="Cost, speed and limits"
        ),
    ] = None
    budget: Annotated[
        float | None,
        OptionDeclaration(
            "execution",
            "USD",
            "Stop when this command has spent so much; what the run spent before does not count.",
            at_least=0,
            subject="Cost, speed and limits",
        ),
    ] = None
    price: Annotated[
        tuple[float, float] | Mapping[str, tuple[float, float]] | None,
        OptionDeclaration(
            "execution",
            "[MODEL=]IN,OUT",
            "USD per million input and output tokens; with several models MODEL=IN,OUT, repeatable.",
            is_repeatable=True,
            subject="Cost, speed and limits",
        ),
    ] = None
    key_env: Annotated[
        str | Mapping[str, str] | None,
        OptionDeclaration(
            "execution",
            "[MODEL=]VAR",
            "The environment variable with the API key; with several models MODEL=VAR, repeatable.",
            is_repeatable=True,
            subject="Cost, speed and limits",
        ),
    ] = None
    temperature: Annotated[
        float | None,
        OptionDeclaration(
            "settings",
            "T",
            "Sampling temperature. Default: 0, or 1 with several samples.",
            at_least=0,
            subject="The judge's answer",
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        OptionDeclaration(
            "settings",
            "N",
            "Maximum tokens of every reply. Default: the model's.",
            at_least=1,
            subject="The judge's answer",
        ),
    ] = None
    more_room: Annotated[
        bool,
        OptionDeclaration(
            "settings",
            "",
            "Ask once more, with four times the tokens (at least 4,096), where a reply is cut off "
            "before its answer.",
            subject="The judge's answer",
        ),
    ] = False
    reasoning_effort: Annotated[
        str | None,
        OptionDeclaration(
            "settings",
            "EFFORT",
            "How much a reasoning model thinks: low, medium, high, …",
            subject="The judge's answer",
        ),
    ] = None
    thinking_tokens: Annotated[
        int | None,
        OptionDeclaration(
            "settings",
            "N",
            "The most tokens a model may think, for models that accept a number.",
            at_least=1,
            subject="The judge's answer",
        ),
    ] = None
    seed: Annotated[
        int | None,
        OptionDeclaration("settings", "N", "Seed for models that accept one.", subject="The judge's answer"),
    ] = None
    reask: Annotated[
        int,
        OptionDeclaration(
            "settings",
            "N",
            "Ask up to N follow-up questions, at most 3, where a reply has no readable score.",
            at_least=0,
            subject="The judge's answer",
        ),
    ] = 1
    patience: Annotated[
        float,
        OptionDeclaration(
            "execution",
            "MINUTES",
            "How long to wait for a host that is down or limits the rate before the run stops; the "
            "same command resumes it.",
            at_least=0,
            subject="Cost, speed and limits",
        ),
    ] = 10.0
    batch: Annotated[
        bool,
        OptionDeclaration(
            "execution",
            "",
            "Ask through the provider's batch API: half the price, answers within 24 hours; the same "
            "command collects them.",
            is_for_tests=False,
            subject="Cost, speed and limits",
        ),
    ] = False
    wait: Annotated[
        bool,
        OptionDeclaration(
            "execution",
            "",
            "Wait until the batches of the run are answered.",
            is_for_tests=False,
            subject="Cost, speed and limits",
        ),
    ] = False
    skip_bad: Annotated[
        bool,
        OptionDeclaration(
            "content",
            "",
            "Skip invalid lines, list them, and count them as failures of their systems.",
            is_for_tests=False,
            subject="What is judged",
        ),
    ] = False
    empty: Annotated[
        EmptyPolicy,
        OptionDeclaration(
            "settings",
            "judge|fail",
            "What an empty response is: judge shows it to the judge as (empty), fail counts it as a failure.",
            subject="What is judged",
        ),
    ] = "judge"
    shard: Annotated[
        str | None,
        OptionDeclaration(
            "execution",
            "K/N",
            "Judge part K of N, from 1; adjudge runs merge unites the stores of all parts.",
            is_for_tests=False,
            subject="Cost, speed and limits",
        ),
    ] = None
    ray: Annotated[
        str | None,
        OptionDeclaration(
            "execution",
            "[ADDRESS]",
            "Ask local models in Ray actors: on this machine, or on the cluster at HOST:PORT, "
            "ray://HOST:PORT or auto.",
            is_for_tests=False,
            subject="Cost, speed and limits",
        ),
    ] = None
    """local: Ray is started on this machine, for this run"""
    replicas: Annotated[
        int | None,
        OptionDeclaration(
            "execution",
            "N",
            "The number of Ray actors. Default: one per CPU of this machine.",
            at_least=1,
            is_for_tests=False,
            subject="Cost, speed and limits",
        ),
    ] = None
    store: Annotated[
        str | Path,
        OptionDeclaration(
            "execution",
            "FILE",
            "The store: one file with all runs.",
            is_for_tests=False,
        ),
    ] = field(default_factory=default_store)


class Declared(NamedTuple):
    """One option as declared: its type without `None`, its default and the rest."""

    type: Any
    default: Any
    option: OptionDeclaration

    @property
    def choices(self) -> tuple[str, ...]:
        """The allowed values, where the type lists them."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()


@cache
def declared_options() -> dict[str, Declared]:
    """All options by name, in the order of the help."""
    declared = {}
    for info in structs.fields(RunOptions):
        annotated, option = get_args(info.type)
        default = info.default if info.default_factory is NODEFAULT else info.default_factory()
        declared[info.name] = Declared(_without_none(annotated), default, option)
    return declared


_NAMED_CRITERION = re.compile(r"([^\W\d][\w.-]{0,39})=(?=\s*\S)")


def named_criterion(text: str) -> tuple[str, str]:
    """The name and the text of a criterion, written NAME=TEXT or TEXT; the name is empty where there is
    none."""
    match = _NAMED_CRITERION.match(text)
    return (match[1], text[match.end() :].strip()) if match else ("", text)


def flag_of(name: str) -> str:
    """The flag of an option on the command line."""
    return f"--{name.replace('_', '-')}"


def _without_none(annotation: Any) -> Any:
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    members = [member for member in get_args(annotation) if member is not type(None)]
    return Union[tuple(members)]  # noqa: UP007  the members are known only here

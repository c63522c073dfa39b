"""The options of a run, each declared once.

A field of `RunOptions` is at the same time a flag of `adjudge run`, a keyword of `adjudge.run` and of the pytest fixture
`judge`, and, where it changes what a judge is asked, a part of the run's manifest. To add an option, add a field here and
the code that uses it. Light to import: the command line reads it to print its help.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from msgspec import NODEFAULT, Struct, structs

from .errors import DataError
from .records import Estimator, Rubric

OrderPolicy = Literal["both", "random", "given"]

Effect = Literal["settings", "content", "execution"]
"""What an option changes: how judges are asked (recorded as `settings` in the manifest); the protocol or the items (whose
hashes are in the manifest); or only how the run is carried out (not in the manifest)."""


class Option(Struct, frozen=True):
    """What a field's type and default do not say."""

    effect: Effect
    metavar: str
    """the placeholder of the value in the help; empty for a switch"""
    help: str
    at_least: int | None = None
    is_repeatable: bool = False
    """whether the flag may be given several times"""
    is_for_tests: bool = True
    """whether the pytest fixture takes it as a keyword; others are free to be fields of an item"""


class JudgeSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way of judging in a run: a protocol and what is given to it."""

    protocol: str = ""
    """a built-in id or a folder; empty: geval/score"""
    rubric: str = ""
    criterion: str = ""
    name: str = ""
    """the criterion's name in reports; by default the rubric's, or one made from the text of the criterion"""
    steps: str | tuple[str, ...] = ()
    """generate, a file with one step a line, or the steps"""
    examples: str = ""


class RunOptions(Struct, frozen=True, kw_only=True):
    """How a run is made. The order of the fields is the order of the flags in the help."""

    samples: Annotated[int, Option("settings", "N", "Ask N times for each item.")] = 1
    estimator: Annotated[
        Estimator | None, Option("settings", "E", "parsed, samples, probability or likelihood.")
    ] = None
    """none: `parsed` for one sample, `samples` for several, `likelihood` where the protocol asks for no reply"""
    rubric: Annotated[
        Rubric | str | Path | Sequence[Rubric | str | Path] | None,
        Option("content", "FILE", "A rubric of your own (TOML or JSON); repeatable.", is_repeatable=True),
    ] = None
    examples: Annotated[
        str | Path | None, Option("content", "FILE", "Judged examples to show the judge (JSONL).")
    ] = None
    criterion: Annotated[
        str | Sequence[str] | Mapping[str, str],
        Option(
            "content",
            "[NAME=]TEXT",
            'Judge by a criterion in words: "Is the answer polite?" or polite="Is the answer polite?"; repeatable.',
            is_repeatable=True,
        ),
    ] = ""
    steps: Annotated[
        Sequence[str] | Literal["generate"],
        Option(
            "settings",
            "generate|FILE",
            "Evaluation steps: written by the judge once per run, or one a line in FILE.",
        ),
    ] = ()
    map: Annotated[
        Mapping[str, str],
        Option("content", "INPUT=FIELD", "Take an input from another field; repeatable.", is_repeatable=True),
    ] = {}
    run: Annotated[
        str | None,
        Option("execution", "NAME", "Name the run; the same name goes on with it.", is_for_tests=False),
    ] = None
    limit: Annotated[
        int | None,
        Option("settings", "N", "Judge only the first N items.", is_for_tests=False),
    ] = None
    order: Annotated[
        OrderPolicy,
        Option("settings", "both|random|given", "In which order the responses of a pair are shown."),
    ] = "both"
    concurrency: Annotated[
        int, Option("execution", "N", "At most N calls in flight at one host.", at_least=1)
    ] = 64
    rpm: Annotated[float | None, Option("execution", "N", "At most N calls a minute.")] = None
    tpm: Annotated[float | None, Option("execution", "N", "At most N tokens a minute.")] = None
    budget: Annotated[
        float | None,
        Option(
            "execution",
            "USD",
            "Start no further call once this start of the run has spent so much; what earlier starts spent does not count.",
        ),
    ] = None
    price: Annotated[
        tuple[float, float] | Mapping[str, tuple[float, float]] | None,
        Option(
            "execution",
            "[MODEL=]IN,OUT",
            "USD per million tokens in and out; with several models MODEL=IN,OUT, repeatable.",
            is_repeatable=True,
        ),
    ] = None
    key_env: Annotated[
        str | Mapping[str, str] | None,
        Option(
            "execution",
            "[MODEL=]VAR",
            "The environment variable that holds the key; with several models MODEL=VAR, repeatable.",
            is_repeatable=True,
        ),
    ] = None
    temperature: Annotated[
        float | None, Option("settings", "T", "Default: 0, or 1 with several samples.")
    ] = None
    max_tokens: Annotated[
        int | None, Option("settings", "N", "The longest reply. Default: the model's own.")
    ] = None
    reasoning_effort: Annotated[
        str | None,
        Option("settings", "EFFORT", "How much a reasoning model thinks: low, medium, high, …"),
    ] = None
    thinking_tokens: Annotated[
        int | None,
        Option(
            "settings", "N", "The most tokens a model may think, for models that take a number.", at_least=1
        ),
    ] = None
    seed: Annotated[int | None, Option("settings", "N", "Passed on to models that take a seed.")] = None
    reask: Annotated[
        bool, Option("settings", "", "Ask once more for the score alone where a reply holds none.")
    ] = True
    skip_bad: Annotated[
        bool, Option("content", "", "Leave bad lines out, and list them.", is_for_tests=False)
    ] = False
    store: Annotated[
        str | Path,
        Option("execution", "FILE", "The store: one file that holds all runs.", is_for_tests=False),
    ] = "adjudge.db"


class Declared(NamedTuple):
    """One option as declared: its type without `None`, its default and the rest."""

    type: Any
    default: Any
    option: Option

    @property
    def choices(self) -> tuple[str, ...]:
        """The values that there are, where the type lists them."""
        return get_args(self.type) if get_origin(self.type) is Literal else ()


@cache
def declared_options() -> dict[str, Declared]:
    """All options by name, in the order of the help."""
    declared = {}
    for field in structs.fields(RunOptions):
        annotated, option = get_args(field.type)
        default = field.default if field.default_factory is NODEFAULT else field.default_factory()
        declared[field.name] = Declared(_without_none(annotated), default, option)
    return declared


_NAMED_CRITERION = re.compile(r"([^\W\d][\w.-]{0,39})=(?=\s*\S)")


def named_criterion(text: str) -> tuple[str, str]:
    """The name and the text of a criterion, written NAME=TEXT or TEXT; the name is empty where there is none."""
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


def check_options(options: RunOptions) -> None:
    """Raise where an option has a value that makes no sense, or two of them contradict each other."""
    if options.samples < 1:
        raise DataError(f"--samples {options.samples}: ask at least once.")
    if options.limit is not None and options.limit < 1:
        raise DataError(f"--limit {options.limit}: take at least one item.")
    for name, declared in declared_options().items():
        value = getattr(options, name)
        if declared.choices and value is not None and value not in declared.choices:
            raise DataError(f"{flag_of(name)} {value}: choose {', '.join(declared.choices)}.")
    if options.estimator == "parsed" and options.samples > 1:
        raise DataError("--estimator parsed reads one reply. Leave it out, or ask with --samples 1.")
    if options.estimator == "samples" and options.samples == 1:
        raise DataError("--estimator samples is the mean of several replies. Say how many with --samples N.")


_ALWAYS_RECORDED = (
    "samples", "estimator", "order", "temperature", "max_tokens", "seed", "reask", "steps", "limit",
)  # fmt: skip
"""The settings in every manifest. Never add to it: a newer option is recorded only where it differs from its default, so
that runs from before the option existed keep their identity and can be resumed."""


def recorded_settings(options: RunOptions) -> dict[str, Any]:
    """The `settings` of a manifest."""
    settings = {name: getattr(options, name) for name in _ALWAYS_RECORDED}
    # Steps that the user wrote are part of the protocol's digest.
    settings["steps"] = "generate" if options.steps == "generate" else "given"
    for name, (_, default, option) in declared_options().items():
        if option.effect == "settings" and name not in settings and getattr(options, name) != default:
            settings[name] = getattr(options, name)
    return settings


def options_from(settings: Mapping[str, Any]) -> RunOptions:
    """The options of a run by the `settings` of its manifest; all others have their default."""
    known = {name: value for name, value in settings.items() if name in declared_options()}
    if known.get("steps") == "given":
        del known["steps"]
    return RunOptions(**known)

"""How a prompt wants the answer: the reader and its settings, the verdicts, the names of the two
responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...asked.choices import offered_choices
from ...asked.format import asked_format
from ...asked.verdicts import OfferedVerdicts, good_end, verdicts_behind, verdicts_in
from ..found_prompt import Facts
from .scale import ScaleGuess, guess_scale, scale_of_examples


class AnswerGuess(Struct, frozen=True):
    """A reader and its settings; the criteria that a JSON format names; verdicts, choices, or a range of
    numbers."""

    reader: str
    why: str
    settings: Mapping[str, str | Sequence[str] | Mapping[str, str]] = {}
    criteria: tuple[str, ...] = ()
    verdicts: OfferedVerdicts | None = None
    choices: Mapping[str, str] | None = None
    scale: ScaleGuess | None = None


def guess_answer(text: str, facts: Facts, *, is_compare: bool) -> AnswerGuess:
    """How the prompt wants the answer written: what the file says, then the clearest sign in the words."""
    asked = asked_format(text, is_compare=is_compare)
    reader, why = "free", "no format of the reply was recognised"
    settings: dict[str, Any] = {}
    criteria: tuple[str, ...] = ()
    example: Any = None
    if asked is not None:
        reader, why, settings = asked.reader, asked.why, dict(asked.settings)
        criteria = tuple(settings.pop("criteria", ()))
        example = _at(asked.example, asked.key)
    if is_compare:
        choices = settings.pop("choices", None) or offered_choices(text, example)
        scale = guess_scale(text) if "subjects" in settings or "score" in settings else None
        if "subjects" in settings:
            choices = None
        return AnswerGuess(reader, why, settings, criteria, None, choices, scale)
    scale = guess_scale(text)
    if scale is None and asked is not None and asked.reader == "json":
        scale = scale_of_examples(text, asked.key)
    verdicts = _stated(facts)
    if verdicts is None and not criteria:
        said = verdicts_in("", example) if isinstance(example, str | bool) else None
        if said is None and asked is not None and asked.reader == "label":
            said = verdicts_behind(text, asked.settings["labels"])
        # A number in words such as "yes or no" beside a clear range is prose.
        verdicts = said or (verdicts_in(text) if scale is None or scale.weight < 100 else None)
        if said is None and verdicts is not None and _is_numeric(example):
            verdicts = None
    if verdicts is not None and verdicts.best == "unknown" and asked is not None and not facts.options:
        labels = asked.settings.get("labels", [""])
        verdicts = replace(verdicts, best=good_end(asked.key or str(labels[0])))
    if verdicts is not None:
        if asked is None:
            why = verdicts.why
        scale = None
    return AnswerGuess(reader, why, settings, criteria, verdicts, None, scale)


def _is_numeric(example: Any) -> bool:
    return isinstance(example, int | float) and not isinstance(example, bool)


def _at(example: Any, key: str) -> Any:
    """The value of a key, wherever in the object it stands."""
    if not isinstance(example, Mapping):
        return None
    if key in example:
        return example[key]
    return next((found for inner in example.values() if (found := _at(inner, key)) is not None), None)


def _stated(facts: Facts) -> OfferedVerdicts | None:
    """The verdicts that the file itself lists."""
    if facts.options:
        values = facts.options.values()
        best = {"high": max(values), "low": min(values)}.get(facts.best, "unknown")
        return OfferedVerdicts(facts.options, facts.why, best)
    if facts.classes:
        options = {name: float(number) for number, name in enumerate(facts.classes)}
        return OfferedVerdicts(options, facts.why, "none", is_ordered=False)
    return None

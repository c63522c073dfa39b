"""The same typed question in another form: as yes or no, as a choice, as levels, with its options reversed or
renamed. What each option means on the scale stays, so that answers to all forms are on one scale.

An ideal judge gives the same answer to all of them. Knows nothing of items.
"""

from __future__ import annotations

from string import ascii_uppercase

from msgspec import structs

from ..records import Option, QuestionForm, QuestionType


def in_form(
    kind: QuestionType, options: tuple[Option, ...], form: QuestionForm
) -> tuple[QuestionType, tuple[Option, ...]] | None:
    """The type and the options of a question in another form; none where it has no such form."""
    if form == "":
        return kind, options
    if form == "choice":
        return None if kind == "choice" else ("choice", options)
    if form == "levels":
        return ("score", options) if kind == "predicate" else None
    if form == "yes-no":
        return _yes_or_no(kind, options)
    if form == "reversed":
        return "predicate" if kind == "predicate" else "choice", options[::-1]
    return _renamed(kind, options)


def _renamed(
    kind: QuestionType, options: tuple[Option, ...]
) -> tuple[QuestionType, tuple[Option, ...]] | None:
    """Letters for names, or numbers where the names are letters."""
    if len(options) > len(ascii_uppercase):
        return None
    are_letters = all(option.label in ascii_uppercase for option in options[:2])
    names = range(1, len(options) + 1) if are_letters else ascii_uppercase
    pairs = zip(names, options, strict=False)
    return kind, tuple(structs.replace(one, label=str(name), text=_meaning(one)) for name, one in pairs)


def _yes_or_no(
    kind: QuestionType, options: tuple[Option, ...]
) -> tuple[QuestionType, tuple[Option, ...]] | None:
    """Whether the highest level holds rather than the lowest; of a pair, whether response a is better."""
    if kind == "score":
        return "predicate", (options[0], options[-1])
    sides = {option.choice: option for option in options if option.choice in ("a", "b")}
    return ("predicate", (sides["b"], sides["a"])) if len(sides) == 2 else None


def _meaning(option: Option) -> str:
    """What an option means without its name; the name where it has no text."""
    if not option.text:
        return option.label
    is_empty_name = option.choice is not None or _is_number(option.label)
    return option.text if is_empty_name else f"{option.label}: {option.text}"


def _is_number(label: str) -> bool:
    return label.replace(".", "", 1).lstrip("-").isdecimal()

"""Which system text goes with which prompt: those of one list of messages, then by name, then by nearness."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from .found_prompt import FoundPrompt, is_part, is_system
from .names import folder_names

_ROLE_WORDS = {
    "system", "sys", "user", "human", "prompt", "prompts", "template", "templates", "message",
    "messages", "msg",
    "content", "instruction", "instructions", "text", "default", "role",
}  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_a-zA-Z]+|\d+")


class Draft(Struct, frozen=True):
    """A prompt with the system text that goes with it, under the name of its folder."""

    name: str
    user: FoundPrompt
    system: FoundPrompt | None


def paired(prompts: Sequence[FoundPrompt], fallback: str = "prompt") -> tuple[list[Draft], list[str]]:
    """Each prompt with its system text, and notes on what had no use."""
    systems = [prompt for prompt in prompts if is_system(prompt)]
    users = [prompt for prompt in prompts if not is_system(prompt)]
    notes: list[str] = []
    notes += [
        f"line {prompt.first_line}: the placeholders of '{prompt.name}' are for parts of a prompt, "
        f"not for an item; it was left out."
        for prompt in users
        if is_part(prompt.template)
    ]
    whole = [prompt for prompt in users if not is_part(prompt.template)]
    users = whole or users
    notes = notes if whole else []
    if not any(prompt.template.slots for prompt in users):
        # Nothing but system texts: then they are the prompts.
        users, systems = list(prompts), []
    else:
        notes += [
            f"line {prompt.first_line}: '{prompt.name}' has no placeholder, so it shows nothing of "
            f"an item; it was "
            "taken for a part of other texts and left out."
            for prompt in users
            if not prompt.template.slots
        ]
        users = [prompt for prompt in users if prompt.template.slots]
    chosen = {id(user): _system_of(user, users, systems) for user in users}
    used = {id(system) for system in chosen.values() if system is not None}
    notes += [_unused(system) for system in systems if id(system) not in used]
    names = folder_names(users, fallback)
    return [Draft(name, user, chosen[id(user)]) for name, user in zip(names, users, strict=True)], notes


def _system_of(
    user: FoundPrompt, users: Sequence[FoundPrompt], systems: Sequence[FoundPrompt]
) -> FoundPrompt | None:
    if user.group:
        return next((system for system in systems if system.group == user.group), None)
    loose = [system for system in systems if not system.group and _may_share(system, user)]
    named = [system for system in loose if _stem(system) and _is_same(_stem(system), _stem(user))]
    if named:
        return _nearest(named, user)
    # One that bears the name of other prompts belongs to them.
    free = [
        system
        for system in loose
        if not (_stem(system) and any(_is_same(_stem(system), _stem(other)) for other in users))
    ]
    before = [system for system in free if system.first_line < user.first_line]
    return before[-1] if before else None


def _may_share(system: FoundPrompt, user: FoundPrompt) -> bool:
    """Whether two texts stand where one can go with the other: a class or a function keeps its own."""
    around = system.names[1:]
    return not around or around == user.names[1:][-len(around) :] or not user.names[1:]


def _stem(prompt: FoundPrompt) -> tuple[str, ...]:
    """The words of a name that do not say which role it is of."""
    words = (word.lower() for word in _WORDS.findall(prompt.name))
    return tuple(word for word in words if word not in _ROLE_WORDS)


def _is_same(system: tuple[str, ...], user: tuple[str, ...]) -> bool:
    """Whether the words of a system text name a prompt: ABS_SYSTEM belongs to ABSOLUTE_PROMPT."""
    if not user or len(system) > len(user):
        return False
    return all(word.startswith(short) for short, word in zip(system, user, strict=False))


def _nearest(systems: Sequence[FoundPrompt], user: FoundPrompt) -> FoundPrompt:
    return min(systems, key=lambda system: (-len(_stem(system)), abs(system.first_line - user.first_line)))


def _unused(system: FoundPrompt) -> str:
    return (
        f"line {system.first_line}: no prompt goes with the system text '{system.name}', which was left out."
    )

"""Prompts in JSON, JSON lines and YAML: texts under keys, chat messages, with their verdicts.

What a key means is known by the names that tools give it; a text without placeholders is at most a system
text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from ....errors import DataError
from ..document import Document
from ..found_prompt import Facts, FoundPrompt, Search, has_judge_words, is_prompt_name, is_prose
from ..placeholders import templated, templated_by_braces

USER_KEYS = (
    "prompt_template", "user_prompt_template", "user_prompt", "user_template", "user_message", "user",
    "human",
    "judge_prompt", "evaluation_prompt", "grading_prompt", "rubricprompt", "rubric_prompt", "template",
    "prompt",
)  # fmt: skip
SYSTEM_KEYS = (
    "system_prompt", "system_prompt_template", "system_message", "system_template", "system_instruction",
    "system_instructions", "systemprompt", "sys_prompt", "system", "developer",
)  # fmt: skip
_OPTION_KEYS = (
    "choice_scores",
    "choices",
    "options",
    "rails",
    "choice_strings",
    "output_classes",
    "feedback_value_type",
)
_NAME_KEYS = ("name", "metric_name", "evaluator_name")
_DIRECTION_KEYS = ("optimization_direction", "direction")
FACT_KEYS = (*_OPTION_KEYS, *_NAME_KEYS, *_DIRECTION_KEYS)
"""Keys beside a prompt that say what may be answered to it."""

_DEFAULT_KEYS = ("defaults", "default_values", "partial_variables")
_ROLES = {
    "system": "system",
    "developer": "system",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
}
_PLAIN_NAMES = ("messages", "prompt", "template", "content")
_MOST_DEPTH = 40
_MOST_NODES = 200_000
_MOST_CHOICES = 30


class _Text(Struct, frozen=True):
    """A text of the file, and the lines where it stands; 0 where that is not known."""

    value: str
    first: int = 0
    last: int = 0


def prompts_in_table(document: Document, path: object) -> Search:
    """The prompts of a JSON, JSON lines or YAML document."""
    search = Search([], [])
    finder = _Finder(search)
    for number, (value, line) in enumerate(_values(document, path)):
        finder.walk(value, (), Facts(), f"{number}", line)
    if any(prompt.template.slots for prompt in search.prompts):
        # A message without a placeholder is sent with others, and is no prompt by itself.
        search.prompts = [prompt for prompt in search.prompts if prompt.template.slots or prompt.group]
    return search


def _values(document: Document, path: object) -> Iterator[tuple[Any, int]]:
    """The values of the document, each with its first line."""
    suffix = document.suffix
    if suffix in (".yaml", ".yml"):
        yield from _yaml_values(document.text, path)
        return
    if suffix == ".jsonl":
        for number, line in enumerate(document.text.split("\n"), 1):
            if line.strip():
                yield _json(line, path, number), number
        return
    try:
        yield json.loads(document.text), 0
    except (ValueError, RecursionError) as error:
        lines = [line for line in document.text.split("\n") if line.strip()]
        if len(lines) < 2 or not all(line.lstrip()[:1] in "{[" for line in lines):
            raise DataError(
                f"{path}: this is not valid JSON ({error}). Correct it and import it again."
            ) from error
        for number, line in enumerate(document.text.split("\n"), 1):
            if line.strip():
                yield _json(line, path, number), number


def _json(line: str, path: object, number: int) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path} line {number}: not valid JSON ({error}). Correct it and import it again."
        ) from error


def _yaml_values(text: str, path: object) -> Iterator[tuple[Any, int]]:
    try:
        # Composed, not constructed: no tag of the file is ever carried out.
        for node in yaml.compose_all(text, Loader=yaml.SafeLoader):
            yield _Plain().of(node), node.start_mark.line + 1
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" line {where.line + 1}" if where else ""
        problem = getattr(error, "problem", None) or type(error).__name__
        raise DataError(
            f"{path}{line}: not valid YAML ({problem}). Correct it and import it again."
        ) from error


class _Plain:
    """Nodes of YAML as plain values. An alias is followed, but not without end."""

    def __init__(self) -> None:
        self.n_left = _MOST_NODES

    def of(self, node: yaml.Node, depth: int = 0, above: frozenset[int] = frozenset()) -> Any:
        """The value of a node; nothing for an alias that leads back to itself, and below `_MOST_DEPTH`."""
        self.n_left -= 1
        if depth > _MOST_DEPTH or id(node) in above or self.n_left < 0:
            return None
        inside = above | {id(node)}
        if isinstance(node, yaml.MappingNode):
            return {
                str(key.value): self.of(value, depth + 1, inside)
                for key, value in node.value
                if isinstance(key, yaml.ScalarNode)
            }
        if isinstance(node, yaml.SequenceNode):
            return [self.of(value, depth + 1, inside) for value in node.value if self.n_left > 0]
        first, last = node.start_mark.line + 1, node.end_mark.line + 1
        if node.tag.endswith((":int", ":float")) and node.style is None:
            try:
                return float(node.value)
            except ValueError:
                return None
        # Yes and No are verdicts here, not truth values.
        return _Text(node.value, first, last) if node.value else None


class _Finder:
    """Walks the values of a document and collects the prompts."""

    def __init__(self, search: Search) -> None:
        self.search = search
        self.n_looked_at = 0

    def walk(self, value: Any, names: tuple[str, ...], facts: Facts, group: str, line: int) -> None:
        self.n_looked_at += 1
        # Aliases of YAML can make a small file endless.
        if self.n_looked_at > _MOST_NODES or len(names) > _MOST_DEPTH:
            return
        if isinstance(value, Mapping):
            self._walk_mapping(value, names, facts, group, line)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            if messages := _messages(value):
                self._add_messages(messages, names, facts, group, line)
                return
            for number, entry in enumerate(value):
                self.walk(entry, names, facts, f"{group}/{number}", line)
        elif (text := _text(value)) is not None:
            self._add_text(text, names, facts, group="", line=line)

    def _walk_mapping(
        self, value: Mapping[str, Any], names: tuple[str, ...], facts: Facts, group: str, line: int
    ) -> None:
        value = {key: _alone(key, entry) for key, entry in value.items()}
        facts = facts_beside(value, facts)
        name = facts.name
        around = (name, *names) if name and name not in names else names
        defaults: Mapping[str, Any] = next(
            (value[key] for key in _DEFAULT_KEYS if isinstance(value.get(key), Mapping)), {}
        )
        lower = {key.lower(): key for key in value}
        system = next(
            (lower[key] for key in SYSTEM_KEYS if _text(value.get(lower.get(key, ""))) is not None), None
        )
        user = next(
            (lower[key] for key in USER_KEYS if _text(value.get(lower.get(key, ""))) is not None), None
        )
        together = f"{group}:{system}+{user}" if system is not None and user is not None else ""
        for key, entry in value.items():
            if key in _DEFAULT_KEYS and isinstance(entry, Mapping):
                continue
            text = _text(entry)
            if text is None:
                self.walk(entry, (key, *around), facts, f"{group}/{key}", line)
            elif key in (system, user):
                role = "system" if key == system else "user"
                own = (*around, key) if around else (key,)
                self._add_text(text, own, facts, together, line, role if together else "", defaults)
            elif key.lower() not in ("name", "description", "title", "id", "category", "output_format"):
                self._add_text(text, (key, *around), facts, "", line)

    def _add_messages(
        self, messages: list[tuple[str, _Text]], names: tuple[str, ...], facts: Facts, group: str, line: int
    ) -> None:
        if not any(templated(text.value).slots for _, text in messages):
            return
        users = [text for role, text in messages if role != "system"]
        doubts: tuple[str, ...] = ()
        if len(users) > 1:
            doubts = (
                "several turns were joined into one message; see whether the examples among them "
                "still read well",
            )
        system = "\n\n".join(text.value for role, text in messages if role == "system")
        user = "\n\n".join(text.value for text in users)
        place = (users or [messages[0][1]])[0]
        for role, said in (("system", system), ("user", user)):
            if said.strip():
                prompt = _prompt(_Text(said, place.first, place.last), names, facts, line)
                self.search.prompts.append(
                    replace(prompt, role=role, group=group, doubts=(*prompt.doubts, *doubts))
                )

    def _add_text(
        self,
        text: _Text,
        names: tuple[str, ...],
        facts: Facts,
        group: str,
        line: int,
        role: str = "",
        defaults: Mapping[str, Any] = {},
    ) -> None:
        if text.value.lstrip()[:1] == "[" and '"role"' in text.value:
            try:
                inner = json.loads(text.value)
            except (ValueError, RecursionError):
                inner = None
            if isinstance(inner, list) and (messages := _messages(inner)):
                self._add_messages(messages, names, facts, f"{text.first}:{names}", line)
                return
        undone: tuple[str, ...] = ()
        for slot, default in defaults.items():
            said = _text(default)
            if said is not None and "{" + slot + "}" in text.value:
                text = replace(text, value=text.value.replace("{" + slot + "}", said.value))
                undone = ("The default texts of the file were put into their placeholders.",)
        prompt = _prompt(text, names, facts, line)
        announced = bool(group) or any(is_prompt_name(name) for name in names[:2])
        is_template = bool(names) and names[-1].lower().endswith(
            ("prompt_template", "user_template", "rubricprompt")
        )
        has_verdicts = bool(facts.options or facts.classes)
        if not is_prose(prompt.template) and not (group and role == "system") and not has_verdicts:
            return
        if group or (
            prompt.template.slots
            and (has_judge_words(prompt.template.literal) or has_verdicts or is_template)
        ):
            self.search.prompts.append(
                replace(prompt, role=role, group=group, undone=(*prompt.undone, *undone))
            )
        elif announced and has_judge_words(prompt.template.literal) and len(text.value) > 80:
            self.search.prompts.append(replace(prompt, role=role))


def _prompt(text: _Text, names: tuple[str, ...], facts: Facts, line: int) -> FoundPrompt:
    template, is_doubtful = templated_by_braces(text.value)
    undone = ["The text is the value of a setting of the file, with its quoting undone."]
    if template.doubled_braces:
        undone.append("Doubled braces became single ones, as str.format would make them.")
    doubts = ("doubled braces: see that the prompt means them as they are now",) if is_doubtful else ()
    return FoundPrompt(
        names=tuple(
            name
            for name in ((facts.name, *names) if facts.name and facts.name not in names else names)
            if name not in _PLAIN_NAMES
        )
        or ("prompt",),
        template=template,
        first_line=text.first or line or 1,
        last_line=text.last or line or 1,
        undone=tuple(undone),
        doubts=doubts,
        facts=facts,
    )


def _alone(key: str, value: Any) -> Any:
    """The one text of a list under the key of a prompt: `prompt_template: ["…"]`."""
    is_prompt = key.lower() in (*USER_KEYS, *SYSTEM_KEYS)
    return (
        value[0] if is_prompt and isinstance(value, list) and len(value) == 1 and _text(value[0]) else value
    )


def _text(value: Any) -> _Text | None:
    return value if isinstance(value, _Text) else _Text(value) if isinstance(value, str) else None


def _messages(values: Sequence[Any]) -> list[tuple[str, _Text]]:
    """The messages of a chat: each a role and what it says."""
    messages = []
    for value in values:
        if not isinstance(value, Mapping) or not {"role", "content"} <= {*value}:
            return []
        role = _text(value["role"])
        content = value["content"]
        if isinstance(content, list):
            parts = [_text(part.get("text")) for part in content if isinstance(part, Mapping)]
            joined = "\n".join(part.value for part in parts if part is not None)
            said: _Text | None = _Text(joined) if joined else None
        else:
            said = _text(content)
        if role is None or said is None:
            return []
        messages.append((_ROLES.get(role.value.lower(), "user"), said))
    return messages


def facts_beside(value: Mapping[str, Any], above: Facts) -> Facts:
    """What a table says of its prompt, with what the tables around it said."""
    facts = above
    for key in _NAME_KEYS:
        if (name := _text(value.get(key))) is not None and name.value.strip():
            facts = replace(facts, name=name.value.strip())
            break
    for key in _OPTION_KEYS:
        options, classes = _choices(value.get(key))
        if options or classes:
            best = "high" if key == "choice_scores" else ""
            facts = replace(
                facts,
                options=options or facts.options,
                classes=classes or facts.classes,
                best=best,
                why=f"'{key}' of the file",
            )
            break
    direction = next((said for key in _DIRECTION_KEYS if (said := _text(value.get(key))) is not None), None)
    if direction is not None and direction.value.lower() in ("maximize", "minimize"):
        best = "high" if direction.value.lower() == "maximize" else "low"
        facts = replace(facts, best=best, why=f"the file says {direction.value}")
    return facts


def _choices(value: Any) -> tuple[dict[str, float], tuple[str, ...]]:
    """Verdicts with their values, or verdicts alone."""
    if isinstance(value, Mapping) and 2 <= len(value) <= _MOST_CHOICES:
        numbers = {name: float(number) for name, number in value.items() if isinstance(number, int | float)}
        if len(numbers) == len(value):
            return numbers, ()
        if all(_text(said) is not None for said in value.values()):
            return {}, tuple(value)
    if isinstance(value, list) and 2 <= len(value) <= _MOST_CHOICES:
        words = [said.value for entry in value if (said := _text(entry)) is not None]
        if len(words) == len(value) and all(len(word) <= 60 for word in words):
            return {}, tuple(words)
        pairs = [entry for entry in value if isinstance(entry, Mapping)]
        labels = [_text(entry.get("label") or entry.get("name")) for entry in pairs]
        scores = [entry.get("score", entry.get("value")) for entry in pairs]
        if len(pairs) == len(value) and all(label is not None for label in labels):
            names = tuple(label.value for label in labels if label is not None)
            if all(isinstance(number, int | float) for number in scores):
                return dict(zip(names, map(float, scores), strict=True)), ()
            return {}, names
    said = _text(value)
    if said is not None and re.fullmatch(r"[A-Z]{2,8}", said.value):
        return {}, tuple(said.value)
    return {}, ()

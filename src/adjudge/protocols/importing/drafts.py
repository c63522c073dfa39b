"""Prompts that were found by simple rules, as draft folders with every guess marked for review.

The texts are the document's, unchanged but for the container. The settings are guesses, and each
says so in a comment; nothing here decides in silence which end of a scale is good.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from msgspec import Struct

from ...render import GIVEN_SLOTS, OWN_SLOTS
from .document import Document
from .found import Found, is_system
from .hints import AnswerGuess, chooses, guess_answer, guess_best, guess_languages, guess_pair, guess_scale
from .settings import REVIEW, Remark, Setting, Table, written
from .slots import foreign_placeholders
from .write import NewFolder, file_text

_RESERVED = GIVEN_SLOTS | OWN_SLOTS | {"id", "system", "system_a", "system_b", "group"}
"""Names that an input cannot have: slots with a meaning of their own, and an item's own keys."""

_LAYOUT_WORDS = {
    "prompt",
    "prompts",
    "template",
    "templates",
    "the",
    "a",
    "an",
    "msg",
    "message",
    "user",
    "human",
    "content",
    "text",
}
_NAME_LENGTH = 60


class Draft(Struct, frozen=True):
    """A prompt with the system text that goes with it, under the name of its folder."""

    name: str
    user: Found
    system: Found | None


def paired(prompts: Sequence[Found]) -> tuple[list[Draft], list[str]]:
    """Each prompt with the system text that stands before it, and notes on what had no use."""
    notes: list[str] = []
    chosen: list[tuple[Found, Found | None]] = []
    system: Found | None = None
    is_used = True
    if all(is_system(found) for found in prompts):
        # Nothing but system texts: then they are the prompts.
        chosen = [(found, None) for found in prompts]
    else:
        for found in prompts:
            if is_system(found):
                if system is not None and not is_used:
                    notes.append(_unused(system))
                system, is_used = found, False
            else:
                chosen.append((found, system))
                is_used = True
        if system is not None and not is_used:
            notes.append(_unused(system))
    names = _names([found for found, _ in chosen])
    return [Draft(name, user, system) for name, (user, system) in zip(names, chosen, strict=True)], notes


def _unused(system: Found) -> str:
    return (
        f"line {system.first_line}: the system text '{system.name}' has no prompt behind it and was left out."
    )


def draft_folder(draft: Draft, document: Document) -> NewFolder:
    """The folder of one draft."""
    tables = _Settings(draft, document).tables()
    files = {"protocol.toml": written(tables), "user.md": file_text(draft.user.template.text)}
    if draft.system is not None:
        files["system.md"] = file_text(draft.system.template.text)
    files["NOTES.md"] = _notes(draft, document, tables)
    return NewFolder(draft.name, files)


# -- names


def _names(prompts: Sequence[Found]) -> list[str]:
    """A folder name for each: its own heading, with those around it where that is not enough."""
    own = [_slug(found.names[:1]) for found in prompts]
    taken: set[str] = set()
    names = []
    for found, slug in zip(prompts, own, strict=True):
        candidates = [slug] if slug and own.count(slug) == 1 else []
        candidates += [_slug(reversed(found.names[:2])), _slug(reversed(found.names)), slug]
        name = next((name for name in candidates if name and name not in taken), None)
        number = 2
        base = slug or "prompt"
        while name is None:
            name = base if base not in taken else None
            if name is None and f"{base}-{number}" not in taken:
                name = f"{base}-{number}"
            number += 1
        taken.add(name)
        names.append(name)
    return names


def _slug(names: Iterable[str]) -> str:
    """Words in small letters joined by hyphens, in any script, without words for layout."""
    text = unicodedata.normalize("NFC", " ".join(names)).lower()
    words = re.findall(r"[^\W_]+", text)
    telling = list(dict.fromkeys(word for word in words if word not in _LAYOUT_WORDS))
    return "-".join(telling)[:_NAME_LENGTH].strip("-")


# -- settings


class _Settings:
    """The settings of one draft, put together guess by guess."""

    def __init__(self, draft: Draft, document: Document) -> None:
        self.draft, self.document = draft, document
        parts = [draft.user.template] + ([draft.system.template] if draft.system else [])
        self.words = "\n".join(part.literal for part in parts)
        self.slots = list(dict.fromkeys(slot for part in parts for slot in part.slots))
        if draft.system is not None and "system_message" in draft.user.template.slots:
            self.slots.remove("system_message")
        self.pair = guess_pair(self.slots, self.words)
        self.fields = _fields(self.slots, self.pair)
        self.answer: AnswerGuess = guess_answer(self.words, is_compare=self.pair is not None)

    def tables(self) -> list[Table]:
        renamed = [
            Setting(slot, field, _rename_reason(slot)) for slot, field in self.fields.items() if slot != field
        ]
        tables = [Table("", self._top()), *self._criteria()]
        if renamed:
            tables.append(Table("[alias]", renamed))
        return [*tables, Table("[answer]", self._answer())]

    def _top(self) -> list[Setting | Remark]:
        draft, user = self.draft, self.draft.user
        prompt, reply = guess_languages(self.words)
        task, why = "score", "taken for a score of one response"
        if self.pair is not None:
            task, why = "compare", f"{self.pair[0]} and {self.pair[1]} look like two responses to compare"
        inputs_why = "every placeholder was taken for a field of the items"
        if not self.fields:
            inputs_why = (
                "no placeholder was found, so nothing of an item is shown; write {{name}} where it belongs"
            )
        lines: list[Setting | Remark] = [
            Setting("title", user.name or draft.name, "from the heading or the variable"),
            Setting("task", task, why),
            Setting("language", {"prompt": prompt, "reply": reply}, "by the script and the words"),
            Setting("source", f"{self.document.name}, lines {user.first_line} to {user.last_line}"),
            Setting("imported", self.document.sha256),
            Setting("inputs", list(dict.fromkeys(self.fields.values())), inputs_why),
            Setting("fence", False),
        ]
        if draft.system is not None:
            lines.append(
                Remark(
                    f"system.md is the text '{draft.system.name}' that stands before this prompt; see that they belong together"
                )
            )
        doubts = (*user.doubts, *(draft.system.doubts if draft.system else ()))
        lines += [Remark(doubt) for doubt in dict.fromkeys(doubts)]
        if self.pair is None and (asked := chooses(self.words)):
            lines.append(
                Remark(
                    f"the prompt says '{asked}'; if it compares two responses, write task = \"compare\" and show them as "
                    "{{response_a}} and {{response_b}}"
                )
            )
        if foreign := foreign_placeholders(self.words):
            lines.append(
                Remark(
                    f"{', '.join(foreign)} was kept as text; if it is a placeholder, write it as {{{{name}}}}"
                )
            )
        return lines

    def _criteria(self) -> list[Table]:
        why = "from the name of the prompt"
        names: tuple[str, ...] = (self.draft.name,)
        if self.answer.criteria:
            names, why = self.answer.criteria, "from the keys of the JSON"
        tables = []
        for name in names:
            tables.append(Table("[[criteria]]", [Setting("name", name, why)]))
            if self.pair is None or "score" in self.answer.settings:
                tables.append(Table("[criteria.scale]", self._scale()))
        return tables

    def _scale(self) -> list[Setting | Remark]:
        unknown = Setting(
            "best", "unknown", "the prompt does not say clearly which end is good; write one of the two ends"
        )
        scale = guess_scale(self.words)
        if scale is None:
            return [Remark("no range was found; write low = and high = here"), unknown]
        why = "a range that the prompt names"
        if scale.others:
            why += f"; it names {', '.join(scale.others)} too"
        lines: list[Setting | Remark] = [Setting("low", scale.low, why), Setting("high", scale.high, why)]
        if scale.is_integer:
            lines.append(Setting("step", 1, "the prompt speaks of whole numbers"))
        best = guess_best(self.words, scale.low, scale.high)
        lines.append(Setting("best", best[0], f"the prompt says: {best[1]}") if best else unknown)
        return lines

    def _answer(self) -> list[Setting | Remark]:
        answer = self.answer
        lines: list[Setting | Remark] = [Setting("reader", answer.reader, answer.why)]
        lines += [Setting(key, value, "as the prompt shows it") for key, value in answer.settings.items()]
        if self.pair is not None and "score" not in answer.settings:
            choices = {"a": "A", "b": "B"}
            if re.search(r"\btie\b|\[\[C\]\]|平局|무승부", self.words, re.IGNORECASE):
                choices["tie"] = "C" if "[[C]]" in self.words else "tie"
            lines.append(Setting("choices", choices, "the words that the prompt asks for"))
        return lines


def _fields(slots: Sequence[str], pair: tuple[str, str] | None) -> dict[str, str]:
    """slot → the item field that fills it; a slot's own name wherever an item can have such a field."""
    fields: dict[str, str] = {}
    if pair is not None and not {"response_a", "response_b"} & ({*slots} - {*pair}):
        fields = {pair[0]: "response_a", pair[1]: "response_b"}
    taken = {*slots, *fields.values()}
    for slot in slots:
        if slot in fields:
            continue
        field = slot.replace(".", "_").replace("-", "_").strip("_") if "." in slot else slot
        if field in _RESERVED:
            field += "_text"
        while field != slot and field in taken:
            field += "_2"
        taken.add(field)
        fields[slot] = field
    return {slot: fields[slot] for slot in slots}


def _rename_reason(slot: str) -> str:
    if slot in _RESERVED:
        return f"an item cannot have a field named {slot}"
    if "." in slot:
        return "a field's name has no dots"
    return "so that the two responses can be shown in both orders"


# -- notes


def _notes(draft: Draft, document: Document, tables: Sequence[Table]) -> str:
    user, system = draft.user, draft.system
    places = [f"- `user.md`: lines {user.first_line} to {user.last_line}"]
    undone = list(user.undone)
    if system is not None:
        places.append(f"- `system.md`: lines {system.first_line} to {system.last_line}")
        undone += system.undone
    undone.append("Placeholders became slots in double braces. Nothing else was changed.")
    guesses = []
    for table in tables:
        for line in table.lines:
            if isinstance(line, Remark):
                guesses.append(f"- {line.review}")
            elif line.review:
                guesses.append(f"- `{line.key}`: {line.review}")
    marked = f"Each is marked with `{REVIEW.strip()}` in `protocol.toml`. Settle it, then take the mark away."
    return "\n".join(
        [
            f"# {draft.name}: a draft",
            "",
            f"Imported from `{document.name}` (sha256 {document.sha256}) by simple rules.",
            "",
            *places,
            "",
            "## What was undone",
            "",
            *(f"- {point}" for point in dict.fromkeys(undone)),
            "",
            "## To review",
            "",
            marked,
            "",
            *dict.fromkeys(guesses),
            "",
        ]
    )

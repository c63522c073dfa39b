"""Prompts that were found by simple rules, as draft folders with every guess marked for review.

The texts are the document's, unchanged but for the container. The settings are guesses, and each
says so in a comment; nothing here decides in silence which end of a scale is good.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...render import PROTOCOL_SLOTS, USER_SLOTS
from ..asked.verdicts import OfferedVerdicts
from .document import Document
from .folders import NewFolder, file_text
from .guesses.answer import AnswerGuess, guess_answer
from .guesses.criterion import guess_criterion
from .guesses.language import guess_languages
from .guesses.pair import chooses, guess_pair, numbered_texts
from .guesses.scale import guess_best
from .pairing import Draft
from .placeholders import foreign_placeholders
from .settings_text import REVIEW, Remark, Setting, SettingsTable, toml_text

_RESERVED = USER_SLOTS | PROTOCOL_SLOTS | {"id", "system", "system_a", "system_b", "group"}
"""Names that an input cannot have: reserved slots, and the reserved keys of an item."""


def draft_folder(draft: Draft, document: Document) -> NewFolder:
    """The folder of one draft."""
    tables = _Settings(draft, document).tables()
    files = {"protocol.toml": toml_text(tables), "user.md": file_text(draft.user.template.text)}
    if draft.system is not None:
        files["system.md"] = file_text(draft.system.template.text)
    files["NOTES.md"] = _notes(draft, document, tables)
    return NewFolder(draft.name, files)


# -- settings


class _Settings:
    """The settings of one draft, put together guess by guess."""

    def __init__(self, draft: Draft, document: Document) -> None:
        self.draft, self.document = draft, document
        parts = ([draft.system.template] if draft.system else []) + [draft.user.template]
        self.words = "\n\n".join(part.literal for part in parts)
        self.slots = list(dict.fromkeys(slot for part in reversed(parts) for slot in part.slots))
        if draft.system is not None and "system_message" in draft.user.template.slots:
            self.slots.remove("system_message")
        facts = draft.user.facts
        has_verdicts = bool(facts.options or facts.classes)
        self.pairs = () if has_verdicts else guess_pair(self.slots, self.words)
        self.fields = _fields(self.slots, self.pairs)
        # A text that shows nothing may still say that two responses are compared.
        self.is_compare = bool(self.pairs) or (not self.slots and bool(chooses(self.words)))
        self.answer: AnswerGuess = guess_answer(self.words, facts, is_compare=self.is_compare)

    def tables(self) -> list[SettingsTable]:
        renamed = [
            Setting(slot, field, _rename_reason(slot)) for slot, field in self.fields.items() if slot != field
        ]
        tables = [SettingsTable("", self._top()), *self._criteria()]
        if renamed:
            tables.append(SettingsTable("[alias]", renamed))
        return [*tables, *self._answer()]

    def _top(self) -> list[Setting | Remark]:
        draft, user = self.draft, self.draft.user
        prompt, reply = guess_languages(self.words)
        task, why = "score", "taken for a score of one response"
        if self.pairs:
            task, why = (
                "compare",
                f"{self.pairs[0][0]} and {self.pairs[0][1]} look like two responses to compare",
            )
        elif self.is_compare:
            task, why = "compare", f"the prompt says '{chooses(self.words)}'"
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
        return [*lines, *(Remark(remark) for remark in self._remarks())]

    def _remarks(self) -> Iterator[str]:
        """What a person should look at where there is no value to set."""
        draft = self.draft
        if draft.system is not None:
            yield (
                f"system.md is the text '{draft.system.name}' that goes with this prompt; see that "
                f"they belong together"
            )
        yield from dict.fromkeys((*draft.user.doubts, *(draft.system.doubts if draft.system else ())))
        if not self.is_compare and not draft.user.facts.options and (asked := chooses(self.words)):
            yield (
                f"the prompt says '{asked}'; if it compares two responses, write task = \"compare\" "
                f"and show them as "
                "{{response_a}} and {{response_b}}"
            )
        if foreign := foreign_placeholders(self.words):
            yield f"{', '.join(foreign)} was kept as text; if it is a placeholder, write it as {{{{name}}}}"
        if len(several := numbered_texts(self.slots)) > 2:
            yield (
                f"{', '.join(several)} are judged at once; a protocol judges one response or "
                f"compares two: show one of "
                "them, or two as {{response_a}} and {{response_b}}"
            )

    def _criteria(self) -> list[SettingsTable]:
        name, why = guess_criterion(self.words, self.draft.name, self.draft.user.facts.name)
        names: tuple[str, ...] = (name,)
        if self.answer.criteria:
            names, why = self.answer.criteria, "from the keys of the JSON"
        tables = []
        for name in names:
            tables.append(SettingsTable("[[criteria]]", [Setting("name", name, why)]))
            if not self.is_compare or "score" in self.answer.settings or "subjects" in self.answer.settings:
                tables.append(SettingsTable("[criteria.scale]", self._scale()))
        return tables

    def _scale(self) -> list[Setting | Remark]:
        unknown = Setting(
            "best", "unknown", "the prompt does not say clearly which end is good; write one of the two ends"
        )
        if self.answer.verdicts is not None:
            return self._scale_of_verdicts(self.answer.verdicts)
        scale = self.answer.scale
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

    def _scale_of_verdicts(self, verdicts: OfferedVerdicts) -> list[Setting | Remark]:
        values = [*verdicts.options.values()]
        lines: list[Setting | Remark] = [
            Setting("low", min(values), verdicts.why),
            Setting("high", max(values)),
        ]
        if all(value == int(value) for value in values):
            lines.append(Setting("step", 1))
        why = {
            "none": "verdicts without an order: give them values under [answer.options], and name "
            "the good end"
        }.get(str(verdicts.best), "by the words of the verdicts" if verdicts.best != "unknown" else "")
        why = why or "the verdicts do not say which is good here; write one of the two ends"
        lines.append(
            Setting("best", verdicts.best, self.draft.user.facts.why if self.draft.user.facts.best else why)
        )
        if not verdicts.is_ordered:
            lines.append(Setting("names", {f"{value:g}": name for name, value in verdicts.options.items()}))
        return lines

    def _answer(self) -> list[SettingsTable]:
        answer = self.answer
        lines: list[Setting | Remark] = [Setting("reader", answer.reader, answer.why)]
        lines += [Setting(key, value, "as the prompt shows it") for key, value in answer.settings.items()]
        if self.is_compare and "subjects" not in answer.settings:
            if answer.choices:
                lines.append(Setting("choices", answer.choices, "the words that the prompt asks for"))
            else:
                lines.append(
                    Remark("the words for the two responses were not found; write choices = { a = …, b = … }")
                )
        tables = [SettingsTable("[answer]", lines)]
        if answer.verdicts is not None:
            options = [Setting(name, value) for name, value in answer.verdicts.options.items()]
            options[0] = Setting(options[0].key, options[0].value, answer.verdicts.why)
            tables.append(SettingsTable("[answer.options]", options))
        return tables


def _fields(slots: Sequence[str], pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    """slot → the item field that fills it; a slot's own name wherever an item can have such a field."""
    fields: dict[str, str] = {}
    paired = {slot for pair in pairs for slot in pair}
    for number, (first, second) in enumerate(pairs, 1):
        # Only fields that end in _a and _b are shown in both orders.
        base = "response" if len(pairs) == 1 else f"response_{number}"
        if not {f"{base}_a", f"{base}_b"} & ({*slots} - paired):
            fields |= {first: f"{base}_a", second: f"{base}_b"}
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


def _notes(draft: Draft, document: Document, tables: Sequence[SettingsTable]) -> str:
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

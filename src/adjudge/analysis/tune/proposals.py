"""Prompts proposed by a model that is shown where the judge and people disagree.

Only items of the search part are shown, and a prompt that repeats text of any labelled item is refused: a
judge that was shown the answers is not tested by them. Nothing here asks a model.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ...data.judge_answers import JudgeAnswer
from ...protocols.copied_folder import copy_folder
from ...records import Item, Protocol
from .candidates import texts_of
from .copied_text import copied_text
from .winner import agreements_of

N_SHOWN = 8
_LONGEST = 600
"""Characters of a text that is shown."""
_PROMPT = re.compile(r"<prompt>\n?(.*?)\n?</prompt>", re.DOTALL)
_SLOT = re.compile(r"\{\{\s*([^{}]+?)\s*\}\}")


class Disagreement(Struct, frozen=True):
    """One item of the search part on which judge and people differ."""

    item: Item
    judge: float | str | None
    people: float | str


def disagreements(
    answers: Sequence[JudgeAnswer],
    judge: str,
    people: Mapping[str, float | str],
    search: Sequence[str],
    items: Mapping[str, Item],
) -> list[Disagreement]:
    """The items of the search part on which this judge is furthest from people, the furthest first."""
    mine = [row for row in answers if row.judge == judge]
    agreement = agreements_of(mine, people, [judge])[judge]
    answer = {row.item: row.answer for row in mine}
    far = sorted((item for item in search if agreement[item] < 1.0), key=lambda item: (agreement[item], item))
    return [Disagreement(items[item], answer.get(item), people[item]) for item in far[:N_SHOWN]]


def request_text(prompt: str, criterion: str, shown: Sequence[Disagreement]) -> str:
    """What the proposing model is asked."""
    cases = "\n\n".join(
        f"Case {number}. The judge answered {case.judge}, people {case.people}.\n"
        + "\n".join(f"{text[:_LONGEST]}" for text in texts_of(case.item))
        for number, case in enumerate(shown, 1)
    )
    slots = ", ".join(f"{{{{{slot}}}}}" for slot in dict.fromkeys(_SLOT.findall(prompt)))
    return (
        f"A language model judges texts on the criterion '{criterion}' with the prompt below. On the cases "
        "that follow, its answers differ from those of people. Rewrite the prompt so that its answers come "
        "closer to theirs. Keep these placeholders and the form of the answer as they are: "
        f"{slots}. Describe what counts in general words; do not quote the cases, their texts or their "
        "scores.\n\n"
        f"<current>\n{prompt}\n</current>\n\n{cases}\n\n"
        "Reply with the new prompt between <prompt> and </prompt>, and nothing else."
    )


def proposed_prompt(reply: str, start: Protocol, labelled: Sequence[Item]) -> tuple[str, str]:
    """The prompt in a reply, and why it is refused; one of the two is empty."""
    written = _PROMPT.search(reply)
    if written is None or not written[1].strip():
        return "", "the reply has no prompt between <prompt> and </prompt>"
    prompt = written[1] + "\n"
    wanted, given = (set(_SLOT.findall(text)) for text in (start.user_text, prompt))
    if wanted != given:
        differing = ", ".join(sorted(wanted ^ given))
        return "", f"its placeholders are not those of the start ({differing})"
    texts = [text for item in labelled for text in texts_of(item)]
    copy = copied_text(prompt, texts, f"{start.system_text}\n{start.user_text}")
    if copy is not None:
        return "", f"it contains text of a labelled item: “{copy}”"
    return prompt, ""


def write_proposal(start: Protocol, prompt: str, folder: Path) -> None:
    """A copy of the start's folder with the proposed prompt; in place only when it is complete."""
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    copy_folder(Path(start.folder), unfinished)
    (unfinished / "user.md").write_text(prompt, encoding="utf-8")
    unfinished.rename(folder)

"""A prompt that is written with the tokens of a chat template, taken apart into its messages.

`<|im_start|>`, `<|start_header_id|>`, `[INST]`, `Human:` and lines such as `# system:` are the container
of the messages, not their words: the server of a model puts its own in their place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..found_prompt import FoundPrompt
from ..placeholders import part_of

_ROLE = r"(system|user|assistant|human|ai|developer|model|ipython|tool)"
_CHATML = re.compile(rf"<\|im_start\|>{_ROLE}[ \t]*\n?")
_HEADERS = re.compile(rf"<\|start_header_id\|>{_ROLE}<\|end_header_id\|>\n{{0,2}}")
_GEMMA = re.compile(rf"<start_of_turn>{_ROLE}\n?")
_TOKENS = re.compile(r"<\|(system|user|assistant)\|>\n?")
_ENDS = re.compile(r"\n?(?:<\|im_end\|>|<\|eot_id\|>|<end_of_turn>|<\|end\|>|</s>|<\|endoftext\|>)\s*")
_STARTS = re.compile(r"\A\s*(?:<s>|<\|begin_of_text\|>|<bos>)\s*")
_INST = re.compile(r"\[INST\]|\[/INST\]")
_SYS = re.compile(r"<<SYS>>\s*?\n?(.*?)\n?\s*<</SYS>>\s*", re.DOTALL)
_HUMAN = re.compile(r"(?:\A\s*|\n\n)(Human|Assistant): ?")
_ROLE_LINES = re.compile(
    r"^[ \t]{0,3}(?:#{1,3} ?)?(system|user|assistant):[ \t]*\n", re.IGNORECASE | re.MULTILINE
)

_UNDONE = "The tokens of the chat template around each message were taken off."


class _Turn(Struct, frozen=True):
    role: str
    text: str


def split_messages(prompt: FoundPrompt, *, by_lines: bool = False) -> list[FoundPrompt]:
    """The messages of a prompt that is written as a chat; the prompt itself where it is none."""
    turns = [turn for turn in _turns(prompt.template.text, by_lines=by_lines) if turn.text.strip()]
    if not turns:
        return [prompt]
    group = prompt.group or f"chat at line {prompt.first_line}"
    system = "\n\n".join(turn.text for turn in turns if turn.role == "system")
    rest = [turn for turn in turns if turn.role != "system"]
    doubts = list(prompt.doubts)
    if rest and rest[-1].role == "assistant":
        doubts.append(
            f"the reply was begun for the judge with '{rest[-1].text.strip()[:60]}', which was left out"
        )
        rest = rest[:-1]
    if len(rest) > 1:
        doubts.append(
            "several turns were joined into one message; see whether the examples among them still read well"
        )
    user = "\n\n".join(turn.text for turn in rest)
    messages = [("system", system), ("user", user)] if user.strip() else [("user", system)]
    return [
        replace(
            prompt,
            template=part_of(prompt.template, text),
            undone=(*prompt.undone, _UNDONE),
            doubts=tuple(doubts) if role == "user" else (),
            role=role,
            group=group,
        )
        for role, text in messages
        if text.strip()
    ]


def has_messages(text: str) -> bool:
    """Whether a text is written with the tokens of a chat template."""
    return any(turn.text.strip() for turn in _turns(text, by_lines=False))


def _turns(text: str, *, by_lines: bool) -> list[_Turn]:
    for tokens in (_CHATML, _HEADERS, _GEMMA, _TOKENS):
        if tokens.search(text):
            return list(_token_turns(_STARTS.sub("", text), tokens))
    if "[INST]" in text and "[/INST]" in text:
        return list(_instruction_turns(_STARTS.sub("", text)))
    marks = list(_HUMAN.finditer(text))
    if marks and marks[0][1] == "Human" and not marks[0].start() and len(marks) > 1:
        return [
            _Turn("user" if mark[1] == "Human" else "assistant", said) for mark, said in _between(text, marks)
        ]
    if by_lines and (lines := list(_ROLE_LINES.finditer(text))) and not text[: lines[0].start()].strip():
        return [_Turn(mark[1].lower(), said.strip("\n")) for mark, said in _between(text, lines)]
    return []


def _token_turns(text: str, tokens: re.Pattern[str]) -> Iterator[_Turn]:
    for mark, said in _between(text, list(tokens.finditer(text))):
        role = mark[1]
        end = _ENDS.search(said)
        yield _Turn(
            "system"
            if role in ("system", "developer")
            else "assistant"
            if role in ("assistant", "ai", "model")
            else "user",
            said[: end.start()] if end else said,
        )


def _instruction_turns(text: str) -> Iterator[_Turn]:
    role = "user"
    for mark, said in _between(text, list(_INST.finditer(text))):
        role = "user" if mark[0] == "[INST]" else "assistant"
        said = _ENDS.sub("", said)
        if role == "user" and (system := _SYS.search(said)):
            yield _Turn("system", system[1].strip())
            said = said[: system.start()] + said[system.end() :]
        yield _Turn(role, said.strip())


def _between(text: str, marks: Sequence[re.Match[str]]) -> Iterator[tuple[re.Match[str], str]]:
    """Each mark with the text up to the next one."""
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=True):
        yield mark, text[mark.end() : end]

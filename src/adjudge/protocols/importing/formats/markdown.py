"""Prompts in a Markdown text: in its fences, and under headings that have no such fence.

Simple rules, not a Markdown parser: lines that open and close a fence, lines that are headings.
Whether a fence holds a prompt is decided by its words and placeholders; what it means is not known here.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..found_prompt import (
    MIN_PLAIN,
    FoundPrompt,
    Search,
    has_judge_words,
    is_prompt_name,
    is_prose,
    length_of,
)
from ..placeholders import Template, templated, templated_by_braces
from .python import KEPT_BRACES, prompts_in_python, syntax_tree

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_LANGUAGE = re.compile(r"\w[\w+#.-]*(?:[ \t]+(?:[\w-]+=\S+|\{.*\}))*|\{.*\}")
"""What may follow the marks of an opening fence; anything else is text that sticks to it."""

_MARKDOWN = ("markdown", "md")
_PYTHON = ("python", "py", "python3", "pycon")
_CODE = (
    "json", "jsonc", "json5", "jsonl", "yaml", "yml", "toml", "xml", "html", "css", "csv", "sh", "bash",
    "shell",
    "console", "zsh", "powershell", "javascript", "js", "typescript", "ts", "tsx", "jsx", "java", "c",
    "cpp", "go",
    "rust", "ruby", "sql", "diff", "dockerfile", "makefile", "ini", "r", "latex", "mermaid", "bibtex",
)  # fmt: skip
_LAYOUT_LINES = ("", "<br>", "<br/>", "<br />", "---", "***", "___", "</details>")
_INLINE_CODE = re.compile(r"`[^`\n]+`")
_ROLE_START = re.compile(
    r"\s*(?:you are|you're|act as|as an? |你是|您是|请你|我要你|당신은|너는|あなたは)", re.IGNORECASE
)


class _Heading(Struct, frozen=True):
    line: int
    level: int
    names: tuple[str, ...]
    """its own title, then those of the headings it stands under, innermost first"""


class _Fence(Struct, frozen=True):
    first: int
    """the index of its first line of content"""
    last: int
    """the index behind its last line of content"""
    indent: int
    language: str
    stuck: str = ""
    """text on the line of the opening fence"""
    is_closed: bool = True


def prompts_in_markdown(text: str) -> Search:
    """The prompts of a Markdown text.

    A fence that holds a prompt wins over the text around it, but not over text under other headings.
    """
    # Only "\n" ends a line here, so that no other character of a prompt is taken for layout.
    lines = text.split("\n")
    headings, fences = _scan(lines)
    search = Search([], [])
    in_fences = list(_from_fences(lines, headings, fences, search.notes))
    speaking = [prompt for prompt in in_fences if has_judge_words(prompt.template.literal)]
    if speaking:
        beside = list(_beside(lines, headings, fences, speaking, search.notes))
        search.prompts = sorted([*speaking, *beside], key=lambda prompt: prompt.first_line)
    else:
        document = _Section(0, len(lines), ())
        search.prompts = _from_sections(lines, _prose(lines, fences), headings, document) or in_fences
    return search


def _scan(lines: Sequence[str]) -> tuple[list[_Heading], list[_Fence]]:
    headings: list[_Heading] = []
    above: list[_Heading] = []
    fences: list[_Fence] = []
    marked = [number for number, line in enumerate(lines) if _FENCE.match(line)]
    end = -1
    for number, line in enumerate(lines):
        if number <= end:
            continue
        if (fence := _FENCE.match(line)) and not (fence[2][0] == "`" and "`" in fence[3]):
            opened = _opened(fence, number)
            close = _closing(lines, marked, number, fence[2], may_nest=opened.language in _MARKDOWN)
            end = len(lines) if close is None else close
            fences.append(replace(opened, last=end, is_closed=close is not None))
        elif heading := _HEADING.match(line):
            while above and above[-1].level >= len(heading[1]):
                above.pop()
            title = heading[2].strip().rstrip("#").strip(" \t*_`")
            names = (title, *(above[-1].names if above else ()))
            above.append(_Heading(number, len(heading[1]), names))
            headings.append(above[-1])
    return headings, fences


def _opened(fence: re.Match[str], number: int) -> _Fence:
    """The fence that a line opens, with its language, or with text that sticks to its marks."""
    info = fence[3].strip()
    if info and not _LANGUAGE.fullmatch(info):
        return _Fence(number + 1, number + 1, len(fence[1]), "", stuck=fence[3].rstrip("\r"))
    return _Fence(number + 1, number + 1, len(fence[1]), re.split(r"[\s{]", info)[0].lower())


def _closing(
    lines: Sequence[str], marked: Sequence[int], opened: int, marks: str, *, may_nest: bool
) -> int | None:
    """The line that closes a fence, or none.

    A Markdown prompt often contains fences with the same marks. There a bare fence with
    text right below it is taken to open one, if enough fences follow to close both.
    """
    depth = 0
    start = bisect_right(marked, opened)
    for index in range(start, len(marked)):
        number = marked[index]
        fence = _FENCE.match(lines[number])
        if fence is None or not fence[2].startswith(marks):
            continue
        is_bare = not fence[3].strip()
        if may_nest and not depth:
            has_text_below = number + 1 < len(lines) and bool(lines[number + 1].strip())
            opens = not is_bare or (has_text_below and len(marked) - index > 2)
        else:
            opens = may_nest and not is_bare
        if opens:
            depth += 1
        elif is_bare and depth:
            depth -= 1
        elif is_bare:
            return number
    return None


def _names_at(headings: Sequence[_Heading], line: int) -> tuple[str, ...]:
    """The titles of the headings that a line stands under, innermost first."""
    index = bisect_left(headings, line, key=lambda heading: heading.line)
    return headings[index - 1].names if index else ()


# -- fences


def _from_fences(
    lines: Sequence[str], headings: Sequence[_Heading], fences: Sequence[_Fence], notes: list[str]
) -> Iterator[FoundPrompt]:
    for fence in fences:
        if fence.language in _CODE:
            continue
        names = _names_at(headings, fence.first)
        if fence.language in _PYTHON:
            tree = syntax_tree(_content(lines, fence))
            if tree is not None:
                inner = prompts_in_python(tree, fence.first + 1)
                notes += inner.notes
                for prompt in inner.prompts:
                    yield FoundPrompt(
                        (*prompt.names, *names),
                        prompt.template,
                        prompt.first_line,
                        prompt.last_line,
                        prompt.undone,
                        prompt.doubts,
                    )
            continue
        prompt = _from_fence(lines, fence, names)
        if _is_prompt(prompt):
            yield prompt


def _from_fence(lines: Sequence[str], fence: _Fence, names: tuple[str, ...]) -> FoundPrompt:
    undone, doubts = ["The fence was taken off."], []
    if fence.indent:
        undone.append("The indentation of the fence was taken off each of its lines.")
    if fence.stuck:
        doubts.append(
            "the first line stood on the line of the opening fence; see that it belongs to the prompt"
        )
    if not fence.is_closed:
        doubts.append(
            "the fence is never closed, so fences do not pair up; check where the prompt begins and ends"
        )
    if fence.language in _MARKDOWN:
        doubts.append("a Markdown prompt may contain other fences; check that it ends where it should")
    template, braces_undone, braces_doubts = _braces(_content(lines, fence))
    return FoundPrompt(
        names,
        template,
        first_line=fence.first + (0 if fence.stuck else 1),
        last_line=fence.last,
        undone=(*undone, *braces_undone),
        doubts=(*doubts, *braces_doubts),
    )


def _braces(text: str) -> tuple[Template, tuple[str, ...], tuple[str, ...]]:
    """A text as a template, with what was undone of its braces and what is in doubt."""
    template, is_doubtful = templated_by_braces(text)
    if template.doubled_braces:
        undone = "Doubled braces became single ones, as str.format would make them."
        doubt = (
            "doubled braces became single ones, since the placeholders have single ones; see "
            "that the prompt means it so"
        )
        return template, (undone,), (doubt,)
    return template, (), (KEPT_BRACES,) if is_doubtful else ()


def _content(lines: Sequence[str], fence: _Fence) -> str:
    """The text in a fence, without its indentation and its last line end."""
    content = [fence.stuck] if fence.stuck else []
    for line in lines[fence.first : fence.last]:
        blanks = len(line) - len(line.lstrip(" \t"))
        content.append(line[min(fence.indent, blanks) :])
    return "\n".join(content).removesuffix("\r")


def _is_prompt(prompt: FoundPrompt) -> bool:
    template = prompt.template
    if not is_prose(template):
        return False
    if template.slots:
        return True
    # Without a placeholder it may be a system message; but so may any listing be.
    announced = is_prompt_name(prompt.name) or _ROLE_START.match(template.literal) is not None
    return announced and has_judge_words(template.literal) and length_of(template.literal) >= MIN_PLAIN


# -- sections


class _Section(Struct, frozen=True):
    first: int
    last: int
    names: tuple[str, ...]


def _beside(
    lines: Sequence[str],
    headings: Sequence[_Heading],
    fences: Sequence[_Fence],
    fenced: Sequence[FoundPrompt],
    notes: list[str],
) -> Iterator[FoundPrompt]:
    """The prompts under separate headings, in a document whose other prompts stand in fences."""
    prose = _prose(lines, fences)
    taken = [prompt.first_line - 1 for prompt in fenced]
    done = 0
    for number, (heading, end) in enumerate(zip(headings, _ends(headings, len(lines)), strict=True)):
        first = heading.line + 1
        has_fence = bisect_left(taken, first) < bisect_left(taken, end)
        if heading.line < done or has_fence:
            continue
        # What stands below it is looked at as part of it.
        done = end
        behind = bisect_left(headings, end, key=lambda other: other.line)
        section = _Section(first, end, heading.names)
        for prompt in _from_sections(lines, prose, headings[number + 1 : behind], section):
            under = (
                f"line {prompt.first_line}: the text under '{prompt.name}' stands in no fence, "
                f"unlike other prompts here"
            )
            if templated(_INLINE_CODE.sub("", prompt.template.text)).slots:
                notes.append(f"{under}; it was imported too. Delete its folder if it is no prompt.")
                yield prompt
            else:
                notes.append(
                    f"{under}, and names placeholders only in backquotes; it was taken for an "
                    f"explanation and left "
                    "out. Put it into a fence to import it."
                )


def _ends(headings: Sequence[_Heading], end: int) -> list[int]:
    """Where the section of each heading ends: at the next one of its level or above."""
    ends = [end] * len(headings)
    opened: list[int] = []
    for number, heading in enumerate(headings):
        while opened and headings[opened[-1]].level >= heading.level:
            ends[opened.pop()] = heading.line
        opened.append(number)
    return ends


def _prose(lines: Sequence[str], fences: Sequence[_Fence]) -> list[str]:
    """The lines without listings: one belongs to the prompt around it, but does not make a text a prompt."""
    prose = list(lines)
    for fence in fences:
        if fence.language in (*_CODE, *_PYTHON):
            prose[fence.first : fence.last] = [""] * (fence.last - fence.first)
    return prose


def _from_sections(
    lines: Sequence[str], prose: Sequence[str], headings: Sequence[_Heading], document: _Section
) -> list[FoundPrompt]:
    """The prompts under headings, or the one prompt that the section as a whole is.

    Headings may divide prompts or belong to one. They divide on the highest level on which two or
    more sections look like prompts; where there is none, the innermost section that holds all
    placeholders is the prompt.
    """
    best = document
    slots = set(_prompt_of_section(prose, best).template.slots)
    if not slots:
        return []
    for level in range(1, 7):
        prompts = []
        for section in _sections(headings, document.last, level):
            prompt = _prompt_of_section(prose, section)
            if _is_section_prompt(prompt):
                prompts.append((section, prompt))
        if len(prompts) > 1:
            return [_prompt_of_section(lines, section) for section, _ in prompts]
        if len(prompts) == 1 and set(prompts[0][1].template.slots) == slots:
            best = prompts[0][0]
    return [_prompt_of_section(lines, best)] if _is_section_prompt(_prompt_of_section(prose, best)) else []


def _sections(headings: Sequence[_Heading], end: int, level: int) -> Iterator[_Section]:
    """The stretches from each heading of a level to the next heading of this level or above."""
    opened: _Heading | None = None
    for heading in headings:
        if heading.level > level:
            continue
        if opened is not None:
            yield _Section(opened.line + 1, heading.line, opened.names)
        opened = heading if heading.level == level else None
    if opened is not None:
        yield _Section(opened.line + 1, end, opened.names)


def _prompt_of_section(lines: Sequence[str], section: _Section) -> FoundPrompt:
    first, last = section.first, section.last
    while first < last and lines[first].strip().lower() in _LAYOUT_LINES:
        first += 1
    while last > first and lines[last - 1].strip().lower() in _LAYOUT_LINES:
        last -= 1
    undone = "The heading above the prompt, and blank or ruled lines around it, were taken for layout."
    template, braces_undone, braces_doubts = _braces("\n".join(lines[first:last]).removesuffix("\r"))
    return FoundPrompt(
        section.names,
        template,
        first_line=first + 1,
        last_line=last,
        undone=(undone, *braces_undone),
        doubts=("no fence marks where this prompt begins and ends; check both", *braces_doubts),
    )


def _is_section_prompt(prompt: FoundPrompt) -> bool:
    template = prompt.template
    return bool(template.slots) and is_prose(template) and has_judge_words(template.literal)

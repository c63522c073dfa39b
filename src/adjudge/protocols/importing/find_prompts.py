"""Prompts in a Python file: its string constants, found in the syntax tree.

Nothing is executed or imported. F-strings are left out: their text exists only while the
program runs, and what stands in their braces is code, not the name of an input.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import textwrap
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ...errors import DataError
from .folders import Template, templated, templated_as_format, templated_by_braces

# Reading the file that someone wants to import: text, or a clear reason why not.
#
# This file knows bytes and limits. It does not know what a prompt looks like, and it decodes
# strictly: a prompt whose bytes were guessed would no longer be the original.


LIMIT_BYTES = 5_000_000
"""Larger than any document of prompts that we know of; a larger file is surely something else."""

_OTHER_FORMATS = (".json", ".jsonl", ".yaml", ".yml", ".toml", ".csv", ".tsv", ".ipynb", ".html", ".xml")
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Document(Struct, frozen=True):
    """A file of prompts: its name without folders, the sha256 of its bytes, and its text."""

    name: str
    sha256: str
    text: str

    @property
    def suffix(self) -> str:
        """The ending of the name, in small letters, with its dot."""
        return Path(self.name).suffix.lower()


def read_document(path: str | Path) -> Document:
    """The document at `path`. Raises `DataError` where it cannot be a document of prompts."""
    path = Path(path)
    content = _file_content(path)
    if path.suffix.lower() in _OTHER_FORMATS:
        raise DataError(
            f"{path}: a {path.suffix.lower()} file is neither Markdown nor Python. "
            "Save the prompts in a .md file, one under each heading or in each fence, and import that."
        )
    if content.startswith(_UTF16_MARKS):
        raise DataError(f"{path}: the text is in UTF-16. Save it as UTF-8 and import it again.")
    if b"\0" in content:
        raise DataError(
            f"{path}: this is a binary file (a zero byte at position {content.index(0)}). "
            "Give a Markdown or Python file that holds prompts."
        )
    try:
        # A byte order mark belongs to the encoding, not to the text.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path} line {line}: byte {error.start} is not UTF-8. "
            "Save the file as UTF-8; nothing was guessed, so that no character of a prompt changes."
        ) from error
    return Document(path.name, hashlib.sha256(content).hexdigest(), text)


def _file_content(path: Path) -> bytes:
    """The bytes of a regular file within the limit."""
    try:
        if path.is_dir():
            raise DataError(f"{path}: this is a folder. Give one Markdown or Python file of prompts.")
        if not path.exists():
            raise DataError(f"{path}: there is no such file. Check the path.")
        if not path.is_file():
            raise DataError(f"{path}: this is not a regular file. Give a Markdown or Python file of prompts.")
        with path.open("rb") as file:
            # One byte more than allowed tells a large file without reading all of it.
            content = file.read(LIMIT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path}: the file cannot be read ({error}). Check the path and its rights."
        ) from error
    if len(content) > LIMIT_BYTES:
        size = path.stat().st_size / 1e6
        raise DataError(
            f"{path}: {size:.1f} MB is more than the {LIMIT_BYTES / 1e6:.0f} MB that a document of prompts may "
            "have. Cut out the part with the prompts and import that."
        )
    return content


# What the search for prompts in a document comes back with, and what counts as a prompt.


MIN_LITERAL = 12
"""Characters beside its placeholders that a text needs to be a prompt."""

MIN_UNANNOUNCED = 20
"""The same for a Python string whose name does not announce a prompt."""

MIN_PLAIN = 40
"""Characters that a text without placeholders needs."""

_JUDGE_WORDS = re.compile(
    r"\b(?:scor(?:e[sd]?|ing)|rat(?:e|es|ing|ings)|evaluat\w{1,6}|judg\w{1,8}|grad(?:e[sdr]?|ing)|assess\w{0,6}"
    r"|rank(?:s|ing)?|criteri(?:on|a)|rubrics?|verdict|compare|better)\b"
    r"|评分|打分|评价|评估|评判|得分|分数|평가|점수|채점|판단|評価|採点|比較",
    re.IGNORECASE,
)
_PROMPT_NAMES = re.compile(
    r"prompt|template|instruction|judge|rubric|system|提示|프롬프트|지시|プロンプト", re.IGNORECASE
)
_SYSTEM_NAMES = re.compile(
    r"\W*sys(?:tem)?\W*|.*\bsys(?:tem)?[\W_]*(?:prompt|message|msg|text|instruction|role|content).*"
    r"|\S*_sys(?:tem)?(?:_\S*)?|sys(?:tem)?_\S*|.*(?:系统|시스템|システム).*",
    re.IGNORECASE | re.DOTALL,
)
"""A heading that merely speaks of a system, such as the one that is judged, is not meant."""

_WORD_BREAK = re.compile(r"\s")
_DENSE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")


class FoundPrompt(Struct, frozen=True):
    """A text that may be a prompt, with the names around it and its place in the document."""

    names: tuple[str, ...]
    """the heading or variable, then what stands around it, innermost first"""
    template: Template
    first_line: int
    last_line: int
    undone: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The innermost name, or nothing."""
        return self.names[0] if self.names else ""


class Search(Struct):
    """All that was found, and what was left out with a reason."""

    prompts: list[FoundPrompt]
    notes: list[str]


def has_judge_words(text: str) -> bool:
    """Whether the text speaks of scoring, in English, Chinese, Korean or Japanese."""
    return _JUDGE_WORDS.search(text) is not None


def is_prompt_name(name: str) -> bool:
    """Whether a heading or a variable announces a prompt."""
    return _PROMPT_NAMES.search(name) is not None


def is_system(prompt: FoundPrompt) -> bool:
    """Whether a text is meant as the system message of the prompts that follow it."""
    return _SYSTEM_NAMES.fullmatch(prompt.name[:200]) is not None


def is_prose(template: Template, minimum: int = MIN_LITERAL) -> bool:
    """Whether there is enough text beside the placeholders, and more than a path or a key."""
    literal = template.literal.strip()
    breaks = len(_WORD_BREAK.findall(literal))
    return length_of(literal) >= minimum and breaks + len(_DENSE.findall(literal)) >= 3


def length_of(text: str) -> int:
    """Its characters; one that stands for a syllable or a word counts as three."""
    return len(text) + 2 * len(_DENSE.findall(text))


# Prompts in a Markdown text: in its fences, and under headings that have no such fence.
#
# Simple rules, not a Markdown parser: lines that open and close a fence, lines that are headings.
# Whether a fence holds a prompt is decided by its words and placeholders; what it means is not
# known here.


_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_LANGUAGE = re.compile(r"\w[\w+#.-]*(?:[ \t]+(?:[\w-]+=\S+|\{.*\}))*|\{.*\}")
"""What may follow the marks of an opening fence; anything else is text that sticks to it."""

_MARKDOWN = ("markdown", "md")
_PYTHON = ("python", "py", "python3", "pycon")
_CODE = (
    "json", "jsonc", "json5", "jsonl", "yaml", "yml", "toml", "xml", "html", "css", "csv", "sh", "bash", "shell",
    "console", "zsh", "powershell", "javascript", "js", "typescript", "ts", "tsx", "jsx", "java", "c", "cpp", "go",
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
            tree = parsed(_content(lines, fence))
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
        doubt = "doubled braces became single ones, since the placeholders have single ones; see that the prompt means it so"
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
            under = f"line {prompt.first_line}: the text under '{prompt.name}' stands in no fence, unlike other prompts here"
            if templated(_INLINE_CODE.sub("", prompt.template.text)).slots:
                notes.append(f"{under}; it was imported too. Delete its folder if it is no prompt.")
                yield prompt
            else:
                notes.append(
                    f"{under}, and names placeholders only in backquotes; it was taken for an explanation and left "
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


MIN_UNNAMED = 120
"""Characters that a string needs where no name says what it is; messages of a program are shorter."""

KEPT_BRACES = (
    "doubled braces were kept; if str.format fills this prompt, write the literal ones as single braces"
)

_FORMAT_METHODS = ("format", "format_map")
_ROLES = ("system", "user", "human", "assistant", "ai")
_STRIPS: dict[str, Callable[[str], str]] = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}
_DEDENTS: dict[str, Callable[[str], str]] = {"dedent": textwrap.dedent, "cleandoc": inspect.cleandoc}


class _Constant(Struct, frozen=True):
    """A string constant with the names around it, innermost first."""

    value: str
    names: tuple[str, ...]
    node: ast.expr
    undone: tuple[str, ...] = ()


def parsed(source: str) -> ast.Module | None:
    """The syntax tree of a text, or none where it is no Python."""
    tree = _parse(source)
    return tree if isinstance(tree, ast.Module) else None


def syntax_problem(source: str) -> str:
    """Why a text is no Python, with the line where that is known."""
    problem = _parse(source)
    if isinstance(problem, SyntaxError):
        return f"line {problem.lineno}: {problem.msg}"
    return "" if isinstance(problem, ast.Module) else str(problem) or type(problem).__name__


def _parse(source: str) -> ast.Module | Exception:
    try:
        with warnings.catch_warnings():
            # An invalid escape in someone's file is not our user's concern.
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error


def string_variables(source: str) -> dict[str, str]:
    """The string constants that a Python text assigns to names at its top level."""
    tree = parsed(source)
    if tree is None:
        raise DataError("the document is not valid Python. Give it unchanged.")
    constants = (constant for constant in _constants(tree)[0] if constant.names)
    return {constant.names[0]: constant.value for constant in constants}


def prompts_in_python(tree: ast.Module, first_line: int = 1) -> Search:
    """The prompts among the string constants of a tree whose text begins at `first_line`."""
    constants, f_strings = _constants(tree)
    formatted = _formatted(tree)
    search = Search([], [])
    for constant in constants:
        prompt = _prompt_of_constant(constant, formatted, first_line - 1)
        if _is_prompt_string(prompt):
            if _is_unicode(constant.value):
                search.prompts.append(prompt)
            else:
                search.notes.append(
                    f"line {prompt.first_line}: a string with an invalid character (half a surrogate pair) was left out."
                )
    if f_strings:
        lines = ", ".join(str(node.lineno + first_line - 1) for node in f_strings[:5])
        search.notes.append(
            f"{len(f_strings)} f-string(s) that look like prompts were left out (line {lines}): what stands in "
            "their braces is code. Write them as plain strings with {name} to import them."
        )
    return search


def _is_prompt_string(prompt: FoundPrompt) -> bool:
    template = prompt.template
    announced = prompt.name in _ROLES or any(is_prompt_name(name) for name in prompt.names)
    if not is_prose(template, MIN_LITERAL if announced else MIN_UNANNOUNCED):
        return False
    speaks = has_judge_words(template.literal)
    if not prompt.names:
        return speaks and bool(template.slots) and length_of(template.literal) >= MIN_UNNAMED
    if template.slots:
        return speaks or announced
    return speaks and announced and length_of(template.literal) >= MIN_PLAIN


def _prompt_of_constant(constant: _Constant, formatted: set[str | int], offset: int) -> FoundPrompt:
    template, undone, doubts = _template(constant, formatted)
    node = constant.node
    return FoundPrompt(
        names=constant.names,
        template=template,
        first_line=node.lineno + offset,
        last_line=(node.end_lineno or node.lineno) + offset,
        undone=(
            "The Python string was evaluated: escapes became the characters they stand for.",
            *constant.undone,
            *undone,
        ),
        doubts=doubts,
    )


def _template(
    constant: _Constant, formatted: set[str | int]
) -> tuple[Template, tuple[str, ...], tuple[str, ...]]:
    """The string as a template: doubled braces are undone only where the file itself formats it."""
    value = constant.value
    plain = templated(value)
    is_formatted = id(constant.node) in formatted or (
        constant.names[:1] != () and constant.names[0] in formatted
    )
    if is_formatted and (template := templated_as_format(value)) is not None:
        undone = ("Doubled braces became single ones, since the file fills this string with str.format.",)
        return template, undone if template.doubled_braces else (), ()
    has_single = "{" in value.replace("{{", "") and bool(plain.slots)
    if is_formatted or (has_single and "{{" in value):
        return plain, (), (KEPT_BRACES,) if "{{" in value or "}}" in value else ()
    return plain, (), ()


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# -- walking the tree


def _constants(tree: ast.Module) -> tuple[list[_Constant], list[ast.JoinedStr]]:
    """All string constants but docstrings, in the order of the file, and f-strings about judging."""
    constants: list[_Constant] = []
    f_strings: list[ast.JoinedStr] = []
    # An explicit stack: a long chain of operators is as deep as it is long.
    stack: list[tuple[ast.AST, tuple[str, ...]]] = [(tree, ())]
    while stack:
        node, names = stack.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring, or a string that nothing uses
        if isinstance(node, ast.expr) and (folded := _folded(node)) is not None:
            value, undone = folded
            constants.append(_Constant(value, names, node, undone))
            continue
        if isinstance(node, ast.JoinedStr):
            if _is_judging(node):
                f_strings.append(node)
            continue
        stack.extend(reversed(list(_children(node, names))))
    return constants, f_strings


def _children(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[ast.AST, tuple[str, ...]]]:
    """The nodes below one, each with the names that now stand around it."""
    if isinstance(node, ast.Assign):
        yield node.value, (*_target_names(node.targets), *names)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.value, (*_target_names([node.target]), *names)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        for child in ast.iter_child_nodes(node):
            yield child, (node.name, *names)
    elif isinstance(node, ast.Dict):
        role = _role(node)
        for key, value in zip(node.keys, node.values, strict=True):
            name = _text(key)
            yield value, (role if role and name == "content" else name, *names) if name else names
    elif isinstance(node, ast.Tuple) and len(node.elts) == 2 and _text(node.elts[0]) in _ROLES:
        yield node.elts[1], (_text(node.elts[0]), *names)
    elif isinstance(node, ast.Call):
        yield node.func, names
        # A positional argument is a message more often than a prompt, unless a name announces it.
        kept = names if names and is_prompt_name(names[0]) else ()
        for argument in node.args:
            yield argument, kept
        for keyword in node.keywords:
            yield keyword.value, (keyword.arg, *names) if keyword.arg else names
    elif isinstance(node, ast.Expr | ast.Raise | ast.Assert | ast.Compare):
        for child in ast.iter_child_nodes(node):
            yield child, ()
    else:
        for child in ast.iter_child_nodes(node):
            yield child, names


def _text(node: ast.AST | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _role(node: ast.Dict) -> str:
    """Who speaks in a chat message written as a dict: its content goes by that name."""
    for key, value in zip(node.keys, node.values, strict=True):
        if _text(key) == "role":
            return _text(value)
    return ""


def _target_names(targets: list[ast.expr]) -> list[str]:
    names = []
    for target in targets:
        if isinstance(target, ast.Name):
            names.append(target.id)
        elif isinstance(target, ast.Attribute):
            names.append(target.attr)
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            names.append(str(target.slice.value))
    return names[:1]


def _folded(node: ast.expr, depth: int = 4) -> tuple[str, tuple[str, ...]] | None:
    """The string that an expression of constants alone comes to, and what was worked out for it."""
    if isinstance(node, ast.Constant):
        return (node.value, ()) if isinstance(node.value, str) else None
    if isinstance(node, ast.BinOp):
        return _joined(node)
    if not isinstance(node, ast.Call) or node.keywords or depth == 0:
        return None
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if isinstance(function, ast.Attribute) and name in _STRIPS and not node.args:
        inner, change = _folded(function.value, depth - 1), _STRIPS[name]
    elif name in _DEDENTS and len(node.args) == 1:
        inner, change = _folded(node.args[0], depth - 1), _DEDENTS[name]
    else:
        return None
    return (change(inner[0]), (*inner[1], f"The string is used as {name}() leaves it.")) if inner else None


def _joined(node: ast.BinOp) -> tuple[str, tuple[str, ...]] | None:
    """A chain of `"…" + "…"`; the chain leans to the left, so it is walked down there."""
    parts: list[str] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        if not isinstance(left.right, ast.Constant) or not isinstance(left.right.value, str):
            return None
        parts.append(left.right.value)
        left = left.left
    if not isinstance(left, ast.Constant) or not isinstance(left.value, str):
        return None
    parts.append(left.value)
    return "".join(reversed(parts)), ("Strings joined by + became one.",)


def _is_judging(node: ast.JoinedStr) -> bool:
    text = "".join(
        part.value for part in node.values if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )
    return len(text) >= MIN_PLAIN and has_judge_words(text)


def _formatted(tree: ast.Module) -> set[str | int]:
    """What the file calls `.format` on: names, and constants by their identity."""
    owners: set[str | int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in _FORMAT_METHODS:
            owner = node.func.value
            owners.update([id(owner), *_target_names([owner])])
    return owners

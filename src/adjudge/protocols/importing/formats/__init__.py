"""How prompts are found in each format of file: Markdown, Python, TypeScript, JSON, YAML and plain
templates."""

from __future__ import annotations

import re
from pathlib import Path

from msgspec.structs import replace

from ....errors import DataError
from ..document import Document
from ..found_prompt import Facts, FoundPrompt, Search, is_prose
from ..placeholders import templated_by_braces
from .chat import has_messages, split_messages
from .markdown import prompts_in_markdown
from .python import prompts_in_python, syntax_problem, syntax_tree
from .tables import prompts_in_table
from .typescript import prompts_in_typescript

TABLES = (".json", ".jsonl", ".yaml", ".yml", ".ndjson")
SCRIPTS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts")
TEMPLATES = (
    ".jinja",
    ".jinja2",
    ".j2",
    ".prompty",
    ".prompt",
    ".tmpl",
    ".tpl",
    ".mustache",
    ".hbs",
    ".handlebars",
)

NAMED_BY_FILE = (*TABLES, *SCRIPTS, *TEMPLATES)
"""Formats in which a file often holds one prompt, so that its name says what it is."""

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n---[ \t]*\n", re.DOTALL)
_NAME = re.compile(r"^name:[ \t]*[\"']?([^\"'\n]{1,80})", re.MULTILINE)
_HEADING = re.compile(r"\A\s*(?:#{1,6} |```|~~~)")


def find_prompts(document: Document, path: Path) -> Search:
    """The prompts of a document, read as what its name and its content say that it is."""
    search = _by_format(document, path)
    by_lines = document.suffix in TEMPLATES
    search.prompts = [
        message
        for prompt in search.prompts
        for message in split_messages(prompt, by_lines=by_lines)
        if message.template.literal.strip(" \n\N{OBJECT REPLACEMENT CHARACTER}") or message is prompt
    ]
    return search


def _by_format(document: Document, path: Path) -> Search:
    text, suffix = document.text, document.suffix
    if suffix in TABLES:
        return prompts_in_table(document, path)
    if suffix in SCRIPTS:
        return prompts_in_typescript(text)
    if suffix == ".py":
        tree = syntax_tree(text)
        if tree is None:
            raise DataError(
                f"{path} is not valid Python ({syntax_problem(text)}), so its strings cannot be found. "
                "Fix it, or save the prompts in a .md file."
            )
        return prompts_in_python(tree)
    if suffix in TEMPLATES or has_messages(text):
        return _whole(document)
    if suffix in ("", ".txt"):
        tree = syntax_tree(text)
        if tree is not None and (search := prompts_in_python(tree)).prompts:
            return search
        if suffix == ".txt" and not _HEADING.match(text):
            search = prompts_in_markdown(text)
            # Headings inside one prompt do not divide it; a part alone would not be what the file says.
            return search if len(search.prompts) > 1 else _whole(document)
    return prompts_in_markdown(text)


def _whole(document: Document) -> Search:
    """A file that is one prompt from its first to its last word."""
    text = document.text
    undone = []
    facts = Facts()
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        undone.append("The settings above the prompt were left out.")
        if name := _NAME.search(front[1]):
            facts = Facts(name=name[1].strip())
    template, is_doubtful = templated_by_braces(text.strip("\n"))
    doubts = ("doubled braces: see that the prompt means them as they are now",) if is_doubtful else ()
    prompt = FoundPrompt(
        names=(facts.name or Path(document.name).name.split(".")[0],),
        template=template,
        first_line=1,
        last_line=document.text.count("\n") + 1,
        undone=(*undone, "Blank lines around the text were taken for layout."),
        doubts=doubts,
        facts=facts,
    )
    if not template.slots or not is_prose(template):
        return Search([], [])
    return Search([replace(prompt, names=prompt.names)], [])

"""Prompts in a Python file: its strings, also where f-strings and variables put them together.

Nothing is executed or imported: what a name stands for is looked up in the syntax tree, and what only the
running program knows becomes a slot.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ....errors import DataError
from ..found_prompt import (
    MIN_LITERAL,
    MIN_PLAIN,
    MIN_UNANNOUNCED,
    Facts,
    FoundPrompt,
    Search,
    has_judge_words,
    is_markup,
    is_prompt_name,
    is_prose,
    length_of,
)
from ..placeholders import Slot, Template, template_of, templated, templated_as_format
from .python_values import Scope, Value, evaluated, pieces_of, scope_of, target_names
from .tables import FACT_KEYS, SYSTEM_KEYS, USER_KEYS, facts_beside

MIN_UNNAMED = 120
"""Characters that a string needs where no name says what it is; messages of a program are shorter."""

KEPT_BRACES = (
    "doubled braces were kept; if str.format fills this prompt, write the literal ones as single braces"
)

_FORMAT_METHODS = ("format", "format_map")
_ROLES = ("system", "user", "human", "assistant", "ai")
_CALLED_ROLES = {
    "SystemMessage": "system", "SystemMessagePromptTemplate": "system", "ChatMessageSystem": "system",
    "HumanMessage": "user", "HumanMessagePromptTemplate": "user", "ChatMessageUser": "user",
    "UserMessage": "user",
    "AIMessage": "assistant", "AIMessagePromptTemplate": "assistant", "ChatMessageAssistant": "assistant",
}  # fmt: skip
JOINED_TURNS = (
    "several turns were joined into one message; see whether the examples among them still read well"
)


class _Found(Struct, frozen=True):
    """A text of the file, with the names around it, innermost first, and its message where it is one."""

    value: Value
    names: tuple[str, ...]
    node: ast.expr
    role: str = ""
    group: str = ""
    doubts: tuple[str, ...] = ()
    facts: Facts = Facts()


def syntax_tree(source: str) -> ast.Module | None:
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
    tree = syntax_tree(source)
    if tree is None:
        raise DataError("the document is not valid Python. Give it unchanged.")
    return {found.names[0]: found.value.text for found in _texts(tree) if found.names}


def prompts_in_python(tree: ast.Module, first_line: int = 1) -> Search:
    """The prompts among the strings of a tree whose text begins at `first_line`."""
    formatted = _formatted(tree)
    search = Search([], [])
    chosen: list[tuple[_Found, FoundPrompt]] = []
    for found in _texts(tree):
        prompt = _prompt(found, formatted, first_line - 1)
        if not _is_prompt(prompt):
            continue
        if _is_unicode(found.value.text):
            chosen.append((found, prompt))
        else:
            where = f"line {prompt.first_line}: a string with an invalid character (half a surrogate pair)"
            search.notes.append(f"{where} was left out.")
    # A string that is part of a longer prompt is no prompt by itself.
    parts = {part for found, _ in chosen for part in found.value.parts}
    search.prompts = [
        prompt for found, prompt in chosen if id(found.node) not in parts or found.group or found.value.parts
    ]
    return search


def _is_prompt(prompt: FoundPrompt) -> bool:
    template = prompt.template
    if prompt.group:
        return bool(template.literal.strip())
    if is_markup(template.literal):
        return False
    announced = prompt.name in _ROLES or any(is_prompt_name(name) for name in prompt.names)
    if not is_prose(template, MIN_LITERAL if announced else MIN_UNANNOUNCED):
        return False
    speaks = has_judge_words(template.literal)
    if not prompt.names:
        return speaks and bool(template.slots) and length_of(template.literal) >= MIN_UNNAMED
    if template.slots:
        return speaks or announced
    return speaks and announced and length_of(template.literal) >= MIN_PLAIN


def _prompt(found: _Found, formatted: set[str | int], offset: int) -> FoundPrompt:
    template, undone, doubts = _template(found, formatted)
    node = found.node
    named = tuple(name for name in found.names if name != "messages") if found.facts.name else found.names
    return FoundPrompt(
        names=(found.facts.name, *named) if found.facts.name else named,
        template=template,
        first_line=node.lineno + offset,
        last_line=(node.end_lineno or node.lineno) + offset,
        undone=(
            "The Python string was evaluated: escapes became the characters they stand for.",
            *found.value.undone,
            *undone,
        ),
        doubts=(*doubts, *found.value.doubts, *found.doubts),
        role=found.role,
        group=found.group,
        facts=found.facts,
    )


def _template(found: _Found, formatted: set[str | int]) -> tuple[Template, tuple[str, ...], tuple[str, ...]]:
    """The string as a template: doubled braces are undone only where the file itself formats it."""
    pieces = list(pieces_of(found.value.text))
    if any(isinstance(piece, Slot) for piece in pieces):
        # What stands in the braces of an f-string is known; a name in doubled braces waits for str.format.
        inner: list[str | Slot] = []
        for piece in pieces:
            inner += _again(templated(piece)) if isinstance(piece, str) else [piece]
        return template_of(inner), (), ()
    value = found.value.text
    plain = templated(value)
    is_formatted = id(found.node) in formatted or (found.names[:1] != () and found.names[0] in formatted)
    if is_formatted and (template := templated_as_format(value)) is not None:
        undone = ("Doubled braces became single ones, since the file fills this string with str.format.",)
        return template, undone if template.doubled_braces else (), ()
    has_single = "{" in value.replace("{{", "") and bool(plain.slots)
    if is_formatted or (has_single and "{{" in value):
        return plain, (), (KEPT_BRACES,) if "{{" in value or "}}" in value else ()
    return plain, (), ()


def _again(template: Template) -> list[str | Slot]:
    """A template as its pieces."""
    pieces: list[str | Slot] = []
    rest = template.text
    while rest:
        places = [(rest.find("{{" + slot + "}}"), slot) for slot in template.slots]
        place, slot = min(((at, slot) for at, slot in places if at >= 0), default=(-1, ""))
        if place < 0:
            return [*pieces, rest]
        pieces += [rest[:place], Slot(slot)]
        rest = rest[place + len(slot) + 4 :]
    return pieces


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


# -- walking the tree


def _texts(tree: ast.Module) -> list[_Found]:
    """All texts but docstrings, in the order of the file."""
    texts: list[_Found] = []
    # An explicit stack: a long chain of operators is as deep as it is long.
    stack: list[tuple[ast.AST, tuple[str, ...], Scope, Facts]] = [(tree, (), scope_of(tree, None), Facts())]
    while stack:
        node, names, scope, facts = stack.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring, or a string that nothing uses
        if isinstance(node, ast.List | ast.Tuple) and (messages := _messages(node, names, scope)):
            texts += [replace(message, facts=facts) for message in messages]
            continue
        if isinstance(node, ast.Dict | ast.Call):
            facts = _facts(node, facts)
            if record := _record(node, names, scope):
                texts += [replace(text, facts=facts) for text in record]
                continue
        if isinstance(node, ast.Call) and (filled := _filled(node, scope)) is not None:
            texts.append(_Found(filled, names, node, facts=facts))
            continue
        if isinstance(node, ast.Constant | ast.JoinedStr | ast.BinOp | ast.Call):
            value = evaluated(node, scope)
            if value is not None:
                texts.append(_Found(value, names, node, facts=facts))
                continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            scope = scope_of(node, scope)
        below = reversed(list(_children(node, names)))
        stack.extend((child, around, scope, facts) for child, around in below)
    return texts


def _entries(node: ast.Dict | ast.Call) -> dict[str, ast.expr]:
    """The values of a dict by their keys, or the arguments of a call by their names."""
    if isinstance(node, ast.Call):
        return {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    return {_text(key): value for key, value in zip(node.keys, node.values, strict=True) if _text(key)}


def _facts(node: ast.Dict | ast.Call, above: Facts) -> Facts:
    """What comes with a prompt in one dict or call: its verdicts, and which end is good."""
    entries = _entries(node)
    if not any(key in entries for key in (*USER_KEYS, "messages")):
        return above
    said = {}
    for key in FACT_KEYS:
        try:
            said[key] = ast.literal_eval(entries[key]) if key in entries else None
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            continue
    return facts_beside(said, above)


def _messages(node: ast.List | ast.Tuple, names: tuple[str, ...], scope: Scope) -> list[_Found]:
    """The messages of a chat that the file writes as a list, as one system text and one user text."""
    said: list[tuple[str, ast.expr, Value]] = []
    for entry in node.elts:
        role, content = _message(entry)
        value = evaluated(content, scope, follow=True) if content is not None else None
        if not role or content is None or value is None:
            return []
        said.append((role, content, value))
    group = f"messages at line {node.lineno}"
    doubts = (JOINED_TURNS,) if sum(role != "system" for role, _, _ in said) > 1 else ()
    found = []
    for role in ("system", "user"):
        parts = [(content, value) for who, content, value in said if (who == "system") == (role == "system")]
        if parts:
            value = Value(
                "\n\n".join(part.text for _, part in parts),
                tuple(dict.fromkeys(point for _, part in parts for point in part.undone)),
                tuple(dict.fromkeys(point for _, part in parts for point in part.doubts)),
                frozenset().union(*(part.parts for _, part in parts)),
            )
            found.append(_Found(value, names, parts[0][0], role, group, doubts if role == "user" else ()))
    is_prompt = any(isinstance(piece, Slot) for one in found for piece in pieces_of(one.value.text))
    is_prompt = is_prompt or any(templated(one.value.text).slots for one in found)
    # A message that is nothing but a variable says nothing here: the variable is looked at where it is set.
    return found if is_prompt and all(_says_something(one.value) for one in found) else []


def _record(node: ast.Dict | ast.Call, names: tuple[str, ...], scope: Scope) -> list[_Found]:
    """A system text and a user text under keys of one dict, or as arguments of one call."""
    entries = _entries(node)
    system = next((key for key in SYSTEM_KEYS if key in entries), "")
    user = next((key for key in USER_KEYS if key in entries), "")
    if not user or not (system or {*entries} & {*templated_names(entries.get(user), scope)}):
        return []
    values = {key: evaluated(entries[key], scope, follow=True) for key in (system, user) if key}
    if any(value is None or not _says_something(value) for value in values.values()):
        return []
    group = f"record at line {node.lineno}"
    found = []
    for key, value in values.items():
        assert value is not None
        role = "system" if key == system else "user"
        # A placeholder that is the name of another text of the record is filled with it.
        for name in templated_names(entries[key], scope):
            other = evaluated(entries[name], scope, follow=True) if name in entries and name != key else None
            if other is not None and _says_something(other):
                text = value.text.replace("{" + name + "}", other.text)
                value = Value(
                    text,
                    (*value.undone, f"The text of '{name}' was put in."),
                    value.doubts,
                    value.parts | other.parts,
                )
        found.append(
            _Found(value, names or (key,), entries[key], role if system else "", group if system else "")
        )
    return found


def templated_names(node: ast.expr | None, scope: Scope) -> tuple[str, ...]:
    """The placeholders of the text that an expression comes to."""
    value = evaluated(node, scope, follow=True) if node is not None else None
    return templated(value.text).slots if value is not None else ()


def _filled(node: ast.Call, scope: Scope) -> Value | None:
    """`TEMPLATE.format(…)` that puts a text of the file into a template of the file."""
    if not (isinstance(node.func, ast.Attribute) and node.func.attr == "format" and node.keywords):
        return None
    value = evaluated(node, scope, follow=True)
    return value if value is not None and len(value.parts) > 1 else None


def _says_something(value: Value) -> bool:
    return any(isinstance(piece, str) and piece.strip() for piece in pieces_of(value.text))


def _message(node: ast.expr) -> tuple[str, ast.expr | None]:
    """The role of a chat message and the expression of its content."""
    if isinstance(node, ast.Dict):
        entries = {_text(key): value for key, value in zip(node.keys, node.values, strict=True)}
        role = _text(entries.get("role"))
        return role.lower() if role.lower() in (*_ROLES, "developer") else "", entries.get("content")
    if isinstance(node, ast.Tuple) and len(node.elts) == 2 and _text(node.elts[0]) in _ROLES:
        return _text(node.elts[0]), node.elts[1]
    if isinstance(node, ast.Call):
        entries = _entries(node)
        if (role := _text(entries.get("role")).lower()) in (*_ROLES, "developer") and "content" in entries:
            return role, entries["content"]
        function = node.func
        owner = function.value if isinstance(function, ast.Attribute) else function
        name = owner.id if isinstance(owner, ast.Name) else ""
        if role := _CALLED_ROLES.get(name, ""):
            named = [
                keyword.value for keyword in node.keywords if keyword.arg in ("content", "template", "prompt")
            ]
            return role, (named or list(node.args) or [None])[0]  # type: ignore[list-item]
    return "", None


def _children(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[ast.AST, tuple[str, ...]]]:
    """The nodes below one, each with the names that now stand around it."""
    if isinstance(node, ast.Assign):
        yield node.value, (*target_names(node.targets), *names)
    elif isinstance(node, ast.AnnAssign) and node.value is not None:
        yield node.value, (*target_names([node.target]), *names)
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


def _formatted(tree: ast.Module) -> set[str | int]:
    """What the file calls `.format` on: names, and constants by their identity."""
    owners: set[str | int] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        if node.func.attr in _FORMAT_METHODS:
            owner = node.func.value
            owners.update([id(owner), *target_names([owner])])
    return owners

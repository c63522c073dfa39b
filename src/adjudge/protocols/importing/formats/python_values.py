"""What a string expression of a Python file comes to, worked out from the syntax tree alone.

A name is followed where the file sets it once; what only the running program knows becomes a slot. Slots
stand in the text between two private characters, so that methods such as `strip` and `dedent` can be
applied to it.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ..placeholders import Slot, templated_as_format

_OPEN, _CLOSE = "\ue000", "\ue001"
_MARKED = re.compile(f"{_OPEN}(\\w+){_CLOSE}")
_DEPTH = 8
_LONGEST = 100_000
"""Longer texts are not put into others: a few lines could otherwise fill the memory."""
_STRIPS: dict[str, Callable[[str], str]] = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}
_DEDENTS: dict[str, Callable[[str], str]] = {"dedent": textwrap.dedent, "cleandoc": inspect.cleandoc}


class Value(Struct, frozen=True):
    """A text, with what was undone for it, what is in doubt, and the strings that are parts of it."""

    text: str
    undone: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    parts: frozenset[int] = frozenset()


class Scope(Struct):
    """The names that a module, a class or a function sets, each with the expression where it is set once."""

    values: dict[str, ast.expr | None]
    above: Scope | None
    is_class: bool = False
    followed: dict[int, Value | None] = {}
    """what was worked out already: a chain of sums would otherwise be followed again for every operand"""

    def find(self, name: str) -> tuple[ast.expr, Scope] | None:
        """The expression that a name is set to."""
        scope: Scope | None = self
        while scope is not None:
            # A function does not see the names of the class around it.
            if name in scope.values and (scope is self or not scope.is_class):
                value = scope.values[name]
                return (value, scope) if value is not None else None
            scope = scope.above
        return None

    def find_in_class(self, name: str) -> tuple[ast.expr, Scope] | None:
        """What `self.name` or `cls.name` is set to in the class around."""
        scope: Scope | None = self
        while scope is not None:
            if scope.is_class and (value := scope.values.get(name)) is not None:
                return value, scope
            scope = scope.above
        return None


def scope_of(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, above: Scope | None
) -> Scope:
    """The names that a node sets itself, without those of the functions inside it."""
    values: dict[str, ast.expr | None] = {}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = node.args
        for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            values[argument.arg] = None
    stack: list[ast.AST] = list(reversed(node.body))
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = inner.targets if isinstance(inner, ast.Assign) else [inner.target]
            for name in target_names(targets):
                # What is set twice, or added to, is known to the running program alone.
                once = name not in values and not isinstance(inner, ast.AugAssign)
                values[name] = inner.value if once else None
        elif isinstance(inner, ast.For | ast.AsyncFor):
            values.update(dict.fromkeys(target_names([inner.target])))
        if isinstance(inner, ast.stmt) and not isinstance(
            inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            stack += [
                child
                for child in ast.iter_child_nodes(inner)
                if isinstance(child, ast.stmt | ast.excepthandler)
            ]
    return Scope(values, above, isinstance(node, ast.ClassDef))


def target_names(targets: Sequence[ast.expr]) -> list[str]:
    """The name that an assignment sets."""
    names = []
    for target in targets:
        if isinstance(target, ast.Name):
            names.append(target.id)
        elif isinstance(target, ast.Attribute):
            names.append(target.attr)
        elif isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
            names.append(str(target.slice.value))
    return names[:1]


def pieces_of(text: str) -> Iterator[str | Slot]:
    """A text as its literal stretches and its slots."""
    for number, piece in enumerate(_MARKED.split(text)):
        if number % 2:
            yield Slot(piece)
        elif piece:
            yield piece


def evaluated(node: ast.expr, scope: Scope, *, follow: bool = False, depth: int = _DEPTH) -> Value | None:
    """The text of an expression; none where it is no text. A bare name is followed only where asked."""
    if depth <= 0:
        return None
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, str) or _OPEN in node.value or _CLOSE in node.value:
            return None
        return Value(node.value)
    if isinstance(node, ast.JoinedStr):
        return _joined_string(node, scope, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _sum(node, scope, depth)
    if isinstance(node, ast.Call):
        return _called(node, scope, depth, follow=follow)
    return _followed(node, scope, depth) if follow else None


def _followed(node: ast.expr, scope: Scope, depth: int) -> Value | None:
    """The text that a name stands for."""
    if isinstance(node, ast.Name):
        found = scope.find(node.id)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        found = scope.find_in_class(node.attr) if node.value.id in ("self", "cls") else None
    else:
        return None
    if found is None:
        return None
    node_set, scope_set = found
    if id(node_set) not in scope_set.followed:
        # A name that leads back to itself is known to the running program alone.
        scope_set.followed[id(node_set)] = None
        scope_set.followed[id(node_set)] = evaluated(node_set, scope_set, follow=True, depth=depth - 1)
    value = scope_set.followed[id(node_set)]
    if value is None or len(value.text) > _LONGEST:
        return None
    return replace(value, parts=value.parts | {id(node_set)})


def _joined_string(node: ast.JoinedStr, scope: Scope, depth: int) -> Value | None:
    parts: list[Value] = []
    for part in node.values:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            parts.append(Value(part.value))
        elif isinstance(part, ast.FormattedValue):
            parts.append(_followed(part.value, scope, depth) or _slot(part.value))
    if not any(_MARKED.sub("", part.text).strip() for part in parts):
        return None
    return _concatenated(parts, "The braces of the f-string became slots.")


def _sum(node: ast.BinOp, scope: Scope, depth: int) -> Value | None:
    """`"…" + name + "…"`; the chain leans to the left, so it is walked down there."""
    operands: list[ast.expr] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
        operands.append(left.right)
        left = left.left
    operands.append(left)
    values = [evaluated(operand, scope, follow=True, depth=depth - 1) for operand in reversed(operands)]
    if not any(value is not None and _MARKED.sub("", value.text).strip() for value in values):
        return None
    known = [value or _slot(operand) for value, operand in zip(values, reversed(operands), strict=True)]
    return _concatenated(known, "Strings joined by + became one.")


def _called(node: ast.Call, scope: Scope, depth: int, *, follow: bool) -> Value | None:
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if isinstance(function, ast.Attribute) and name in _STRIPS and not node.args and not node.keywords:
        inner, change = evaluated(function.value, scope, follow=follow, depth=depth - 1), _STRIPS[name]
    elif name in _DEDENTS and len(node.args) == 1 and not node.keywords:
        inner, change = evaluated(node.args[0], scope, follow=follow, depth=depth - 1), _DEDENTS[name]
    elif isinstance(function, ast.Attribute) and name == "join" and len(node.args) == 1:
        return _listed(function.value, node.args[0], scope, depth)
    elif isinstance(function, ast.Attribute) and name == "format" and follow:
        return _formatted(function.value, node, scope, depth)
    else:
        return None
    if inner is None:
        return None
    return replace(
        inner, text=change(inner.text), undone=(*inner.undone, f"The string is used as {name}() leaves it.")
    )


def _listed(separator: ast.expr, listed: ast.expr, scope: Scope, depth: int) -> Value | None:
    """`"\\n".join(["…", "…"])`."""
    between = evaluated(separator, scope, depth=depth - 1)
    if between is None or not isinstance(listed, ast.List | ast.Tuple) or len(listed.elts) > 500:
        return None
    values = [evaluated(entry, scope, follow=True, depth=depth - 1) for entry in listed.elts]
    known = [value for value in values if value is not None]
    if not known or len(known) != len(values):
        return None
    joined = _concatenated(known, "The strings of the list were joined.")
    return replace(joined, text=between.text.join(value.text for value in known))


def _formatted(owner: ast.expr, node: ast.Call, scope: Scope, depth: int) -> Value | None:
    """`TEMPLATE.format(name=…)`: texts that the file knows are put in, the rest stays a slot."""
    inner = evaluated(owner, scope, follow=True, depth=depth - 1)
    template = (
        templated_as_format(inner.text) if inner is not None and not _MARKED.search(inner.text) else None
    )
    if inner is None or template is None:
        return None
    text = template.text
    known = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    parts = set(inner.parts)
    for slot in template.slots:
        value = evaluated(known[slot], scope, follow=True, depth=depth - 1) if slot in known else None
        is_text = value is not None and _MARKED.sub("", value.text).strip()
        text = text.replace("{{" + slot + "}}", value.text if value and is_text else f"{_OPEN}{slot}{_CLOSE}")
        parts |= value.parts if value and is_text else set()
    return replace(inner, text=text, parts=frozenset(parts))


def _concatenated(values: Sequence[Value], undone: str) -> Value:
    return Value(
        "".join(value.text for value in values),
        tuple(dict.fromkeys((undone, *(point for value in values for point in value.undone)))),
        tuple(dict.fromkeys(point for value in values for point in value.doubts)),
        frozenset().union(*(value.parts for value in values)),
    )


def _slot(node: ast.expr) -> Value:
    """What only the running program knows, as a slot named after the code."""
    name = _name_of(node) or "value"
    doubts: tuple[str, ...] = ()
    if not isinstance(node, ast.Name):
        code = ast.unparse(node) if len(name) < 60 else name
        doubts = (f"{code[:60]} is code of the file; it became the slot {{{{{name}}}}}",)
    return Value(f"{_OPEN}{name}{_CLOSE}", doubts=doubts)


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        key = str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""
        base = _name_of(node.value)
        return re.sub(r"\W", "_", key) if key.isidentifier() else f"{base}_{key}".strip("_")
    if isinstance(node, ast.Call):
        inside = [*node.args, *(keyword.value for keyword in node.keywords)]
        names = [name for argument in inside if (name := _name_of(argument))]
        owner = _name_of(node.func.value) if isinstance(node.func, ast.Attribute) else _name_of(node.func)
        return names[0] if names else owner
    names = [child.id for child in ast.walk(node) if isinstance(child, ast.Name)]
    return names[0] if names else ""

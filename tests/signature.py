"""The parameters of `adjudge.run` as the declarations in `run_options/options.py` have them, and a way to
write them there.

`python tests/signature.py` rewrites the parameters of `run` and `run_async` in `public.py` after an option
was added.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "adjudge"
PUBLIC = PACKAGE / "public.py"


def declared_parameters() -> list[str]:
    """Each option as a parameter: its name, its type without
    what the command line says about it, and its default.
    """
    tree = ast.parse((PACKAGE / "run_options" / "options.py").read_text(encoding="utf-8"))
    (options,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "RunOptions")
    parameters = []
    for field in options.body:
        if not isinstance(field, ast.AnnAssign) or not isinstance(field.annotation, ast.Subscript):
            continue
        assert isinstance(field.annotation.slice, ast.Tuple), "Annotated[type, Option(…)]"
        assert field.value is not None, "every option has a default"
        kind, default = ast.unparse(field.annotation.slice.elts[0]), ast.unparse(field.value)
        if default.startswith("field(default_factory="):  # decided at each call, not at the import
            kind, default = f"{kind} | None", "None"
        parameters.append(f"{ast.unparse(field.target)}: {kind} = {default}")
    return parameters


def public_parameters(function: str) -> list[str]:
    """The keyword-only parameters of a public function, without the watcher."""
    tree = ast.parse(PUBLIC.read_text(encoding="utf-8"))
    (node,) = (
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
    )
    assert node.args.kwarg is not None, "a misspelt option is reported with the name that may be meant"
    return [
        f"{argument.arg}: {ast.unparse(argument.annotation)} = {ast.unparse(default)}"
        for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if argument.annotation is not None and default is not None and argument.arg != "watcher"
    ]


def rewrite() -> None:
    """Write the declared parameters into the public functions."""
    lines = "".join(f"    {parameter},\n" for parameter in declared_parameters())
    text = PUBLIC.read_text(encoding="utf-8")
    pattern = re.compile(r"(?<=    \*,\n).*?(?=    watcher: Watcher)", re.S)
    starts = [match.end() for match in re.finditer(r"^(?:async )?def run(?:_async)?\(", text, re.M)]
    for start in reversed(starts):
        text = text[:start] + pattern.sub(lambda _: lines, text[start:], count=1)
    PUBLIC.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    rewrite()

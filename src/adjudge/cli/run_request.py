"""The request that the flags of a command and the run file make."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..data import is_address
from ..errors import DataError
from .flag_values import PARSERS, parse_steps
from .run_file import read_confirmed
from .run_options import was_given

if TYPE_CHECKING:
    from ..engine import Request


COMMAND_KEYS = ("quiet", "dry_run", "yes", "cascade", "check")
"""What a run of the run file sets for the command alone."""


def request_of_flags(
    ctx: typer.Context,
    items: str | None,
    protocols: list[str],
    models: list[str],
    options: dict[str, Any],
    config: Path | None,
    extra: dict[str, Any] | None = None,
    propose: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None,
) -> Request:
    """The request that the flags of a command and the run file make.

    `extra` are flags besides the options; it receives what a run of the file sets for the command alone.
    `propose` adds a judge where none is named.
    """
    from ..engine import Request

    # The thread that writes to the store releases Python's lock at every statement and must get it back soon.
    sys.setswitchinterval(0.001)
    extra = {} if extra is None else extra
    flags = _given_flags(ctx, options) | extra
    flags |= {name: value for name, value in (("protocol", protocols), ("model", models)) if value}
    keywords = _keywords(items, flags, config)
    for name in COMMAND_KEYS:
        extra[name] = keywords.pop(name, None)
    if extra["cascade"] and not _has_judge(keywords):
        from ..analysis.cascade.cascade_file import read_cascade

        first = read_cascade(Path(extra["cascade"])).stages[0]
        keywords |= {"protocol": [first.protocol], "model": [first.model]}
    if propose is not None and not _has_judge(keywords):
        keywords = propose(keywords)
    _check_given(keywords)
    return Request(command=("adjudge", *sys.argv[1:]), **keywords)


def _given_flags(ctx: typer.Context, options: dict[str, Any]) -> dict[str, Any]:
    """The options that the user gave, parsed. The others have
    the default of their declaration, or of the run file.
    """
    given = {}
    for name, value in options.items():
        if was_given(ctx, name):
            parse = PARSERS.get(name)
            given[name] = parse(value) if parse is not None else value
    return given


def _keywords(items: str | None, flags: dict[str, Any], config: Path | None) -> dict[str, Any]:
    """The keywords of a request: those of the run that the run file declares, overridden by flags."""
    names = flags.get("model", [])
    is_table = items is not None and (is_address(items) or Path(items).exists())
    needs_file = not is_table or config is not None or any(map(_may_be_alias, names))
    file = read_confirmed(config) if needs_file else None
    if file is None:
        if items is None:
            raise DataError(
                "a run needs a file of items: adjudge run ITEMS. Or describe the run in "
                "adjudge.toml: adjudge init DATA."
            )
        return {"items": items, **flags}
    name = file.run_named(items)
    if name is None:
        return {"items": items, **flags, "model": file.chosen_models(names, flags)}
    keywords = file.keywords(name, flags)
    if "items" not in keywords:
        raise DataError(f"{file.path} runs.{name}: it has no items. Add items = …, the file of items.")
    if isinstance(keywords.get("steps"), str):
        keywords["steps"] = parse_steps(keywords["steps"])
    return keywords


def _may_be_alias(spec: str) -> bool:
    return not any(sign in spec for sign in ":=/") and spec != "local"


def _has_judge(keywords: Mapping[str, Any]) -> bool:
    """Whether it is said how to judge; an empty criterion is said, and wrong."""
    return any(keywords.get(name) for name in ("protocol", "judge")) or bool(
        _criteria(keywords.get("criterion"))
    )


def _criteria(given: Any) -> list[str]:
    if isinstance(given, str):
        return [given]
    return [str(text) for text in (given.values() if isinstance(given, Mapping) else given or ())]


def _check_given(keywords: Mapping[str, Any]) -> None:
    """Raise where there is no protocol or no model, before anything is read; say all that is missing."""
    if any(not text.rpartition("=")[2].strip() for text in _criteria(keywords.get("criterion"))):
        raise DataError(
            "--criterion is empty. Say in words what to judge: --criterion 'Is the answer polite?'"
        )
    missing = []
    if not _has_judge(keywords):
        missing.append(
            "a run needs a protocol. Choose one with -p ID; adjudge protocols list shows them all.\n"
            "To judge by a criterion of yours (protocol geval/score): --criterion 'Is the answer polite?'"
        )
    if not has_model(keywords):
        missing.append(
            "a run needs a judge model: -m MODEL, such as -m openai:NAME or -m local, or the "
            "variable ADJUDGE_MODEL; adjudge models list shows all kinds."
        )
    if missing:
        raise DataError("\n".join(missing))


def has_model(keywords: Mapping[str, Any]) -> bool:
    """Whether the flags, the run file or the environment name a judge."""
    return bool(keywords.get("model") or os.environ.get("ADJUDGE_MODEL"))

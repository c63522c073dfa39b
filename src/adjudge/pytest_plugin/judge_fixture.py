"""The fixture `judge`: calls a judge from a test, through the store, so that an unchanged test makes no
calls.

Does not import pytest. Each use of `judge` or `judge.many` is one run, named after the test and a hash of all
that is asked: the same test resumes its run, a changed one starts another.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ..errors import AdjudgeError, DataError, ModelError
from ..models import Model
from ..records import Item, Protocol
from ..run_file.paths import FILE_FORMS
from ..run_options.options import declared_options, named_criterion
from .outcome import Origin, Outcome, Outcomes


class NoScore(AssertionError):
    """A test compared a score that does not exist, because the judgment failed."""


OPTIONS = tuple(name for name, declared in declared_options().items() if declared.option.is_for_tests)
"""Keywords that are options of the run and not fields of the item."""


_RESERVED = ("id", "system", "group", "system_a", "system_b")


RUN_PREFIX = "pytest/"


GENERAL_CRITERION = (
    "The response does what the task asks for: correctly, completely, and without adding what was not asked."
)
"""The criterion where a protocol needs one and the test gives none."""


Items = str | Path | Sequence[Item | Mapping[str, Any]]


class Use(Struct, frozen=True):
    """One use of `judge` in a test, for the summary and the message of a failed test."""

    outcomes: Outcomes
    is_many: bool
    asked: int
    from_store: int
    cost_usd: float


class CurrentTest:
    """The running test, and its uses of `judge`."""

    def __init__(self, nodeid: str = "") -> None:
        self.nodeid = nodeid
        self.n_items = 0
        self.uses: list[Use] = []
        self._n_taken = 0

    def next_id(self) -> str:
        """The id of an item without one: the test's, numbered from the second item on."""
        self.n_items += 1
        return self.nodeid or "item" if self.n_items == 1 else f"{self.nodeid or 'item'} #{self.n_items}"

    def take_new(self) -> list[Use]:
        """The uses since the last call: in the setup, in the test itself."""
        new, self._n_taken = self.uses[self._n_taken :], len(self.uses)
        return new


class Configured(Struct, frozen=True):
    """The model and store that pytest was configured with, and the folder for relative paths."""

    model: str | None
    store: Path
    root: Path


class Judge:
    """The value of the fixture `judge`: call it for one item, or `many` for several."""

    def __init__(self, configured: Configured, current: Callable[[], CurrentTest]) -> None:
        self._configured, self._current = configured, current
        self._models: dict[str, Model] = {}

    @property
    def store(self) -> Path:
        """The file that holds every reply."""
        return self._configured.store

    def __call__(
        self,
        protocol: str | Path | Protocol,
        item: Mapping[str, Any] | Item | None = None,
        /,
        *,
        model: str | Model | None = None,
        **keywords: Any,
    ) -> Outcome:
        """Judge one item: its fields by name, or as a mapping.
        `rubric`, `criterion`, `samples`, … as in `adjudge run`.
        """
        __tracebackhide__ = True
        options = {name: keywords.pop(name) for name in OPTIONS if name in keywords}
        loaded = self._loaded(protocol, options)
        _check_fields(loaded, keywords, options)
        row = _row(item, keywords)
        row.setdefault("id", self._current().next_id())
        outcomes = self._judged(loaded, [row], model, options, is_many=False)
        return outcomes[0]

    def many(
        self,
        protocol: str | Path | Protocol,
        items: Items,
        /,
        *,
        model: str | Model | None = None,
        **options: Any,
    ) -> Outcomes:
        """Judge several items at once: a list of mappings or `Item`s, or a file of items."""
        __tracebackhide__ = True
        for name in options:
            if name not in OPTIONS:
                raise DataError(f"judge.many has no option {name!r}.{_suggestion(name, OPTIONS)}")
        if isinstance(items, str | Path):
            items = self._resolved(items)
        loaded = self._loaded(protocol, options)
        return self._judged(loaded, items, model, options, is_many=True)

    def __repr__(self) -> str:
        return "judge"

    def close(self) -> None:
        """Close the models."""
        for model in self._models.values():
            _close_in_thread(model)
        self._models.clear()

    # What to judge, and by which model

    def _loaded(self, protocol: str | Path | Protocol, options: dict[str, Any]) -> Protocol:
        """The protocol with its rubric, criterion, examples and steps, which are removed from the options."""
        __tracebackhide__ = True
        if isinstance(protocol, Protocol):
            return protocol
        from ..protocols import load_protocol

        contents: dict[str, Any] = {
            name: options.pop(name) for name in ("rubric", "criterion", "examples") if name in options
        }
        for name in ("rubric", "criterion"):
            if isinstance(contents.get(name), list | tuple | Mapping):
                raise DataError(f"judge takes one {name}. Call it once for each.")
        if "criterion" in contents:
            contents["name"], contents["criterion"] = named_criterion(contents["criterion"])
        for name in ("rubric", "examples"):
            if isinstance(contents.get(name), str | Path):
                contents[name] = self._resolved(contents[name])
        if isinstance(options.get("steps"), Sequence) and not isinstance(options["steps"], str):
            contents["steps"] = options.pop("steps")
        loaded: Protocol = _without_our_frames(lambda: load_protocol(self._resolved(protocol), **contents))
        needs_criterion = "criterion" in loaded.takes and not loaded.criterion_text and loaded.rubric is None
        if not needs_criterion:
            return loaded
        return load_protocol(self._resolved(protocol), **{**contents, "criterion": GENERAL_CRITERION})

    def _resolved(self, path: str | Path) -> Any:
        """A relative path, from the folder that pytest was started in or from the root folder."""
        if (
            not Path(path).is_absolute()
            and not Path(path).exists()
            and (self._configured.root / path).exists()
        ):
            return self._configured.root / path
        return path

    def _model(self, spec: str | Model | None, options: Mapping[str, Any]) -> Model | str:
        """The model. One without a network is kept for all tests: a script continues, a file is read once."""
        __tracebackhide__ = True
        if isinstance(spec, Model):
            return spec
        name = spec or self._configured.model
        if not name:
            raise ModelError(
                "no judge model is set. Set one with --adjudge-model, with adjudge_model in pytest's "
                "configuration, in the variable ADJUDGE_MODEL, or as judge(…, model=…)."
            )
        from ..models import parse_model

        where = with_absolute_file(name, self._configured.root, Path.cwd() if spec else None)
        key = f"{where} {options.get('price')}"
        if key not in self._models:
            price = options.get("price")
            model = parse_model(where, price=None if isinstance(price, Mapping) else price)
            if model.needs_network:
                return name  # connections belong to the event loop of one run
            model.name = model.spec = name
            self._models[key] = model
        return self._models[key]

    # Judging

    def _judged(
        self,
        protocol: Protocol,
        items: Items,
        model: str | Model | None,
        options: dict[str, Any],
        *,
        is_many: bool,
    ) -> Outcomes:
        __tracebackhide__ = True
        from ..engine import request_of, run_in_thread

        current = self._current()
        judge = _without_our_frames(lambda: self._model(model, options))
        name = _run_name(current.nodeid, protocol, judge, items, options)
        given = {"items": items, "protocol": protocol, "model": judge, "store": str(self.store), "run": name}
        done = _without_our_frames(lambda: run_in_thread(request_of(**given, **options)), is_many=is_many)
        spec = judge if isinstance(judge, str) else judge.name
        is_fake = isinstance(judge, Model) and judge.is_fake
        by_item: dict[str, list[Any]] = {}
        for result in done.results():
            by_item.setdefault(result.item, []).append(result)
        origin = Origin(protocol, spec, is_fake, name, str(self.store))
        outcomes = Outcomes((Outcome(origin, rows) for rows in by_item.values()), protocol.criteria)
        progress = done.progress
        current.uses.append(
            Use(
                outcomes,
                is_many,
                progress.done - progress.cached + progress.further,
                progress.cached,
                progress.cost_usd,
            )
        )
        return outcomes


def _row(item: Mapping[str, Any] | Item | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, Item):
        item = {
            "id": item.id,
            **{name: getattr(item, name) for name in _RESERVED[1:] if getattr(item, name) is not None},
            **item.fields,
        }
    return {**(item or {}), **fields}


def _check_fields(protocol: Protocol, fields: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise for a keyword that is no input of the protocol: it is a typo, and would be ignored in silence."""
    __tracebackhide__ = True
    renamed = dict(options.get("map") or {}).values()
    known = (
        *protocol.inputs, *protocol.optional, *protocol.at_least_one, *protocol.takes, *protocol.refuses,
        *protocol.alias.values(), *renamed, *_RESERVED,
    )  # fmt: skip
    for name in fields:
        if name not in known:
            suggestion = _suggestion(name, (*known, *OPTIONS))
            raise DataError(
                f"protocol {protocol.id} has no input {name!r}.{suggestion} It takes "
                f"{', '.join(protocol.inputs)}."
            )


def _suggestion(name: str, known: Sequence[str]) -> str:
    matches = difflib.get_close_matches(name, known, 1)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def _run_name(
    nodeid: str, protocol: Protocol, model: Model | str, items: Items, options: Mapping[str, Any]
) -> str:
    """pytest/TEST/HASH, where the hash covers all that decides what is asked and how replies are parsed."""
    from ..models import parse_model
    from ..version import __version__

    identity = (parse_model(model) if isinstance(model, str) else model).identity
    decisive = {
        name: repr(value)
        for name, value in options.items()
        if declared_options()[name].option.effect != "execution"
    }
    if isinstance(items, str | Path):
        content = (
            hashlib.sha256(Path(items).read_bytes()).hexdigest() if Path(items).is_file() else str(items)
        )
    else:
        content = repr(list(items))
    parts = (__version__, protocol.id, protocol.digest, identity, sorted(decisive.items()), nodeid, content)
    digest = hashlib.blake2b(msgspec.json.encode(parts), digest_size=5).hexdigest()
    test = re.sub(r"[^\w.-]+", "-", nodeid.rpartition("::")[2].partition("[")[0]) or "session"
    return f"{RUN_PREFIX}{test}/{digest}"


def with_absolute_file(spec: str, folder: Path, first: Path | None = None) -> str:
    """The name of a model with the path of its file made absolute:
    in `first` where it exists there, else in `folder`.
    """
    for form in FILE_FORMS:
        if spec.startswith(form):
            path = os.path.expanduser(spec.removeprefix(form))
            if first is not None and (first / path).exists():
                folder = first
            return f"{form}{os.path.join(folder, path)}"
    return spec


def _without_our_frames(work: Callable[[], Any], *, is_many: bool = True) -> Any:
    """Call a function; an error is raised without our frames
    and without the name of the temporary items file.
    """
    __tracebackhide__ = True
    from ..engine import Interrupted

    try:
        return work()
    except Interrupted:
        raise KeyboardInterrupt from None
    except AdjudgeError as error:
        error.args = (_without_file(str(error), is_many),)
        plain_error = error.with_traceback(None)
    raise plain_error


def _without_file(message: str, is_many: bool) -> str:
    head, *lines = message.splitlines()
    if "/adjudge-" not in head or "items.jsonl" not in head:
        return message
    lines = [line.strip() for line in lines if "no line can be used" not in line]
    if is_many:
        return "\n".join([f"the items: {len(lines)} {'problem' if len(lines) == 1 else 'problems'}", *lines])
    return "\n".join(line.removeprefix("line 1: ") for line in lines)


def _close_in_thread(model: Model) -> None:
    """Close a model in the event loop of another thread, so that the test's loop is not affected."""
    import asyncio

    thread = threading.Thread(target=lambda: asyncio.run(model.close()), name="adjudge-close")
    thread.start()
    thread.join()

"""A judge: a protocol and a model, with everything that decides a score, as one object.

    judge = adjudge.Judge("prometheus/direct", "openai:NAME", rubric="tact.toml")
    judge(instruction="Where is my refund?", response="Soon.").score

All that a judge judges is one run in the store, `judge/PROTOCOL/HASH`, where the hash covers all that decides
a score. What it has judged before costs nothing, in this process or a later one.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import msgspec

from ..analysis.cascade.answers import answer_of_item
from ..analysis.cascade.cascade_file import CascadeFile, StageFile, read_cascade
from ..analysis.cascade.decisions import is_sure
from ..analysis.cascade.stage_judge import stage_judge
from ..data import rows_of_frame
from ..data.table import IN_MEMORY
from ..did_you_mean import did_you_mean
from ..engine import Request, request_of
from ..engine.live_run import LiveItems, LiveJudgments
from ..engine.live_thread import LiveThread
from ..engine.model_choices import default_models
from ..engine.request import Models, as_tuple
from ..errors import AdjudgeError, DataError
from ..models import Model, parse_model
from ..protocols import load_protocol
from ..records import Item, Protocol
from ..run_options.keywords import JudgeKeywords
from ..run_options.options import declared_options, default_store, named_criterion
from ..version import __version__
from .progress_bar import ProgressBar
from .verdict import Origin, Verdict, Verdicts, errors_of

OPTIONS = tuple(name for name, declared in declared_options().items() if declared.option.is_for_tests)
"""Keywords that are options of a run and not fields of the item."""


_FLAG = re.compile(r"--map (\S+)=FIELD")

_ADVICE_FOR_FILES = ("--skip-bad", "No line can be used.")

RESERVED = ("id", "system", "group", "system_a", "system_b")


GENERAL_CRITERION = (
    "The response does what the task asks for: correctly, completely, and without adding what was not asked."
)
"""The criterion where a protocol needs one and the user gives none."""


ProtocolName = str | Path | Protocol
Rows = Sequence[Item | Mapping[str, Any]]


class AskedItems(NamedTuple):
    """One use of a judge: the items, and the request without them."""

    protocol: Protocol
    request: Request
    items: LiveItems
    is_many: bool
    places: tuple[int, ...] | None = None
    """for each given item, its place in `items`, which has equal items once; none: as they are"""

    @property
    def model_names(self) -> str:
        return ", ".join(_model_name(model) for model in as_tuple(self.request.model))


class Judge:
    """Scores texts. Call it for one item, `await judge.ask(…)` in async code, `judge.many(items)` for
    several.

    Its keywords are the options of `adjudge run` (`rubric`, `criterion`, `samples`, `budget`, `price`,
    `map_scores`, …). A protocol or model that is left out is given with each call: `judge(PROTOCOL, …)`.
    """

    def __init__(
        self,
        protocol: ProtocolName | None = None,
        model: Models | None = None,
        *,
        cascade: str | Path | None = None,
        store: str | Path | None = None,
        **options: Unpack[JudgeKeywords],
    ) -> None:
        _check_options(options)
        if cascade is not None and (protocol is not None or model is not None):
            raise DataError("A cascade names its protocols and models. Leave protocol and model out.")
        self._protocol, self._model_given, self._options = protocol, model, options
        self._cascade_given = cascade
        self.store = Path(store if store is not None else default_store())
        self._cascade = None if cascade is None else read_cascade(Path(cascade))
        self._stages: dict[str, Judge] = {}
        self._fixed: tuple[Protocol, dict[str, Any]] | None = None
        self._thread = LiveThread()
        self.close = weakref.finalize(self, self._thread.close)
        """ends the judge's run in the store; also done when the program ends"""

    def __call__(self, *given: Any, model: Models | None = None, **keywords: Any) -> Verdict:
        """Judge one item: its fields by name, or as a mapping. Options hold for this call."""
        __tracebackhide__ = True
        if self._cascade is not None:
            return self._cascaded(self._cascade, [self._row_of_cascade(given, model, keywords)])[0]
        return self._waited(self._asked_one(given, model, keywords))[0]

    async def ask(self, *given: Any, model: Models | None = None, **keywords: Any) -> Verdict:
        """The same in async code: other tasks of the event loop go on meanwhile."""
        if self._cascade is not None:
            return await asyncio.to_thread(self, *given, model=model, **keywords)
        asked = await asyncio.to_thread(self._asked_one, given, model, keywords)
        try:
            judged = await asyncio.wrap_future(self._thread.submit(self._judged(asked, None)))
        except AdjudgeError as error:
            raise _for_python(error, asked) from None
        return self._verdicts(asked, judged)[0]

    def many(self, *given: Any, model: Models | None = None, **options: Unpack[JudgeKeywords]) -> Verdicts:
        """Judge several items at once: mappings or `Item`s, a frame of pandas or polars, or a file."""
        __tracebackhide__ = True
        _check_options(options, "judge.many")
        protocol, items = given if len(given) == 2 else (None, *given)
        if self._cascade is not None:
            _check_cascade(protocol, model, options)
            return self._cascaded(self._cascade, self._items(items))
        known = self._items(items)
        if isinstance(known, str | Path):
            return self._waited(self._asked(protocol, known, model, options, is_many=True))
        rows, places = _once(known)
        asked = self._asked(protocol, rows, model, options, is_many=True)
        return self._waited(asked._replace(places=places))

    def panel(self, *models: str | Model) -> Judge:
        """The same judge with several models: the mean of their scores, or the majority of their choices."""
        if self._cascade is not None:
            raise DataError("A cascade is no panel. Make the panel of one judge.")
        mine = () if self._model_given is None else as_tuple(self._model_given)
        return Judge(self._protocol, (*mine, *models), store=self.store, **self._options)

    @property
    def protocol(self) -> Protocol:
        """The protocol, with the rubric or criterion; of a cascade that of its first judge."""
        if self._cascade is not None:
            return self._stage(self._cascade.stages[0]).protocol
        return self._loaded(None, {})[0]

    @property
    def run(self) -> str:
        """The name of the judge's run: `adjudge.open_run(judge.run)`, `adjudge report`, `adjudge
        annotate`."""
        if self._cascade is not None:
            raise DataError("Each judge of a cascade has a run: verdict.origin.run.")
        return str(self._asked(None, [], None, {}, is_many=True).request.run)

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, *fault: object) -> None:
        self.close()

    def __copy__(self) -> Judge:
        """A judge with the same settings: the same run in the store, and connections that it opens itself."""
        return _judge_of(*self._settings())

    def __deepcopy__(self, _known: object) -> Judge:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        """A judge is pickled as its settings, so other processes can have it."""
        return _judge_of, self._settings()

    def _settings(self) -> tuple[Any, ...]:
        return self._protocol, self._model_given, self._cascade_given, self.store, self._options

    def __repr__(self) -> str:
        return f"<judge {self._protocol or 'without a protocol'}>"

    # A cascade

    def _row_of_cascade(
        self, given: Sequence[Any], model: Models | None, keywords: dict[str, Any]
    ) -> dict[str, Any]:
        __tracebackhide__ = True
        protocol, item = _protocol_and_item(given)
        _check_cascade(protocol, model, [name for name in OPTIONS if name in keywords])
        check_inputs(self.protocol, keywords, self._options)
        return self._with_id(_row(item, keywords))

    def _cascaded(self, file: CascadeFile, items: LiveItems) -> Verdicts:
        """Each item by the first judge that is sure enough; the last verdict, undecided, where none is."""
        __tracebackhide__ = True
        if isinstance(items, str | Path):
            raise DataError("A cascade takes a list of items. For a file: adjudge run FILE --cascade FILE.")
        rows, places = _once(items)
        verdicts: dict[int, Verdict] = {}
        spent: dict[int, float | None] = dict.fromkeys(range(len(rows)), 0.0)
        left = list(range(len(rows)))
        for stage in file.stages:
            judge = self._stage(stage)
            asked = judge._asked(None, [rows[place] for place in left], None, {}, is_many=len(rows) > 1)
            judged = judge._judged_with_bar(asked)
            for place, item, verdict in zip(left, judged.items, judge._verdicts(asked, judged), strict=True):
                spent[place] = _sum(spent[place], verdict.cost_usd)
                answer = answer_of_item(stage.run, item, file.criterion, stage.confidence)
                is_decided = answer is not None and is_sure(answer, stage.threshold)
                decided_by = stage.run if is_decided else None
                verdicts[place] = verdict.of_cascade(spent[place], decided_by)
            left = [place for place in left if verdicts[place].decided_by is None]
            if not left:
                break
        return Verdicts((verdicts[place] for place in places), [file.criterion])

    def _stage(self, stage: StageFile) -> Judge:
        if stage.run not in self._stages:
            protocols, models, settings = stage_judge(self.store, stage)
            if len(protocols) != 1:
                raise DataError(f"run {stage.run} has several protocols: a judge of a cascade has one.")
            options = {**self._options, **settings}
            self._stages[stage.run] = Judge(protocols[0], models, store=self.store, **options)
        return self._stages[stage.run]

    # What is asked

    def _asked_one(self, given: Sequence[Any], model: Models | None, keywords: dict[str, Any]) -> AskedItems:
        __tracebackhide__ = True
        protocol, item = _protocol_and_item(given)
        options = {name: keywords.pop(name) for name in OPTIONS if name in keywords}
        loaded, rest = self._loaded(protocol, options)
        check_inputs(loaded, keywords, rest)
        return self._request(loaded, [self._with_id(_row(item, keywords))], model, rest, is_many=False)

    def _asked(
        self,
        protocol: ProtocolName | None,
        items: LiveItems,
        model: Models | None,
        options: Mapping[str, Any],
        *,
        is_many: bool,
    ) -> AskedItems:
        __tracebackhide__ = True
        loaded, rest = self._loaded(protocol, options)
        return self._request(loaded, items, model, rest, is_many=is_many)

    def _items(self, items: LiveItems) -> LiveItems:
        if isinstance(items, str | Path):
            return items
        frame = rows_of_frame(items)
        rows: Iterable[Any] = items if frame is None else frame
        return [item if isinstance(item, Item) else self._with_id(item) for item in rows]

    def _with_id(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row with an id: without one, a hash of all that it holds."""
        if row.get("id") is not None:
            return dict(row)
        try:
            content = msgspec.json.encode(row, order="sorted")
        except (TypeError, ValueError, UnicodeEncodeError):
            return dict(row)  # reading the item says what is wrong with it
        return {"id": hashlib.blake2b(content, digest_size=6).hexdigest(), **row}

    def _loaded(
        self, given: ProtocolName | None, options: Mapping[str, Any]
    ) -> tuple[Protocol, dict[str, Any]]:
        """The protocol with its rubric, criterion, examples and steps, and the options without them.

        Without anything for this call alone it is loaded once: a judge does not change under its user.
        """
        __tracebackhide__ = True
        if given is not None or options:
            return self._load(given, options)
        if self._fixed is None:
            self._fixed = self._load(None, {})
        protocol, rest = self._fixed
        return protocol, dict(rest)

    def _load(
        self, given: ProtocolName | None, options: Mapping[str, Any]
    ) -> tuple[Protocol, dict[str, Any]]:
        __tracebackhide__ = True
        rest = {**self._options, **options}
        protocol = self._protocol if given is None else given
        if protocol is None:
            raise DataError("no protocol is given. Name one: adjudge.Judge('geval/score', MODEL).")
        if isinstance(protocol, Protocol):
            return protocol, rest
        contents: dict[str, Any] = {
            name: rest.pop(name) for name in ("rubric", "criterion", "examples") if name in rest
        }
        for name in ("rubric", "criterion"):
            if isinstance(contents.get(name), list | tuple | Mapping):
                raise DataError(f"judge takes one {name}. Call it once for each.")
        if "criterion" in contents:
            contents["name"], contents["criterion"] = named_criterion(contents["criterion"])
        for name in ("rubric", "examples"):
            if isinstance(contents.get(name), str | Path):
                contents[name] = self._resolved(contents[name])
        if isinstance(rest.get("steps"), Sequence) and not isinstance(rest["steps"], str):
            contents["steps"] = rest.pop("steps")
        try:
            loaded = load_protocol(self._resolved(protocol), **contents)
        except AdjudgeError as error:
            raise error.with_traceback(None) from None
        if "criterion" in loaded.takes and not loaded.criterion_text and loaded.rubric is None:
            loaded = load_protocol(self._resolved(protocol), **{**contents, "criterion": GENERAL_CRITERION})
        return loaded, rest

    def _resolved(self, path: str | Path) -> Any:
        """A path that the user gave, or the id of a protocol."""
        return path

    def _models(self, given: Models | None, options: Mapping[str, Any]) -> Models:  # noqa: ARG002
        chosen = self._model_given if given is None else given
        return default_models() if chosen is None else chosen

    def _request(
        self,
        protocol: Protocol,
        items: LiveItems,
        model: Models | None,
        options: dict[str, Any],
        *,
        is_many: bool,
    ) -> AskedItems:
        __tracebackhide__ = True
        models = self._models(model, options)
        name = self._run_name(protocol, models, items, options)
        request = request_of(
            items=(), protocol=protocol, model=models, store=str(self.store), run=name, **options
        )
        return AskedItems(protocol, request, items, is_many)

    def _run_name(
        self,
        protocol: Protocol,
        models: Models,
        items: LiveItems,  # noqa: ARG002  the pytest fixture has a run for each set of items
        options: Mapping[str, Any],
    ) -> str:
        return f"judge/{protocol.id.rpartition('/')[2]}/{settings_hash(protocol, models, options)}"

    # Asking

    def _waited(self, asked: AskedItems) -> Verdicts:
        __tracebackhide__ = True
        return self._verdicts(asked, self._judged_with_bar(asked))

    def _judged_with_bar(self, asked: AskedItems) -> LiveJudgments:
        """The judgments, with a progress bar for several items."""
        __tracebackhide__ = True
        bar = ProgressBar() if asked.is_many else None
        try:
            return self._thread.wait(self._judged(asked, bar))
        except AdjudgeError as error:
            raise _for_python(error, asked) from None
        finally:
            if bar is not None:
                bar.close()

    async def _judged(self, asked: AskedItems, bar: ProgressBar | None) -> LiveJudgments:
        live = await self._thread.live(asked.request)
        return await live.judge(asked.items, bar)

    def _verdicts(self, asked: AskedItems, judged: LiveJudgments) -> Verdicts:
        models = as_tuple(asked.request.model)
        is_fake = any(_is_fake(model) for model in models)
        origin = Origin(asked.protocol, asked.model_names, is_fake, str(asked.request.run), str(self.store))
        verdicts = (
            Verdict(
                origin,
                [(result, kind) for result, kind, _ in item.results],
                cost,
                errors=errors_of(item.calls),
            )
            for item, cost in zip(judged.items, judged.costs_usd, strict=True)
        )
        if asked.places is not None:
            once = list(verdicts)
            return Verdicts((once[place] for place in asked.places), asked.protocol.criteria)
        return Verdicts(verdicts, asked.protocol.criteria)


def _judge_of(
    protocol: ProtocolName | None,
    model: Models | None,
    cascade: str | Path | None,
    store: Path,
    options: JudgeKeywords,
) -> Judge:
    return Judge(protocol, model, cascade=cascade, store=store, **options)


def _check_cascade(protocol: ProtocolName | None, model: Models | None, options: Iterable[str]) -> None:
    """Raise for what the file of a cascade decides, which would be ignored in silence."""
    __tracebackhide__ = True
    given = [
        *(["a protocol"] if protocol is not None else []), *(["model"] if model is not None else []), *options
    ]  # fmt: skip
    if given:
        raise DataError(f"a cascade decides this itself: leave out {', '.join(given)}.")


def _once(items: Rows) -> tuple[Rows, tuple[int, ...]]:
    """Equal items once, and for each given item its place among them."""
    rows: list[Item | Mapping[str, Any]] = []
    known: dict[str, int] = {}
    places = []
    for item in items:
        key = repr(item)
        if key not in known:
            known[key] = len(rows)
            rows.append(item)
        places.append(known[key])
    return rows, tuple(places)


def _for_python(error: AdjudgeError, asked: AskedItems) -> AdjudgeError:
    """The same error without the frames of Adjudge, in the words of a caller in Python."""
    error.args = (_without_file(str(error), asked.is_many),)
    return error.with_traceback(None)


def _without_file(message: str, is_many: bool) -> str:
    """A message about items without the name of what they were read from, and with keywords for flags."""
    head, *lines = _FLAG.sub(r'map={"\1": "FIELD"}', message).splitlines()
    if not head.startswith(IN_MEMORY):
        return message
    lines = [line.strip() for line in lines if not any(advice in line for advice in _ADVICE_FOR_FILES)]
    lines = [line.replace(", or check that this is the right file", "") for line in lines]
    if is_many:
        return "\n".join([f"the items: {len(lines)} {'problem' if len(lines) == 1 else 'problems'}", *lines])
    return "\n".join(line.removeprefix("line 1: ") for line in lines)


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def _check_options(options: Mapping[str, Any], who: str = "a judge") -> None:
    __tracebackhide__ = True
    for name in options:
        if name not in OPTIONS:
            raise DataError(f"{who} has no option {name!r}.{_suggestion(name, OPTIONS)}")


def _protocol_and_item(given: Sequence[Any]) -> tuple[ProtocolName | None, Mapping[str, Any] | Item | None]:
    """What is given by position: a protocol, an item, or both in this order."""
    names = [value for value in given if isinstance(value, str | Path | Protocol)]
    items = [value for value in given if isinstance(value, Mapping | Item)]
    if len(names) > 1 or len(items) > 1 or len(names) + len(items) < len(given):
        raise DataError("judge takes an item's fields by name, or one item as a mapping.")
    return (names[0] if names else None), (items[0] if items else None)


def _row(item: Mapping[str, Any] | Item | None, fields: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(item, Item):
        item = {
            "id": item.id,
            **{name: getattr(item, name) for name in RESERVED[1:] if getattr(item, name) is not None},
            **item.fields,
        }
    return {**(item or {}), **fields}


def check_inputs(protocol: Protocol, fields: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise for a keyword that is no input of the protocol: it is a typo, and would be ignored in silence."""
    __tracebackhide__ = True
    renamed = dict(options.get("map") or {}).values()
    known = (
        *protocol.inputs, *protocol.optional, *protocol.at_least_one, *protocol.takes, *protocol.refuses,
        *protocol.alias.values(), *renamed, *RESERVED,
    )  # fmt: skip
    synonyms = [other for name in known for other in protocol.synonyms(name)]
    for name in fields:
        if name not in known and name not in synonyms:
            suggestion = _suggestion(name, (*known, *OPTIONS))
            raise DataError(
                f"protocol {protocol.id} has no input {name!r}.{suggestion} It takes "
                f"{', '.join(protocol.inputs)}."
            )


def _suggestion(name: str, known: Sequence[str]) -> str:
    return f" {question}" if (question := did_you_mean(name, known)) else ""


def settings_hash(protocol: Protocol, models: Models, options: Mapping[str, Any], *more: object) -> str:
    """A hash of all that decides what is asked and how replies are parsed."""
    decisive = {
        name: repr(value)
        for name, value in options.items()
        if declared_options()[name].option.effect != "execution"
    }
    chosen = models.values() if isinstance(models, Mapping) else as_tuple(models)
    identities = [_identity(model) for model in chosen]
    parts = (__version__, protocol.id, protocol.digest, identities, sorted(decisive.items()), *more)
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=5).hexdigest()


def _identity(model: Any) -> str:
    if isinstance(model, Model):
        return model.identity
    return parse_model(model).identity if isinstance(model, str) else repr(model)


def _model_name(model: Any) -> str:
    if isinstance(model, str):
        return model
    return str(getattr(model, "name", None) or getattr(model, "alias", "") or getattr(model, "model", model))


def _is_fake(model: Any) -> bool:
    if isinstance(model, Model):
        return model.is_fake
    return isinstance(model, str) and model.startswith("fake:")

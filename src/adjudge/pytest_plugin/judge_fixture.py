"""The fixture `judge`: calls a judge from a test, through the store, so that an unchanged test makes no calls.

Does not import pytest. Each use of `judge` or `judge.many` is one run, named after the test and a hash of all that is
asked: the same test resumes its run, a changed one starts another.

What `judge` returns to a test: scores, a choice, the judge's explanation; for several items also their mean.

A failed judgment has no score: `score` is none, never a default number. No model is called here.

What pytest prints: the judgments of a test that failed, and a table of all at the end.

Texts come from judges and from users' files: all are escaped for the terminal.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct, structs

from ..analysis.report_words import judge_text, scale_text
from ..errors import AdjudgeError, DataError, ModelError
from ..models import Model
from ..records import Choice, Element, Estimate, Item, Protocol, Result, Scale, Status, Subject
from ..run_file import FILE_FORMS
from ..run_options import declared_options, named_criterion
from ..untrusted import safe
from ..words import NO_VALUE, aligned, count, decimals, failures_text, fitted, interval, n_columns

_LONGEST_EXPLANATION = 120


class Origin:
    """Where outcomes come from: one run of one protocol by one judge."""

    def __init__(self, protocol: Protocol, model: str, is_fake: bool, run: str, store: str) -> None:
        self.protocol = protocol
        self.model = model
        self.is_fake = is_fake
        self.run = run
        self.store = store

    def scale_of(self, criterion: str) -> Scale | None:
        return self.protocol.criteria.get(criterion)


class Outcome:
    """How one item was judged. With several criteria, `criteria[NAME]` is the same for one of them."""

    def __init__(self, origin: Origin, results: Iterable[Result]) -> None:
        self.origin = origin
        self.results = tuple(results)
        self._scores, self._choices = _scores_and_choices(origin, self.results)

    # One score or choice

    @property
    def score(self) -> Any:
        """The score on the protocol's scale, a number; none where the judgment failed, and `status` says why.

        It has no narrower type, so that `outcome.score >= 4` passes a type checker: where there is no score, the plugin
        turns the comparison into a failure that says so.
        """
        __tracebackhide__ = True
        return self._one_score("score").value

    @property
    def normalized(self) -> Any:
        """The score from 0 (bad end) to 1 (good end); none too where the scale has no known ends."""
        __tracebackhide__ = True
        return self._one_score("normalized").normalized

    @property
    def choice(self) -> Choice | None:
        """`a`, `b` or `tie`; none where the judgment failed."""
        __tracebackhide__ = True
        if len(self._choices) != 1:
            raise DataError(f"{self.protocol} gives no choice here. Use .score, or .criteria[…].score.")
        return self._choices[0].choice

    @property
    def label(self) -> str | None:
        """The label that the judge chose, of a protocol that sorts by labels; none where the judgment failed."""
        __tracebackhide__ = True
        if not any(self.origin.scale_of(result.criterion) for result in self._scores):
            raise DataError(f"{self.protocol} gives no label here. Use .score or .choice.")
        return self._one_score("label").label

    # About the judgment

    @property
    def status(self) -> Status:
        """`ok` where all requested scores and choices were read, else the status of the first that was not."""
        return next((result.status for result in self.results if result.status != "ok"), "ok")

    @property
    def explanation(self) -> str:
        """The judge's reasons, as far as they could be separated from the rest of its reply."""
        return next((result.explanation for result in self.results if result.explanation), "")

    @property
    def confidence(self) -> float | None:
        """The judge's stated confidence, where the protocol asks for it."""
        return next((result.confidence for result in self.results if result.confidence is not None), None)

    @property
    def flags(self) -> tuple[str, ...]:
        """Flags of the prompt and the reply: `injection_suspected`, `order_conflict`, …"""
        return tuple(dict.fromkeys(flag for result in self.results for flag in result.flags))

    @property
    def item(self) -> str:
        """The item's id."""
        return self.results[0].item

    @property
    def protocol(self) -> str:
        """The protocol's id."""
        return self.origin.protocol.id

    @property
    def reply(self) -> str:
        """The judge's first reply, word for word, read from the store; empty where there was none."""
        from ..store import open_store

        with open_store(self.origin.store, write=False) as store:
            for asked in store.asked(store.run(self.origin.run)):
                is_reply = asked.call.kind != "combine"
                if is_reply and asked.item is not None and asked.item.id == self.item:
                    return asked.reply.text
        return ""

    @property
    def elements(self) -> tuple[Element, ...]:
        """What a protocol with steps has checked one by one: claims, passages, points; empty without steps."""
        from ..store import open_store

        with open_store(self.origin.store, write=False) as store:
            return tuple(
                element
                for judged in store.judgments(store.run(self.origin.run))
                if judged.judgment is not None and judged.item is not None and judged.item.id == self.item
                for element in judged.judgment.checked
            )

    # Parts

    @property
    def criteria(self) -> dict[str, Outcome]:
        """criterion → the outcome for it alone."""
        names = dict.fromkeys(result.criterion for result in self.results)
        return {
            name: Outcome(self.origin, [result for result in self.results if result.criterion == name])
            for name in names
        }

    @property
    def a(self) -> Outcome:
        """The outcome for the first response of a pair."""
        __tracebackhide__ = True
        return self._of_subject("a")

    @property
    def b(self) -> Outcome:
        """The outcome for the second response of a pair."""
        __tracebackhide__ = True
        return self._of_subject("b")

    def _of_subject(self, subject: Subject) -> Outcome:
        __tracebackhide__ = True
        results = [result for result in self.results if result.subject == subject]
        if not results:
            raise DataError(
                f"{self.protocol} does not score the responses of a pair separately. Use .choice."
            )
        return Outcome(self.origin, results)

    def _one_score(self, name: str) -> Result:
        __tracebackhide__ = True
        if len(self._scores) == 1:
            return self._scores[0]
        if not self._scores:
            raise DataError(f"{self.protocol} gives a choice and no score. Use .choice.")
        paths = [f".criteria[{result.criterion!r}]{_dot(result.subject)}.{name}" for result in self._scores]
        raise DataError(f"{self.protocol} gives {len(paths)} scores. Choose one: {' or '.join(paths[:2])} …")

    @property
    def is_read(self) -> bool:
        """Whether all requested scores and choices were read."""
        return self.status == "ok"

    def verdict(self) -> str:
        """The scores, or the choice, in as few words as possible."""
        return ", ".join(self._verdicts()) or "nothing"

    def _verdicts(self) -> Iterable[str]:
        is_single = len(self._scores) == 1
        for result in self._choices:
            yield f"choice {result.choice or 'none'}"
        for result in self._scores:
            name = "" if is_single else f"{result.criterion}{_dot(result.subject)} "
            yield f"{name}{'none' if result.value is None else f'{result.value:g}'}"

    def __bool__(self) -> bool:
        __tracebackhide__ = True
        # Otherwise `assert judge(…)` would pass for any judgment.
        raise DataError("a judgment is neither true nor false. Compare its .score, .choice or .status.")

    def __repr__(self) -> str:
        from ..analysis.report_words import scale_text

        text = shortened(self.explanation, _LONGEST_EXPLANATION)
        scale = (
            f" ({scale_text(self.origin.scale_of(self._scores[0].criterion))})"
            if len(self._scores) == 1
            else ""
        )
        quoted = f"; {text!r}" if text else ""
        return f"<{self.protocol}: {self.verdict()}{scale}, {self.status}{quoted}>"


class Outcomes(list[Outcome]):
    """The outcomes of several items, in their order."""

    def __init__(self, outcomes: Iterable[Outcome], criteria: Iterable[str]) -> None:
        super().__init__(outcomes)
        self._criteria = tuple(criteria)

    @property
    def estimates(self) -> dict[str, Estimate]:
        """criterion → the mean score, or for a choice the share won by `a`, with its interval and number of failures.

        Items of one `group` count as one observation.
        """
        return {name: self._estimate(name) for name in self._criteria}

    @property
    def estimate(self) -> Estimate:
        """The estimate of the only criterion."""
        __tracebackhide__ = True
        estimates = self.estimates
        if len(estimates) != 1:
            raise DataError(
                f"there are {len(estimates)} criteria. Choose one: .estimates[{next(iter(estimates), '…')!r}]."
            )
        return next(iter(estimates.values()))

    @property
    def mean(self) -> Any:
        """The mean of the scores that were read; none where all failed."""
        __tracebackhide__ = True
        return self.estimate.value

    @property
    def failed(self) -> list[Outcome]:
        """The outcomes with a missing score or choice."""
        return [outcome for outcome in self if not outcome.is_read]

    def _estimate(self, criterion: str) -> Estimate:
        from ..stats import mean_interval, wilson

        parts = [part for outcome in self if (part := outcome.criteria.get(criterion)) is not None]
        scores = [score for part in parts for score in part._scores]
        if not scores:
            choices = [result.choice for part in parts for result in part._choices]
            read = [{"a": 1.0, "b": 0.0, "tie": 0.5}[choice] for choice in choices if choice is not None]
            share = wilson(sum(read), len(read), n_failed=len(choices) - len(read))
            return structs.replace(share, method=f"{share.method}, a tie is half a win") if read else share
        values = [score.value for score in scores if score.value is not None]
        groups = [
            (score.group is None, score.group or score.item) for score in scores if score.value is not None
        ]
        is_ungrouped = len(set(groups)) == len(groups)
        scale = parts[0].origin.scale_of(criterion)
        limits = (
            (scale.low, scale.high) if scale and scale.low is not None and scale.high is not None else None
        )
        return mean_interval(
            values, None if is_ungrouped else groups, len(scores) - len(values), limits=limits
        )


def shortened(text: str, longest: int) -> str:
    """The beginning of a text, on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1].rstrip()}…"


def _dot(subject: Subject | None) -> str:
    return f".{subject}" if subject else ""


def _scores_and_choices(origin: Origin, results: Iterable[Result]) -> tuple[list[Result], list[Result]]:
    """Scores and choices; a failed row is a choice where its criterion has no scale, or comes after its scores."""
    scores: list[Result] = []
    choices: list[Result] = []
    for result in results:
        is_second = result.subject is None and any(score.criterion == result.criterion for score in scores)
        has_scale = origin.scale_of(result.criterion) is not None
        is_choice = result.choice is not None or is_second or not has_scale
        (choices if is_choice and result.value is None else scores).append(result)
    return scores, choices


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
        """Judge one item: its fields by name, or as a mapping. `rubric`, `criterion`, `samples`, … as in `adjudge run`."""
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
                "no judge model is set. Set one with --adjudge-model, with adjudge_model in pytest's configuration, "
                "in the variable ADJUDGE_MODEL, or as judge(…, model=…)."
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
        from ..engine import run

        current = self._current()
        judge = _without_our_frames(lambda: self._model(model, options))
        name = _run_name(current.nodeid, protocol, judge, items, options)
        done = _without_our_frames(
            lambda: run(items, protocol, judge, store=str(self.store), run=name, **options), is_many=is_many
        )
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
                f"protocol {protocol.id} has no input {name!r}.{suggestion} It takes {', '.join(protocol.inputs)}."
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
    """The name of a model with the path of its file made absolute: in `first` where it exists there, else in `folder`."""
    for form in FILE_FORMS:
        if spec.startswith(form):
            path = os.path.expanduser(spec.removeprefix(form))
            if first is not None and (first / path).exists():
                folder = first
            return f"{form}{os.path.join(folder, path)}"
    return spec


def _without_our_frames(work: Callable[[], Any], *, is_many: bool = True) -> Any:
    """Call a function; an error is raised without our frames and without the name of the temporary items file."""
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


_LONGEST_SHOWN = 400
_MOST_ITEMS = 5
"""of one `many`, shown for a failed test"""
_MOST_ROWS = 40
_LEAST_ROOM = 24
"""the least width of the column of test names, on any terminal"""
_LONGEST_PROTOCOL = 36
_LONGEST_MODEL = 60


def explained(
    excinfo: pytest.ExceptionInfo[BaseException] | None, test: CurrentTest, folder: Path
) -> pytest.ExceptionInfo[BaseException] | None:
    """The error of a test; where it compared a missing score, an error that says so."""
    if excinfo is None or not isinstance(excinfo.value, TypeError) or "NoneType" not in str(excinfo.value):
        return excinfo
    failed = [outcome for use in test.uses for outcome in use.outcomes if not outcome.is_read]
    if not failed:
        return excinfo
    outcome = failed[0]
    lines = [
        f"there is no score to compare: the judgment failed ({outcome.status}).",
        _why(outcome),
        reply_hint(outcome, folder),
        # The comparison may have failed for another reason: keep the original message.
        f"(Python: {excinfo.value})",
    ]
    error = NoScore("\n".join(lines))
    # With the traceback of the comparison, so that pytest shows the user's line.
    return pytest.ExceptionInfo.from_exc_info((NoScore, error, excinfo.tb))


def _why(outcome: Outcome) -> str:
    if outcome.status == "no_reply":
        return safe(f"{shortened(outcome.origin.model, _LONGEST_MODEL)} gave no reply for {outcome.item}.")
    text = shortened(_reply(outcome), _LONGEST_SHOWN)
    return safe(f"{shortened(outcome.origin.model, _LONGEST_MODEL)} replied: {text or '(nothing)'}")


def section(uses: Sequence[Use], folder: Path) -> str:
    """The judgments of a test that failed, with the judge's reasons and how to see its replies."""
    return "\n".join(line for use in uses for line in _use_lines(use, folder))


def _use_lines(use: Use, folder: Path) -> Iterable[str]:
    if not use.outcomes:
        return
    origin = use.outcomes[0].origin
    if use.is_many:
        yield f"{safe(_by(origin))}: {_means(use)}; {_statuses(use)}"
    # The failed ones first, then the lowest scores.
    shown = sorted(use.outcomes, key=lambda outcome: (outcome.is_read, _lowest(outcome)))[:_MOST_ITEMS]
    for outcome in shown:
        lead = f"  {outcome.item}" if use.is_many else _by(origin)
        yield safe(f"{lead}: {outcome.verdict()}{_scale(outcome)}, {outcome.status}")
        text = outcome.explanation or ("" if outcome.is_read else _reply(outcome))
        if text:
            yield f"  {safe(shortened(text, _LONGEST_SHOWN))}"
    if len(use.outcomes) > len(shown):
        yield f"  … and {len(use.outcomes) - len(shown)} more"
    yield f"  {reply_hint(shown[0], folder)}"


def _reply(outcome: Outcome) -> str:
    try:
        return outcome.reply
    except AdjudgeError:
        return ""  # a test may have removed its store: that must not hide its failure


def _lowest(outcome: Outcome) -> float:
    return min((result.value for result in outcome.results if result.value is not None), default=0.0)


def _by(origin: Origin) -> str:
    judge = shortened(origin.model, _LONGEST_MODEL)
    return f"{origin.protocol.id} by {judge_text(judge, {}, origin.is_fake)}"


def _scale(outcome: Outcome) -> str:
    names = {result.criterion for result in outcome.results if result.choice is None}
    scale = outcome.origin.scale_of(names.pop()) if len(names) == 1 else None
    return f" ({scale_text(scale)})" if scale is not None else ""


def reply_hint(outcome: Outcome, folder: Path) -> str:
    """The command that shows a reply word for word, to be run in this folder."""
    relative = os.path.relpath(outcome.origin.store, folder)
    store = outcome.origin.store if relative.startswith("..") else relative
    # The option is left out where it would only repeat the default.
    where = "" if relative == "adjudge.db" else f" --store {shlex.quote(store)}"
    return safe(f"the reply: adjudge runs show {outcome.origin.run}{where}")


def rows_of(nodeid: str, uses: Iterable[Use]) -> list[dict[str, Any]]:
    """The rows of the summary, as plain values that can be sent to another process."""
    return [
        {
            "test": nodeid,
            "protocol": use.outcomes[0].protocol,
            "model": use.outcomes[0].origin.model,
            "is_fake": use.outcomes[0].origin.is_fake,
            "score": _means(use) if use.is_many else use.outcomes[0].verdict(),
            "status": _statuses(use),
            "n_failed": len(use.outcomes.failed),
            "asked": use.asked,
            "from_store": use.from_store,
            "cost_usd": use.cost_usd,
        }
        for use in uses
        if use.outcomes
    ]


def _means(use: Use) -> str:
    origin = use.outcomes[0].origin
    estimates = use.outcomes.estimates
    text = []
    for name, estimate in estimates.items():
        lead = "" if len(estimates) == 1 else f"{name} "
        text.append(f"{lead}{interval(estimate, decimals(origin.scale_of(name)))}")
    return ", ".join(text)


def _statuses(use: Use) -> str:
    if not use.is_many:
        return use.outcomes[0].status
    counts = Counter(outcome.status for outcome in use.outcomes)
    return failures_text({status: counts[status] for status in sorted(counts, key=lambda s: s != "ok")})


def summary(rows: Sequence[dict[str, Any]], width: int, *, is_long: bool) -> Iterable[str]:
    """The table at the end: each use of `judge` with its result, calls and cost."""
    shown = rows if is_long or len(rows) <= _MOST_ROWS else rows[:_MOST_ROWS]
    heads = ["protocol", "score", "status", "sent", "from store", "cost"]
    numbers = aligned([heads, *map(_cells, shown)])
    room = max(_LEAST_ROOM, width - 2 - max(map(n_columns, numbers)))
    names = ["test", *(safe(row["test"]) for row in shown)]
    if max(map(n_columns, names)) > room:
        names = [name.partition("::")[2] or name for name in names]
    column = min(room, max(map(n_columns, names)))
    for name, line in zip(names, numbers, strict=True):
        yield f"{fitted(name, column)}  {line}".rstrip()
    if len(shown) < len(rows):
        yield f"… and {len(rows) - len(shown)} more; pytest -v shows all"
    yield _total(rows)
    fakes = dict.fromkeys(safe(shortened(row["model"], _LONGEST_MODEL)) for row in rows if row["is_fake"])
    if fakes:
        verb = "is a fake judge" if len(fakes) == 1 else "are fake judges"
        yield f"{', '.join(fakes)} {verb}: these scores say nothing about any system."


def _cells(row: dict[str, Any]) -> list[str]:
    mark = " [fake]" if row["is_fake"] else ""
    protocol = shortened(row["protocol"], _LONGEST_PROTOCOL)
    return [
        safe(f"{protocol}{mark}"),
        safe(shortened(row["score"], 60)),
        row["status"],
        str(row["asked"]),
        str(row["from_store"]),
        _cost(row),
    ]


def _cost(row: dict[str, Any]) -> str:
    """What this run of pytest spent; a dash where calls were made and no price is known."""
    if row["cost_usd"]:
        return f"${row['cost_usd']:.4f}"
    return NO_VALUE if row["asked"] else "$0"


def _total(rows: Sequence[dict[str, Any]]) -> str:
    asked, stored = sum(row["asked"] for row in rows), sum(row["from_store"] for row in rows)
    failed = sum(row["n_failed"] for row in rows)
    text = [
        f"{count(asked, 'call')} sent, {stored:,} from the store",
        f"{count(failed, 'judgment')} failed" if failed else "",
        f"${cost:.4f}" if (cost := sum(row["cost_usd"] for row in rows)) else "",
    ]
    return " · ".join(text for text in text if text)

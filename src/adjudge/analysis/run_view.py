"""`RunView`: the one table of a run that report, trust, rank, compare and gate read.

`tabulate` reads a run from the store once: it decodes each judgment once, combines judgments to results, and collects
what only single replies show (positions, samples, digests). `view_of_results` makes a view of results from elsewhere.
Facts that several analyses share are decided here and nowhere else: whether a failed result is a score or a choice, the
scale of a criterion, which results are independent, position bias, and the notes about the run. Position bias is the
only estimate in this module.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from ..combine import Kind, choice_criterion
from ..engine import judged_items, protocols_of, settings_of
from ..records import (
    PART_KINDS,
    Choice,
    Estimator,
    FieldValue,
    Item,
    Judgment,
    Order,
    Protocol,
    ReaderName,
    Result,
    Scale,
    Subject,
)
from ..run_options import Shard
from ..stats import Position, PositionBias, position_bias
from ..store import Judged, RunRow, Store
from .tally import CriterionKey, Tally, is_undefined

Scales = Mapping[tuple[str, str], Scale | None]
"""(protocol, criterion) → scale; the protocol as in `Result.protocol`, its id alone, or "" for any protocol"""

SampleKey = tuple[str, str, str, str, Subject | None, Kind]
"""protocol, criterion, model, item, subject and kind"""

Digests = Mapping[tuple[str, str], Mapping[str, int]]
"""(item, protocol) → model → a hash of the calls and of what was read from the replies"""

Attributes = Mapping[str, Mapping[str, float | str]]
"""item → named field, `length` (characters of the response; `length_a` and `length_b` of a pair) → its value"""

Contents = Mapping[str, Mapping[str, int]]
"""item → field → a checksum of its text"""


class CellKey(NamedTuple):
    """What every analysis keeps together: the results of one protocol, criterion and kind."""

    protocol: str
    criterion: str
    kind: Kind


class ModelFacts(Struct, frozen=True):
    """One judge, as it was configured and as it identified itself."""

    spec: str
    """the value of `Result.model`"""
    names: dict[str, int] = {}
    """name that the model gave itself → number of replies"""
    fingerprints: dict[str, int] = {}
    is_fake: bool = False


class ProtocolFacts(Struct, frozen=True):
    """One protocol, by its id and the digest of its contents."""

    id: str
    digest: str = ""
    reader: ReaderName | None = None
    """`likelihood` where the model writes no reply"""
    criterion_texts: dict[str, str] = {}
    """criterion → its text, where the user gave it in words"""


ShownPositions = Mapping[tuple[int, int, str], Sequence[Position | None]]
"""(number of the item, sample, model) → the position chosen in order ab, and in order ba"""


class Positions(Struct, frozen=True):
    """Position bias on one criterion: over all judges, and by judge."""

    all_models: PositionBias
    by_model: dict[str, PositionBias]


class RunFacts(Struct, frozen=True):
    """What the manifest and the totals of a run say; a default means unknown."""

    run: str = ""
    started: str = ""
    status: str = ""
    version: str = ""
    models: tuple[ModelFacts, ...] = ()
    protocols: tuple[ProtocolFacts, ...] = ()
    estimator: Estimator | None = None
    parameters: dict[str, Any] = {}
    tokens_in: int = 0
    tokens_out: int = 0
    n_unpriced: int = 0
    """replies whose cost is unknown and not in `cost_usd`"""
    cost_usd: float | None = None
    """none where no price is known"""
    paid_earlier_usd: float = 0.0
    """the part of `cost_usd` that earlier runs paid"""
    price_dates: dict[str, str] = {}
    """model → date of its published price, where the user gave none"""
    seconds: float = 0.0
    n_calls: int = 0
    n_cached: int = 0
    """cache hits: calls that were answered from the store and cost nothing"""
    n_planned: int | None = None
    """items of the run; fewer are judged where it was stopped"""
    n_shards: int = 0
    """parts that the run is judged in (--shard); 0 where it is not divided"""
    missing_shards: tuple[int, ...] = ()
    """the shards whose items are not all in this store, from 1"""
    n_left_out: int = 0
    """bad lines of the items file that --skip-bad skipped"""
    call_errors: dict[str, int] = {}
    """kind of error → calls without a reply"""
    n_reasks_failed: int = 0
    """failed calls that asked again after an unreadable reply: their item stays unread"""
    n_reasks: int = 0
    """replies to follow-up questions for an answer that was missing"""
    reasks_usd: float = 0.0
    has_identical_samples: bool = False
    """whether every sample of every item has the same reply"""
    adjustments: tuple[str, ...] = ()
    """parameters that were not sent because the model refuses them"""


class RunView(Struct, frozen=True):
    """A run as every analysis sees it; for results from elsewhere the fields about the run are empty."""

    name: str
    results: tuple[Result, ...]
    """in the order of the items; empty where only the tally was kept"""
    kinds: tuple[Kind, ...]
    """whether each result is a score or a choice"""
    scales: Scales
    tally: Tally
    facts: RunFacts = RunFacts()
    run: RunRow | None = None
    protocols: Mapping[str, Protocol] = {}
    positions: Mapping[CriterionKey, Positions] = {}
    shown: Mapping[CriterionKey, ShownPositions] = {}
    """the choices behind the position biases"""
    samples: Mapping[SampleKey, tuple[float, ...]] = {}
    """the single values behind results that have several"""
    digests: Digests = {}
    contents: Contents | None = None
    """checksums of the items' texts; only for a comparison, as are the digests"""
    choice_spans: Mapping[tuple[int, int], tuple[int, int]] = {}
    """(item, call) → start and end of the choice in the reply; only for runs with log-probabilities"""
    seqs: Mapping[str, int] = {}
    """item → its number in the run"""
    judgment_notes: Mapping[str, Mapping[str, str]] = {}
    """item → notes of its judgments; only with `keep_notes`"""
    attributes: Attributes = {}
    """what agreement can be shown by; only for the judge card"""

    @property
    def audit(self) -> Mapping[str, Any]:
        """What the manifest says of the probes; empty for an ordinary run."""
        return {} if self.run is None else self.run.manifest.get("audit") or {}

    @property
    def is_audit(self) -> bool:
        return bool(self.audit)

    def scale(self, protocol: str, criterion: str) -> Scale | None:
        return scale_of(self.scales, protocol, criterion)

    def cells(self) -> dict[CellKey, list[Result]]:
        """The results by protocol, criterion and kind, in the order in which they were first seen."""
        cells: dict[CellKey, list[Result]] = defaultdict(list)
        for result, kind in zip(self.results, self.kinds, strict=True):
            cells[CellKey(result.protocol, result.criterion, kind)].append(result)
        return dict(cells)

    def fake_models(self) -> tuple[str, ...]:
        """Judges that are fakes for tests."""
        return tuple(model.spec for model in self.facts.models if model.is_fake)

    def notes(self) -> tuple[str, ...]:
        """Warnings about the run that its numbers do not show."""
        notes = [fake_note(spec) for spec in self.fake_models()]
        return (*notes, *self.status_notes())

    def status_notes(self) -> tuple[str, ...]:
        if self.run is None or self.run.status == "done":
            return ()
        return (
            f"{self.name} is {self.run.status}, not done: items that are not judged yet are not counted.",
        )


def criterion_texts_of(protocol: Protocol) -> dict[str, str]:
    """criterion → its text, where the user gave it in words."""
    return dict.fromkeys(protocol.criteria, protocol.criterion_text) if protocol.criterion_text else {}


def fake_note(spec: str) -> str:
    return f"{spec} is a fake judge for tests: these numbers say nothing about any judge or system."


def scale_of(scales: Scales, protocol: str, criterion: str) -> Scale | None:
    """The scale of a criterion: by its protocol with its digest, by the protocol's id, or by the criterion alone."""
    for key in (protocol, protocol_id(protocol), ""):
        if (key, criterion) in scales:
            return scales[key, criterion]
    return None


def is_declared(scales: Scales, protocol: str, criterion: str) -> bool:
    """Whether the scale of a criterion is known, even if only that it has none."""
    return any((key, criterion) in scales for key in (protocol, protocol_id(protocol), ""))


def by_criterion(scales: Mapping[str, Scale] | None) -> Scales:
    """Scales that a caller gave by criterion alone."""
    return {("", criterion): scale for criterion, scale in (scales or {}).items()}


def protocol_id(protocol: str) -> str:
    """The id of a protocol without its digest."""
    return protocol.partition("@")[0]


def criterion_names(
    keys: Iterable[tuple[str, str]], protocols: Iterable[str] = ()
) -> dict[tuple[str, str], str]:
    """(protocol, criterion) → the name under which analyses show it.

    The criterion alone with one protocol; PROTOCOL/CRITERION with several, with the digest where two versions of a
    protocol have the criterion. `protocols` are those of the run, of which some may have no result yet. One protocol that
    was given several criteria of the user's counts as one.
    """
    unique = list(dict.fromkeys(keys))
    ids = {protocol_id(protocol) for protocol in (*protocols, *(protocol for protocol, _ in unique))}
    shown = Counter((protocol_id(protocol), criterion) for protocol, criterion in unique)
    is_repeated = any(n > 1 for n in shown.values())
    names = {}
    for protocol, criterion in unique:
        if len(ids) <= 1 and not is_repeated:
            names[protocol, criterion] = criterion
        elif shown[protocol_id(protocol), criterion] == 1:
            names[protocol, criterion] = f"{protocol_id(protocol)}/{criterion}"
        else:
            names[protocol, criterion] = f"{protocol}/{criterion}"
    return names


def results_by_model(results: Iterable[Result]) -> dict[str, list[Result]]:
    """The results of each judge, in the order in which judges were first seen."""
    results_of: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        results_of[result.model].append(result)
    return dict(results_of)


def cluster_of(group: str | None, item: str) -> str:
    """What makes results dependent on each other: a common group (a prompt), or a common item."""
    return f"g {group}" if group is not None else f"i {item}"


# -- Results from elsewhere


def view_of_results(results: Iterable[Result], scales: Scales | None = None, name: str = "") -> RunView:
    """A view of any results. A failed result has neither a value nor a choice: `kinds_of` decides its kind."""
    rows = tuple(result for result in results if not is_undefined(result))
    kinds = kinds_of(rows, scales or {})
    return RunView(name, rows, kinds, scales or {}, _tally(rows, kinds))


def _tally(results: Iterable[Result], kinds: Iterable[Kind]) -> Tally:
    tally = Tally()
    for result, kind in zip(results, kinds, strict=True):
        tally.add(result, kind)
    return tally


def kinds_of(results: Sequence[Result], scales: Scales) -> tuple[Kind, ...]:
    """Whether each result is a score or a choice.

    A failed result without a subject has the kind of the other results of its criterion, from any judge. If all of them
    failed: where other results of the criterion have a subject, the one without is the choice; otherwise the scale
    decides, since a criterion without a scale has choices; where the scale is unknown, results of pairs are choices.
    """
    chosen, scored, with_subject = set(), set(), set()
    for result in results:
        key = (result.protocol, result.criterion)
        if result.subject is not None:
            with_subject.add(key)
        elif result.choice is not None:
            chosen.add(key)
        elif result.value is not None:
            scored.add(key)

    def kind(result: Result) -> Kind:
        key = (result.protocol, result.criterion)
        if result.choice is not None:
            return "choices"
        if result.value is not None or result.subject is not None:
            return "scores"
        if key in chosen or key in scored:
            return "choices" if key in chosen else "scores"
        if key in with_subject:
            return "choices"
        if is_declared(scales, *key):
            return "choices" if scale_of(scales, *key) is None else "scores"
        is_pair = result.system_a is not None or result.system_b is not None
        return "choices" if is_pair else "scores"

    return tuple(kind(result) for result in results)


def side_by_side(views: Sequence[RunView]) -> RunView:
    """Several runs as the judges of one run. Where a model judged a criterion in two of them, its name includes the run."""
    if len(views) == 1:
        return views[0]
    criteria_and_models = [
        {(protocol_id(row.protocol), row.criterion, row.model) for row in view.results} for view in views
    ]
    is_shared = bool(set.intersection(*criteria_and_models))

    def model_in(view: RunView, model: str) -> str:
        return f"{model} in {view.name}" if is_shared else model

    results = [
        structs.replace(row, model=model_in(view, row.model)) for view in views for row in view.results
    ]
    kinds = [kind for view in views for kind in view.kinds]
    return RunView(
        name=" and ".join(view.name for view in views),
        results=tuple(results),
        kinds=tuple(kinds),
        scales={key: scale for view in views for key, scale in view.scales.items()},
        tally=_tally(results, kinds),
        samples={
            (key[0], key[1], model_in(view, key[2]), *key[3:]): values
            for view in views
            for key, values in view.samples.items()
        },
        attributes={item: found for view in reversed(views) for item, found in view.attributes.items()},
    )


def attributes_of(items: Iterable[Item], names: Sequence[str] = ()) -> Attributes:
    """The named fields of each item and the length of its response."""
    attributes: dict[str, dict[str, float | str]] = {}
    digests: dict[str, dict[str, tuple[int, int]]] = {}
    groups: dict[str, str | None] = {}
    for item in items:
        digests[item.id] = {
            name: (zlib.crc32(msgspec.json.encode(value)), text_length(value))
            for name, value in item.fields.items()
        }
        groups[item.id] = item.group
        attributes[item.id] = {
            name: value for name in names if isinstance(value := item.fields.get(name), str)
        }
    response = _response_field(digests, groups)
    for item_id, found in digests.items():
        for name, key in ((response, "length"), ("response_a", "length_a"), ("response_b", "length_b")):
            if name in found:
                attributes[item_id][key] = float(found[name][1])
    return attributes


def text_length(value: FieldValue) -> int:
    """Characters of a text, or of all messages of a conversation."""
    if isinstance(value, str):
        return len(value)
    return sum(len(entry if isinstance(entry, str) else entry.content) for entry in value)


def _response_field(
    digests: Mapping[str, Mapping[str, tuple[int, int]]], groups: Mapping[str, str | None]
) -> str:
    """The field that is judged: `response`, or the only one in which items of one group differ; empty where unknown."""
    if any("response" in found for found in digests.values()):
        return "response"
    seen: dict[tuple[str, str], int] = {}
    differing = set()
    for item_id, found in digests.items():
        group = groups[item_id]
        if group is None:
            continue
        for name, (digest, _) in found.items():
            if seen.setdefault((group, name), digest) != digest:
                differing.add(name)
    return differing.pop() if len(differing) == 1 else ""


def pooled_over_models(view: RunView) -> tuple[RunView, str]:
    """One result per item where several models judged (see `pooled_result`), and a note that says so."""
    models = list(view.tally.models)
    if len(models) < 2:
        return view, ""
    results: list[Result] = []
    kinds: list[Kind] = []
    for cell, rows in view.cells().items():
        by_item: dict[tuple[str, str, str], list[Result]] = defaultdict(list)
        for row in rows:
            by_item[row.item, row.subject or "", row.system].append(row)
        results += [
            structs.replace(pooled_result(group), model=f"{len(models)} judges") for group in by_item.values()
        ]
        kinds += [cell.kind] * len(by_item)
    failed = Counter(row.model for row in view.results if row.status != "ok")
    asked = Counter(row.model for row in view.results)
    note = f"Several judges: each score is the mean of {', '.join(models)}, each choice their majority."
    for model, n in failed.items():
        note += f" {model} failed on {n:,} of {asked[model]:,}."
    tally = _tally(results, kinds)
    return structs.replace(view, results=tuple(results), kinds=tuple(kinds), tally=tally, samples={}), note


def pooled_result(rows: Sequence[Result]) -> Result:
    """One result of several judges: the mean of their scores, the vote on their choices."""
    if len(rows) == 1:
        return rows[0]
    values = [row.value for row in rows if row.value is not None]
    choices = [row.choice for row in rows if row.choice is not None]
    return structs.replace(
        rows[0],
        # Rounded, because equal means must not differ by the order of the sum: they would get different ranks.
        value=round(math.fsum(values) / len(values), 12) if values else None,
        choice=panel_vote(choices) if choices else None,
        status="ok" if values or choices else rows[0].status,
    )


def panel_vote(choices: Sequence[Choice]) -> Choice:
    """The side that more judges chose, or a tie where both have as many votes.

    Judges who say tie abstain. This is the sign of the mean choice, which the report counts by.
    """
    lead = choices.count("a") - choices.count("b")
    return "tie" if lead == 0 else "a" if lead > 0 else "b"


# -- Runs in a store


def tabulate(
    store: Store,
    run: RunRow,
    *,
    keep_results: bool = True,
    for_comparison: bool = False,
    choice_spans: bool = False,
    keep_notes: bool = False,
    on_read: Callable[[int], None] | None = None,
) -> RunView:
    """Read a run once. A report needs only the tally (`keep_results=False`), which takes little memory.

    `for_comparison` adds digests that show whether two runs judged the same texts, made the same calls and got the same
    replies; `choice_spans` adds the position of the choice in each reply. `on_read` gets the number of judgments read.
    """
    protocols = protocols_of(store, run)
    replies = SingleReplies(
        protocols,
        settings_of(run).samples > 1 and keep_results,
        f"{store.path} {run.id}" if for_comparison else None,
        choice_spans,
    )
    tally = Tally()
    results: list[Result] = []
    kinds: list[Kind] = []
    seqs: dict[str, int] = {}
    notes: dict[str, dict[str, str]] = {}
    for judged in judged_items(replies.watch(_counted(store.judgments(run), on_read)), protocols):
        for result, kind, voices in judged.results:
            tally.add(result, kind, [voice.judgment for voice in voices])
            if keep_notes:
                for voice in voices:
                    notes.setdefault(result.item, {}).update(voice.judgment.notes)
            if keep_results and not is_undefined(result):
                results.append(structs.replace(result, explanation=""))
                kinds.append(kind)
        if keep_results:
            seqs[judged.item.id] = judged.seq
    return RunView(
        name=run.name,
        results=tuple(results),
        kinds=tuple(kinds),
        scales={
            (key, criterion): scale
            for key, protocol in protocols.items()
            for criterion, scale in protocol.criteria.items()
        },
        tally=tally,
        facts=_facts(store, run, protocols, replies.n_reasks_failed),
        run=run,
        protocols=protocols,
        positions=replies.position_biases(),
        shown=replies.shown if keep_results else {},
        samples=replies.sample_values(),
        digests=replies.digests,
        contents=_contents(store, run) if for_comparison else None,
        choice_spans=replies.choice_spans,
        seqs=seqs,
        judgment_notes=notes,
    )


_TOLD_EVERY = 500


def _counted(places: Iterable[Judged], on_read: Callable[[int], None] | None) -> Iterator[Judged]:
    for number, place in enumerate(places, 1):
        if on_read is not None and not number % _TOLD_EVERY:
            on_read(number)
        yield place


def _contents(store: Store, run: RunRow) -> Contents:
    # A checksum is enough: it shows whether a text was changed, not whether it was forged.
    return {
        item.id: {name: zlib.crc32(msgspec.json.encode(value)) for name, value in item.fields.items()}
        for item in store.items(run)
    }


class SingleReplies:
    """What is collected from single judgments before they are combined."""

    def __init__(
        self, protocols: Mapping[str, Protocol], has_samples: bool, digest_salt: str | None, keeps_spans: bool
    ) -> None:
        self.n_reasks_failed = 0
        self.digests: dict[tuple[str, str], dict[str, int]] = {}
        self.choice_spans: dict[tuple[int, int], tuple[int, int]] = {}
        self._protocols = protocols
        self._has_samples = has_samples
        self._digest_salt = digest_salt
        self._keeps_spans = keeps_spans
        self.shown: dict[CriterionKey, dict[tuple[int, int, str], list[Position | None]]] = {}
        """criterion → (item, sample, model) → the position chosen in order ab, and in order ba"""
        self._seq = -1
        self._calls: dict[tuple[str, str, str, int], Judged] = {}
        """the first call of each comparison of the current item"""
        self._samples: dict[SampleKey, dict[Order, list[float]]] = {}

    def watch(self, judgments: Iterable[Judged]) -> Iterator[Judged]:
        for judged in judgments:
            self.n_reasks_failed += judged.about.kind == "reask" and judged.error is not None
            if self._digest_salt is not None:
                self._add_digest(judged, self._digest_salt)
            if judged.judgment is not None and judged.seq >= 0 and judged.about.kind not in PART_KINDS:
                self._add_positions(judged, judged.judgment)
                if self._has_samples:
                    self._add_samples(judged, judged.judgment)
                if self._keeps_spans:
                    self._add_span(judged, judged.judgment)
            yield judged

    def _add_positions(self, judged: Judged, judgment: Judgment) -> None:
        protocol = self._protocols.get(judged.about.protocol)
        if protocol is None or protocol.task != "compare":
            return
        for criterion, choice in choices_in(judgment, protocol):
            shown = self.shown.setdefault((judged.about.protocol, criterion), {})
            place = (judged.seq, judged.about.sample, judged.about.model)
            if self._is_one_reply(judged, criterion):
                shown.pop(place, None)
                continue
            positions = shown.setdefault(place, [None, None])
            positions[0 if judged.about.order == "ab" else 1] = position_of(choice, judged.about.order)

    def _is_one_reply(self, judged: Judged, criterion: str) -> bool:
        """Whether the other order of this pair is the same call: its responses are identical, and have no position."""
        about = judged.about
        key = (about.protocol, criterion, about.model, about.sample)
        if judged.seq != self._seq:
            self._seq, self._calls = judged.seq, {}
        first = self._calls.setdefault(key, judged)
        return first.call == judged.call and first.about.order != about.order

    def _add_samples(self, judged: Judged, judgment: Judgment) -> None:
        if judged.item is None:
            return
        about = judged.about

        def add(criterion: str, subject: Subject | None, kind: Kind, value: float) -> None:
            assert judged.item is not None
            key = (about.protocol, criterion, about.model, judged.item.id, subject, kind)
            self._samples.setdefault(key, {}).setdefault(about.order, []).append(value)

        for score in judgment.scores:
            if score.value is not None:
                add(score.criterion, score.subject, "scores", score.value)
        if judgment.choice is not None and about.criteria:
            add(choice_criterion(about.criteria), None, "choices", as_number(judgment.choice))

    def _add_digest(self, judged: Judged, salt: str) -> None:
        """Equal digests mean the same calls (texts, prompt, judge, settings) and the same reading of each reply.

        A call without a reply equals no other: its reply is unknown.
        """
        if judged.item is None:
            return
        # The reply to a second question is part of the judgment of the first reply.
        is_read = judged.judgment is not None or judged.about.kind in PART_KINDS
        call_salt = "" if is_read and judged.error is None else salt
        content = msgspec.json.encode((judged.call, judged.about, judged.judgment, call_salt))
        by_model = self.digests.setdefault((judged.item.id, judged.about.protocol), {})
        # A sum, because two runs may make their calls in different orders.
        number = int.from_bytes(blake2b(content, digest_size=8).digest())
        by_model[judged.about.model] = by_model.get(judged.about.model, 0) + number

    def _add_span(self, judged: Judged, judgment: Judgment) -> None:
        # A choice that was read from a second question is in another reply.
        if judgment.choice_span is not None and judgment.choice_how != "reask":
            self.choice_spans[judged.seq, judged.call_index] = judgment.choice_span

    def position_biases(self) -> dict[CriterionKey, Positions]:
        return {key: _positions(shown) for key, shown in self.shown.items()}

    def sample_values(self) -> dict[SampleKey, tuple[float, ...]]:
        """The samples of each result; of the two orders of a pair, those of the order with more samples."""
        values: dict[SampleKey, tuple[float, ...]] = {}
        for key, orders in self._samples.items():
            longest = max(orders, key=lambda order: len(orders[order]))
            values[key] = tuple(orders[longest])
        return values


def _positions(shown: ShownPositions) -> Positions:
    def bias(part: ShownPositions) -> PositionBias:
        return position_bias(
            [both[0] for both in part.values()],
            [both[1] for both in part.values()],
            [item for item, _, _ in part],
        )

    models = dict.fromkeys(model for _, _, model in shown)
    return Positions(
        bias(shown),
        {model: bias({key: both for key, both in shown.items() if key[2] == model}) for model in models},
    )


def choices_in(judgment: Judgment, protocol: Protocol) -> Iterator[tuple[str, Choice]]:
    """The choices of one reply: the stated one, and those that its scores of both responses imply."""
    stated = choice_criterion(protocol.criteria)
    if judgment.choice is not None:
        yield stated, judgment.choice
    values: dict[str, dict[str, float]] = {}
    for score in judgment.scores:
        if score.subject is not None and score.value is not None:
            values.setdefault(score.criterion, {})[score.subject] = score.value
    for criterion, sides in values.items():
        scale = protocol.criteria.get(criterion)
        sign = 0 if scale is None else scale.direction
        if len(sides) == 2 and sign and (criterion != stated or judgment.choice_status is None):
            gap = sign * (sides["a"] - sides["b"])
            yield criterion, "a" if gap > 0 else "b" if gap < 0 else "tie"


def position_of(choice: Choice, order: Order) -> Position:
    """The position at which the chosen response was shown."""
    if choice == "tie":
        return "tie"
    return "first" if (choice == "a") == (order == "ab") else "second"


def as_number(answer: float | str) -> float:
    """A score unchanged; a choice as the share that response a gets: 1, 0, or one half for a tie."""
    return {"a": 1.0, "b": 0.0}.get(answer, 0.5) if isinstance(answer, str) else float(answer)


def _facts(store: Store, run: RunRow, protocols: Mapping[str, Protocol], n_reasks_failed: int) -> RunFacts:
    totals = store.totals(run)
    is_priced = totals.replies > totals.unpriced
    return RunFacts(
        run=run.name,
        started=run.started,
        status=run.status,
        version=str(run.manifest.get("version", "")),
        models=_model_facts(store, run),
        protocols=tuple(
            ProtocolFacts(protocol.id, protocol.digest, protocol.answer.reader, criterion_texts_of(protocol))
            for protocol in protocols.values()
        ),
        estimator=settings_of(run).estimator,
        parameters=_parameters(run, protocols),
        tokens_in=totals.tokens_in,
        tokens_out=totals.tokens_out,
        cost_usd=totals.cost_usd if is_priced else None,
        n_unpriced=totals.unpriced,
        paid_earlier_usd=max(0.0, totals.cost_usd - totals.paid_usd),
        price_dates=dict(run.manifest.get("price_dates", {})),
        seconds=run.seconds,
        n_calls=totals.calls,
        n_cached=max(0, totals.replies - totals.paid_replies),
        n_planned=run.manifest["items"].get("n"),
        n_shards=run.manifest.get("shards", 0),
        missing_shards=_missing_shards(store, run),
        n_left_out=run.manifest["items"].get("left_out", 0),
        call_errors={kind: n for kind, n in totals.failed.items() if n},
        n_reasks_failed=n_reasks_failed,
        n_reasks=totals.reasks,
        reasks_usd=totals.reasks_usd,
        has_identical_samples=settings_of(run).samples > 1 and store.samples_are_identical(run),
        adjustments=tuple(run.manifest.get("adjustments", ())),
    )


def _missing_shards(store: Store, run: RunRow) -> tuple[int, ...]:
    n_shards, n_items = run.manifest.get("shards", 0), run.manifest["items"].get("n")
    if not n_shards or n_items is None or run.status == "done":
        return ()
    stored = store.items_by_shard(run, n_shards)
    return tuple(number for number, n in enumerate(stored, 1) if n < Shard(number, n_shards).size(n_items))


def _parameters(run: RunRow, protocols: Mapping[str, Protocol]) -> dict[str, Any]:
    parameters = {key: value for key, value in run.manifest["settings"].items() if value is not None}
    if parameters["steps"] == "generate":
        # Without the generated steps the criterion cannot be reproduced.
        parameters["steps"] = [step for protocol in protocols.values() for step in protocol.steps]
    return parameters


def _model_facts(store: Store, run: RunRow) -> tuple[ModelFacts, ...]:
    names: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    fingerprints: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for seen in store.models_seen(run):
        if seen.model_name:
            names[seen.model][seen.model_name] += seen.n
        if seen.fingerprint:
            fingerprints[seen.model][seen.fingerprint] += seen.n
    return tuple(
        ModelFacts(
            spec=model["spec"],
            names=dict(names.get(model["spec"], {})),
            fingerprints=dict(fingerprints.get(model["spec"], {})),
            is_fake=model["is_fake"],
        )
        for model in run.manifest["models"]
    )

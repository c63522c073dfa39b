"""`RunView`: the one table of a run that report, trust, rank, compare and gate read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from ...records import Protocol, Result, Scale, Subject
from ...results.combine import Kind
from ...store import LEFT_OUT, RunRow
from .criteria import Scales, scale_of
from .positions import Positions, ShownPositions
from .run_facts import RunFacts
from .tally import CriterionKey, Tally

SampleKey = tuple[str, str, str, str, Subject | None, Kind]
"""protocol, criterion, model, item, subject and kind"""


Digests = Mapping[tuple[str, str], Mapping[str, int]]
"""(item, protocol) → model → a hash of the calls and of what was read from the replies"""


Attributes = Mapping[str, Mapping[str, float | str]]
"""item → named field, `length` (characters of the response; `length_a` and `length_b` of a pair) → its value
"""


PanelScores = Mapping[tuple[str, str, str, Subject | None, Kind], Mapping[str, float | None]]
"""protocol, criterion, item, subject and kind → judge → its score (of a choice the share of response a), none
where it failed
"""


Texts = Mapping[str, tuple[str, ...]]
"""item → the judged text, or both of a pair"""


Contents = Mapping[str, Mapping[str, int]]
"""item → field → a checksum of its text"""


class InputKey(NamedTuple):
    """What the outputs for one input share: a hash of all fields but the response, and the system."""

    inputs: str
    system: str


class CellKey(NamedTuple):
    """What every analysis keeps together: the results of one protocol, criterion and kind."""

    protocol: str
    criterion: str
    kind: Kind


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
    input_keys: Mapping[str, InputKey] = {}
    """item without an id in its file → its input; only for a comparison"""
    line_ids: frozenset[str] = frozenset()
    """ids that are line numbers, as in older runs; only for a comparison"""
    choice_spans: Mapping[tuple[int, int], tuple[int, int]] = {}
    """(item, call) → start and end of the choice in the reply; only for runs with log-probabilities"""
    seqs: Mapping[str, int] = {}
    """item → its number in the run"""
    attributes: Attributes = {}
    """what agreement can be shown by; only for the judge card"""
    panel: PanelScores = {}
    """the scores behind results that pool several judges"""
    texts: Texts = {}
    """the judged texts of labelled items; only for the judge card"""

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
        cells: dict[tuple[str, str, Kind], list[Result]] = defaultdict(list)
        for result, kind in zip(self.results, self.kinds, strict=True):
            cells[result.protocol, result.criterion, kind].append(result)
        return {CellKey(*key): results for key, results in cells.items()}

    def fake_models(self) -> tuple[str, ...]:
        """Judges that are fakes for tests."""
        return tuple(model.spec for model in self.facts.models if model.is_fake)

    def notes(self) -> tuple[str, ...]:
        """Warnings about the run that its numbers do not show."""
        notes = [fake_note(spec) for spec in self.fake_models()]
        return (*notes, *self.left_out_notes(), *self.status_notes())

    def left_out(self) -> dict[tuple[str, ...], int]:
        """How many lines `--skip-bad` left out, by system, or by both systems of a pair."""
        entries = () if self.run is None else self.run.manifest.get(LEFT_OUT, ())
        return {tuple(entry["systems"]): entry["n"] for entry in entries}

    def left_out_notes(self) -> tuple[str, ...]:
        lines = [f"{n:,} of {' / '.join(systems)}" for systems, n in self.left_out().items()]
        if not lines:
            return ()
        return (
            f"Invalid lines were skipped, not judged: {', '.join(lines)}. A report counts them as failures.",
        )

    def status_notes(self) -> tuple[str, ...]:
        if self.run is None or self.run.status == "done":
            return ()
        return (
            f"{self.name} is {self.run.status}, not done: items that are not judged yet are not counted.",
        )


def short_spec(spec: str) -> str:
    """A fake judge as a sentence names it: its reply may be long, and hold its own sentences."""
    first, end, _ = spec.partition(". ")
    return f"{first} …" if end else spec


def fake_note(spec: str) -> str:
    return (
        f"{short_spec(spec)} is a fake judge for tests: these numbers say nothing about any judge or system."
    )

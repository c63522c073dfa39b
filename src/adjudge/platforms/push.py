"""Writing scores to a target: only those that are not there, or that have changed.

The target itself is asked what it has, so a killed push resumes where it stopped, from any machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from ..errors import DataError, PluginError
from ..plugins import loaded, plugins
from .inspect_log import InspectTarget
from .langfuse import LangfuseTarget
from .langsmith import LangsmithTarget
from .mlflow import MlflowTarget
from .otlp import OtlpTarget
from .phoenix import PhoenixTarget
from .score import PlatformScore, Target

_CHUNK = 40
TARGETS = {
    "mlflow": "mlflow:EXPERIMENT",
    "phoenix": "phoenix:PROJECT",
    "langfuse": "langfuse:",
    "langsmith": "langsmith:PROJECT",
    "inspect": "inspect:LOG",
    "otlp": "otlp:logs or otlp:spans",
}


class Pushed(Struct):
    """What became of the scores of a push."""

    written: int = 0
    replaced: int = 0
    unchanged: int = 0
    """scores that the target has already"""
    without_trace: int = 0
    """scores of items that the target has no trace of"""
    errors: int = 0
    """of those written or replaced: failed judgments, which are written as errors"""

    @property
    def n(self) -> int:
        return self.written + self.replaced + self.unchanged + self.without_trace


def open_target(text: str, store: Path) -> Target:
    """The target of NAME:ADDRESS: a platform, or a plug-in of this name."""
    name, sign, address = text.partition(":")
    if sign and name in TARGETS:
        match name:
            case "mlflow":
                return MlflowTarget(address)
            case "phoenix":
                return PhoenixTarget(address)
            case "langfuse":
                return LangfuseTarget(address)
            case "langsmith":
                return LangsmithTarget(address)
            case "inspect":
                return InspectTarget(address)
        return OtlpTarget(address, store.with_name(f"{store.name}.otlp.jsonl"))
    opener = loaded("targets", name) if sign and name else None
    if opener is None:
        forms = [*TARGETS.values(), "https://HOST", *(f"{name}:…" for name in plugins("targets"))]
        raise DataError(f"'{text:.200}' is no target of scores. Targets are {', '.join(forms)}.")
    target: Target = opener(address)
    if not all(hasattr(target, part) for part in ("present", "write", "close")):
        raise PluginError(
            f"plug-in {name} (adjudge.targets) gave an object without present, write and close."
        )
    return target


async def push_scores(
    scores: Iterable[PlatformScore],
    target: Target,
    *,
    is_dry: bool = False,
    on_progress: Callable[[Pushed], None] = lambda _: None,
) -> Pushed:
    """Write the scores that the target lacks, and replace those that differ."""
    pushed = Pushed()
    for chunk in _chunks(scores):
        present = await target.present(chunk)
        new = [score for score in chunk if score.id not in present]
        changed = [score for score in chunk if present.get(score.id) not in (None, score.digest)]
        if (new or changed) and not is_dry:
            await target.write([*new, *changed])
        without = sum(score.id in present and present[score.id] is None for score in chunk)
        pushed.written += len(new)
        pushed.replaced += len(changed)
        pushed.without_trace += without
        pushed.unchanged += len(chunk) - len(new) - len(changed) - without
        pushed.errors += sum(bool(score.error) for score in (*new, *changed))
        on_progress(pushed)
    return pushed


def _chunks(scores: Iterable[PlatformScore]) -> Iterator[tuple[PlatformScore, ...]]:
    left = iter(scores)
    while chunk := tuple(islice(left, _CHUNK)):
        yield chunk

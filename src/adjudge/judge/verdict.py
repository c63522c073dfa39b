"""What a judge returns: scores, a choice, the judge's explanation and cost; for several items also their
mean.

A failed judgment has no score: `score` is none, never a default number, and comparing it raises. No model is
called here."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import total_ordering
from types import MappingProxyType
from typing import Any

from msgspec import structs

from ..analysis.run_view.panel import pooled_result
from ..errors import DataError, NoScore
from ..records import Element, Estimate, How, Protocol, Result, Scale, Status, Subject
from ..results.call_digests import JudgeKey
from ..results.combine import Kind
from ..store import Judged

_LONGEST_EXPLANATION = 120
_NO_ERRORS: Mapping[JudgeKey, str] = MappingProxyType({})


class Origin:
    """Where verdicts come from: one run of one protocol by one judge."""

    def __init__(self, protocol: Protocol, model: str, is_fake: bool, run: str, store: str) -> None:
        self.protocol = protocol
        self.model = model
        self.is_fake = is_fake
        self.run = run
        self.store = store

    def scale_of(self, criterion: str) -> Scale | None:
        return self.protocol.criteria.get(criterion)


@total_ordering
class Verdict:
    """How one item was judged. With several criteria, `criteria[NAME]` is the same for one of them; of a
    panel, `judges[MODEL]` for one judge, and the verdict is the mean of their scores or the majority of their
    choices.

    `float(verdict)` and comparisons with a number (or, of a choice, with a text) raise `NoScore` where the
    judgment failed.
    """

    def __init__(
        self,
        origin: Origin,
        results: Iterable[tuple[Result, Kind]],
        cost_usd: float | None = None,
        decided_by: str | None = "",
        errors: Mapping[JudgeKey, str] = _NO_ERRORS,
    ) -> None:
        self.origin = origin
        self.by_judge = tuple(results)
        self.cost_usd = cost_usd
        """what the replies cost, in USD, whenever they were paid for; none where no price is known"""
        self.decided_by = decided_by
        """of a cascade: the judge that was sure enough; none: no judge was, and people should decide"""
        self._errors = errors
        pooled = list(_pooled(origin, self.by_judge))
        self.results = tuple(result for result, _ in pooled)
        self._labels = [result for result, kind in pooled if kind == "scores" and self._is_class(result)]
        self._scores = [result for result, kind in pooled if kind == "scores" and not self._is_class(result)]
        self._choices = [result for result, kind in pooled if kind == "choices"]

    def _is_class(self, result: Result) -> bool:
        """Whether a criterion sorts by labels: the number of a label is not a score."""
        scale = self.origin.scale_of(result.criterion)
        return scale is not None and scale.is_nominal

    # One score or choice

    @property
    def score(self) -> Any:
        """The score on the protocol's scale, a number; none where the judgment failed, and `status` says why.

        It has no narrower type, so that `verdict.score >= 4` passes a type checker: in a test, the plugin
        turns the comparison with none into a failure that says so.
        """
        __tracebackhide__ = True
        return None if self.decided_by is None else self._one_score("score").value

    @property
    def normalized(self) -> Any:
        """The score from 0 (bad end) to 1 (good end); none too where the scale has no known ends."""
        __tracebackhide__ = True
        return None if self.decided_by is None else self._one_score("normalized").normalized

    @property
    def choice(self) -> str | None:
        """`a`, `b` or `tie`, or the label of a protocol that sorts by labels; none where the judgment
        failed."""
        __tracebackhide__ = True
        if self._labels and not self._choices:
            return self.label
        if len(self._choices) != 1:
            raise DataError(f"{self.protocol} gives no choice here. Use .score, or .criteria[…].score.")
        return None if self.decided_by is None else self._choices[0].choice

    @property
    def label(self) -> str | None:
        """The label that the judge chose, of a protocol that sorts by labels; none where the judgment
        failed."""
        __tracebackhide__ = True
        if not self._labels:
            raise DataError(f"{self.protocol} gives no label here. Use .score or .choice.")
        label = self._only(self._labels, "label").label
        return None if self.decided_by is None else label

    @property
    def answer(self) -> Any:
        """The choice or the label where there is one, otherwise the score; none where the judgment failed, or
        where there was nothing to score."""
        __tracebackhide__ = True
        if not self.is_read:
            return None
        return self.choice if self.gives_choice else self.score

    # About the judgment

    @property
    def status(self) -> Status:
        """`ok` where all requested scores and choices were read, else the status of the first that was
        not."""
        return next((result.status for result in self.results if result.status != "ok"), "ok")

    @property
    def how(self) -> How | None:
        """How the answer was read from the reply: `strict`, `anchored`, `reask`, …; none where it was not."""
        return next((result.how for result in self.results if result.how is not None), None)

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
    def error(self) -> str:
        """Why there is no reply, of a judgment that failed without one; empty otherwise."""
        failed = (result for result, _ in self.by_judge if result.status != "ok")
        keys = ((result.protocol, result.model) for result in failed)
        return next((self._errors[key] for key in keys if key in self._errors), "")

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
        """What a protocol with steps has checked one by one: claims, passages, points; empty without
        steps."""
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
    def criteria(self) -> dict[str, Verdict]:
        """criterion → the verdict for it alone."""
        names = dict.fromkeys(result.criterion for result in self.results)
        return {
            name: self._part((result, kind) for result, kind in self.by_judge if result.criterion == name)
            for name in names
        }

    @property
    def judges(self) -> dict[str, Verdict]:
        """model → its verdict alone."""
        names = dict.fromkeys(result.model for result, _ in self.by_judge)
        return {
            name: self._part((result, kind) for result, kind in self.by_judge if result.model == name)
            for name in names
        }

    def of_cascade(self, cost_usd: float | None, decided_by: str | None) -> Verdict:
        """The same verdict of a judge of a cascade, with what all judges cost."""
        return Verdict(self.origin, self.by_judge, cost_usd, decided_by, self._errors)

    def _part(self, results: Iterable[tuple[Result, Kind]]) -> Verdict:
        return Verdict(self.origin, results, None, self.decided_by, self._errors)

    @property
    def a(self) -> Verdict:
        """The verdict for the first response of a pair."""
        __tracebackhide__ = True
        return self._of_subject("a")

    @property
    def b(self) -> Verdict:
        """The verdict for the second response of a pair."""
        __tracebackhide__ = True
        return self._of_subject("b")

    def _of_subject(self, subject: Subject) -> Verdict:
        __tracebackhide__ = True
        if not any(result.subject == subject for result in self.results):
            raise DataError(
                f"{self.protocol} does not score the responses of a pair separately. Use .choice."
            )
        return self._part((result, kind) for result, kind in self.by_judge if result.subject == subject)

    def _one_score(self, name: str) -> Result:
        __tracebackhide__ = True
        if not self._scores:
            kind = "choice" if self._choices else "label"
            raise DataError(f"{self.protocol} gives a {kind} and no score. Use .{kind}.")
        return self._only(self._scores, name)

    def _only(self, results: Sequence[Result], name: str) -> Result:
        __tracebackhide__ = True
        if len(results) == 1:
            return results[0]
        paths = [f".criteria[{result.criterion!r}]{_dot(result.subject)}.{name}" for result in results]
        raise DataError(f"{self.protocol} gives {len(paths)} {name}s. Choose one: {' or '.join(paths[:2])} …")

    @property
    def gives_choice(self) -> bool:
        """Whether there is a choice between two responses or a label, maybe beside scores."""
        return bool(self._choices or self._labels)

    @property
    def is_read(self) -> bool:
        """Whether all requested scores and choices were read, and a cascade's judge was sure."""
        return self.status == "ok" and self.decided_by is not None

    def in_words(self) -> str:
        """The scores, or the choice, in as few words as possible."""
        return ", ".join(self._words()) or "nothing"

    def _words(self) -> Iterable[str]:
        if self.decided_by is None and self.status == "ok":
            yield "undecided"
            return
        is_single = len(self._scores) + len(self._labels) == 1
        for result in self._choices:
            yield f"choice {result.choice or 'none'}"
        for result in self._labels:
            yield f"{'' if is_single else f'{result.criterion} '}{result.label or 'none'}"
        for result in self._scores:
            name = "" if is_single else f"{result.criterion}{_dot(result.subject)} "
            yield f"{name}{'none' if result.value is None else f'{result.value:g}'}"

    # As a number

    def failure(self) -> NoScore:
        """What is raised where a number or an answer is needed and there is none."""
        reason = f"the judgment failed ({self.status})" + (f": {self.error}" if self.error else "")
        if self.status == "ok":
            reason = "no judge was sure enough" if self.decided_by is None else "there was nothing to score"
        why = reason.removesuffix(".")
        return NoScore(f"{self.protocol} has no score for {self.item}: {why}. Look at .status first.")

    def __float__(self) -> float:
        __tracebackhide__ = True
        score = self.score
        if score is None:
            raise self.failure()
        return float(score)

    def _answer(self, other: object) -> Any:
        """What is compared with a number or a text; a failure raises."""
        __tracebackhide__ = True
        if isinstance(other, str):
            if self._scores and not self._choices and not self._labels:
                raise DataError(
                    f"{self.protocol} gives a score. Compare it with a number, not with {other!r}."
                )
            answer = self.choice
            if answer is None:
                raise self.failure()
            return answer
        return float(self) if isinstance(other, int | float | Verdict) else NotImplemented

    def __eq__(self, other: object) -> bool:
        __tracebackhide__ = True
        answer = self._answer(other)
        return answer if answer is NotImplemented else answer == _number(other)

    def __lt__(self, other: object) -> bool:
        __tracebackhide__ = True
        answer = self._answer(other)
        return answer if answer is NotImplemented else answer < _number(other)

    def __le__(self, other: object) -> bool:
        __tracebackhide__ = True
        answer = self._answer(other)
        return answer if answer is NotImplemented else answer <= _number(other)

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        __tracebackhide__ = True
        # Otherwise `assert judge(…)` would pass for any judgment.
        raise DataError("a judgment is neither true nor false. Compare its .score, .choice or .status.")

    def __repr__(self) -> str:
        from ..analysis.report.words.scores import scale_text

        text = shortened(self.explanation, _LONGEST_EXPLANATION)
        scale = (
            f" ({scale_text(self.origin.scale_of(self._scores[0].criterion))})"
            if len(self._scores) == 1
            else ""
        )
        quoted = f"; {text!r}" if text else ""
        return f"<{self.protocol}: {self.in_words()}{scale}, {self.status}{quoted}>"


class Verdicts(list[Verdict]):
    """The verdicts of several items, in their order."""

    def __init__(self, verdicts: Iterable[Verdict], criteria: Iterable[str]) -> None:
        super().__init__(verdicts)
        self._criteria = tuple(criteria)

    @property
    def estimates(self) -> dict[str, Estimate]:
        """criterion → the mean score, or for a choice the share won by `a`, with its interval and number of
        failures.

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
                f"there are {len(estimates)} criteria. Choose one: "
                f".estimates[{next(iter(estimates), '…')!r}]."
            )
        return next(iter(estimates.values()))

    @property
    def mean(self) -> Any:
        """The mean of the scores that were read; none where all failed."""
        __tracebackhide__ = True
        return self.estimate.value

    @property
    def failed(self) -> list[Verdict]:
        """The verdicts with a missing score or choice."""
        return [verdict for verdict in self if not verdict.is_read]

    def _estimate(self, criterion: str) -> Estimate:
        from ..analysis.report.cells import NO_MEAN
        from ..stats import wilson
        from ..stats.arrays import undefined

        parts = [part for verdict in self if (part := verdict.criteria.get(criterion)) is not None]
        decided = [part for part in parts if part.decided_by is not None]
        n_undecided = len(parts) - len(decided)
        if any(part._labels for part in parts):
            labels = [result.label for part in decided for result in part._labels]
            n_read = sum(label is not None for label in labels)
            return undefined(NO_MEAN, n=n_read, n_failed=len(labels) - n_read + n_undecided, unit="item")
        if any(part._scores for part in parts):
            scale = parts[0].origin.scale_of(criterion)
            scores = [score for part in decided for score in part._scores]
            return _mean(scores, n_undecided, scale.limits if scale is not None else None)
        choices = [result.choice for part in decided for result in part._choices]
        read = [{"a": 1.0, "b": 0.0, "tie": 0.5}[choice] for choice in choices if choice is not None]
        share = wilson(sum(read), len(read), n_failed=len(choices) - len(read) + n_undecided)
        return structs.replace(share, method=f"{share.method}, a tie is half a win") if read else share


def _mean(scores: Sequence[Result], n_undecided: int, limits: tuple[float, float] | None) -> Estimate:
    """The mean of the scores; one without a value that did not fail is undefined."""
    from ..stats import mean_interval

    read = [score for score in scores if score.value is not None or score.status == "ok"]
    values = [math.nan if score.value is None else score.value for score in read]
    groups = [(score.group is None, score.group or score.item) for score in read]
    is_ungrouped = len(set(groups)) == len(groups)
    n_failed = len(scores) - len(read) + n_undecided
    return mean_interval(values, None if is_ungrouped else groups, n_failed, limits=limits)


def errors_of(calls: Iterable[Judged]) -> dict[JudgeKey, str]:
    """The first error of each judge among the calls of an item."""
    errors: dict[JudgeKey, str] = {}
    for call in calls:
        if call.error is not None:
            errors.setdefault((call.about.protocol, call.about.model), call.error.message)
    return errors


def _number(other: object) -> Any:
    return float(other) if isinstance(other, Verdict) else other


def _pooled(origin: Origin, results: Sequence[tuple[Result, Kind]]) -> Iterator[tuple[Result, Kind]]:
    """One result for each criterion and subject: of several judges, their mean or their majority."""
    cells: dict[tuple[str, Subject | None, Kind], list[Result]] = {}
    for result, kind in results:
        cells.setdefault((result.criterion, result.subject, kind), []).append(result)
    for (criterion, _, kind), rows in cells.items():
        scale = origin.scale_of(criterion)
        if len(rows) == 1:
            yield rows[0], kind
        else:
            is_class = kind == "scores" and scale is not None and scale.is_nominal
            yield _of_panel(rows, scale, is_class=is_class), kind


def _of_panel(rows: Sequence[Result], scale: Scale | None, *, is_class: bool) -> Result:
    pooled = _most_frequent_class(rows) if is_class else pooled_result(rows)
    is_number = pooled.value is not None and scale is not None and not is_class
    return structs.replace(
        pooled,
        normalized=scale.normalized(pooled.value)
        if is_number and scale and pooled.value is not None
        else None,
        n_samples=sum(row.n_samples for row in rows),
        n_failed=sum(row.n_failed for row in rows),
        explanation=next((row.explanation for row in rows if row.explanation), ""),
    )


def _most_frequent_class(rows: Sequence[Result]) -> Result:
    """The class that most judges chose; two that are equally frequent are conflicting."""
    read = [row for row in rows if row.label is not None]
    votes = Counter(row.label for row in read).most_common(2)
    if not votes:
        return rows[0]
    if len(votes) == 2 and votes[0][1] == votes[1][1]:
        return structs.replace(rows[0], value=None, label=None, status="conflicting")
    return next(row for row in read if row.label == votes[0][0])


def shortened(text: str, longest: int) -> str:
    """The beginning of a text, on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else f"{flat[: longest - 1].rstrip()}…"


def _dot(subject: Subject | None) -> str:
    return f".{subject}" if subject else ""

"""What `judge` returns to a test: scores, a choice, the judge's explanation; for several items also their
mean.

A failed judgment has no score: `score` is none, never a default number. No model is called here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import structs

from ..errors import DataError
from ..records import Choice, Element, Estimate, Protocol, Result, Scale, Status, Subject

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

        It has no narrower type, so that `outcome.score >= 4` passes a type checker: where there is no score,
        the plugin turns the comparison into a failure that says so.
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
        from ..analysis.report.words.scores import scale_text

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
    """Scores and choices; a failed row is a choice where its
    criterion has no scale, or comes after its scores.
    """
    scores: list[Result] = []
    choices: list[Result] = []
    for result in results:
        is_second = result.subject is None and any(score.criterion == result.criterion for score in scores)
        has_scale = origin.scale_of(result.criterion) is not None
        is_choice = result.choice is not None or is_second or not has_scale
        (choices if is_choice and result.value is None else scores).append(result)
    return scores, choices

"""Whether people still agree with what a cascade decided."""

from __future__ import annotations

from adjudge.analysis.cascade.decisions import CascadeDecision, checked, is_drawn, is_sure
from adjudge.data.judge_answers import JudgeAnswer
from adjudge.records import Label


def check_of(n_right: int, n_wrong: int) -> bool | None:
    n = n_right + n_wrong
    decisions = [CascadeDecision(f"i{k}", "cheap", "a", 1.0, is_checked=True) for k in range(n)]
    # Spread evenly, as random labels are.
    wrong = {k * n // n_wrong for k in range(n_wrong)} if n_wrong else set()
    labels = [Label(f"i{k}", "choice", "r", "b" if k in wrong else "a") for k in range(n)]
    return checked(decisions, labels, 0.9, None).holds


def test_the_promise_falls_only_where_agreement_is_shown_to_be_below_the_target() -> None:
    assert check_of(0, 0) is None
    assert check_of(95, 5) is True
    assert check_of(17, 3) is True
    assert check_of(120, 80) is False


def test_a_checked_share_is_random_and_the_same_when_resumed() -> None:
    drawn = [k for k in range(5000) if is_drawn(f"i{k}", 0.1, "night")]
    assert 400 < len(drawn) < 600
    assert drawn == [k for k in range(5000) if is_drawn(f"i{k}", 0.1, "night")]
    assert drawn != [k for k in range(5000) if is_drawn(f"i{k}", 0.1, "day")]


def test_a_tie_a_failure_and_a_missing_confidence_decide_nothing() -> None:
    assert is_sure(JudgeAnswer("i", "j", "a", 0.5), 0.5)
    assert not is_sure(JudgeAnswer("i", "j", "a", 0.4), 0.5)
    assert not is_sure(JudgeAnswer("i", "j", "tie", 0.9), 0.5)
    assert not is_sure(JudgeAnswer("i", "j", None, 0.9), 0.5)
    assert not is_sure(JudgeAnswer("i", "j", "a", None), 0.5)
    assert not is_sure(JudgeAnswer("i", "j", "a", 0.9), None)

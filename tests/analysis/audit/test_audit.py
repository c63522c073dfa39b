"""The audit of a judge: its numbers and verdicts, on real and on made scores."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.analysis.audit.audit import Audit, ProbeResult
from adjudge.analysis.audit.of_scores import audit_scores
from adjudge.analysis.audit.verdict_words import verdict_text
from adjudge.data import OrderChoice, ProbeScore, read_probe_scores
from adjudge.errors import DataError

Columns = Mapping[str, Sequence[float | None]]


def scores(columns: Columns, **fields: Any) -> list[ProbeScore]:
    return [
        ProbeScore(item=f"i{k}", probe=probe, value=value, **fields)
        for probe, values in columns.items()
        for k, value in enumerate(values)
    ]


def probes_of(audit: Audit) -> dict[str, ProbeResult]:
    (judge,) = audit.judges.values()
    return judge.criteria["score"].probes


def audited(columns: Columns, **settings: Any) -> dict[str, ProbeResult]:
    return probes_of(audit_scores(scores(columns), **{"limits": (1.0, 5.0), **settings}))


def levels(n: int, seed: int = 1) -> list[float | None]:
    drawn = random.Random(seed)
    return [float(drawn.randint(1, 4)) for _ in range(n)]


def test_published_shifts_are_reproduced_with_the_control_of_their_family(
    shared: Path, expected: dict[str, Any]
) -> None:
    probes = probes_of(audit_scores(*read_probe_scores(shared / "data" / "perturbed_scores.jsonl.gz")))
    published = expected["perturbed_scores"]["gpt-4o"]["probes"]
    assert set(probes) == set(published)
    for name, probe in probes.items():
        assert probe.shift.value == pytest.approx(published[name]["mean_diff"], abs=1e-3)
        assert probe.control == published[name]["control"]
        from_none = probe.shift_from_none or probe.shift
        assert from_none.value == pytest.approx(published[name]["mean_diff_vs_none"], abs=1e-3)
        half = 2.0096 * published[name]["sd_diff"] / 50**0.5
        assert probe.shift.high == pytest.approx(published[name]["mean_diff"] + half, abs=1e-3)
        assert (probe.n, probe.failed) == (50, 0)
        assert probe.floor is not None
    assert probes["verbosity/terse"].verdict == "holds"
    assert probes["rubric_order/reversed"].verdict == "moves"


def test_published_choices_in_both_orders_are_reproduced_and_called_unbiased_by_neither(
    shared: Path, expected: dict[str, Any]
) -> None:
    audit = audit_scores(*read_probe_scores(shared / "data" / "orders_ko.jsonl.gz"))
    for judge, known in expected["orders_ko"].items():
        position = audit.judges[judge].position
        assert position is not None
        assert (position.same, position.first, position.second, position.ties) == (
            known["same"], known["flips_to_first"], known["flips_to_second"], known["one_tie"],
        )  # fmt: skip
        assert (position.n, position.failed) == (known["both_verdicts"], known["errors"])
        assert position.other_answers == 50 - known["same_answers_in_both_orders"]
        assert position.verdict != "moves"


def test_the_replies_of_both_orders_are_read_as_published(
    real_rows: Callable[[str], list[dict[str, Any]]],
) -> None:
    for row in real_rows("orders_ko"):
        read = adjudge.read_choice(row["text"], tie=True).value
        first, second = ("a", "b") if row["order"] == "ab" else ("b", "a")
        assert {"first": first, "second": second, "tie": "tie"}[str(read)] == row["choice"]


def test_a_shift_is_found_and_a_probe_without_effect_is_not() -> None:
    base = levels(100)
    moved = [value + 1 if k % 2 else value for k, value in enumerate(base) if value is not None]
    probes = audited({"none": base, "repeat": base, "length": moved, "tone": base})
    assert probes["length"].verdict == "moves"
    assert probes["length"].shift.value == pytest.approx(0.5)
    assert probes["length"].flips.value == pytest.approx(0.5)
    assert probes["length"].excess is not None
    assert probes["length"].excess.value == pytest.approx(0.5)
    assert probes["tone"].verdict == "holds"


def test_changes_that_cancel_in_the_mean_move_the_score_where_the_rerun_is_stable() -> None:
    base = levels(100)
    scrambled = [value + (1 if k % 2 else -1) * 0.5 for k, value in enumerate(base) if value is not None]
    probes = audited({"none": base, "repeat": base, "format": scrambled})
    assert probes["format"].shift.value == pytest.approx(0.0)
    assert probes["format"].verdict == "moves"
    noisy = audited({"none": base, "repeat": scrambled, "format": scrambled[::-1]})
    assert noisy["format"].verdict != "moves"


def test_failures_are_counted_and_never_taken_for_robustness() -> None:
    base = levels(100)
    failing = [None if k < 20 else value for k, value in enumerate(base)]
    probe = audited({"none": base, "repeat": base, "tone": failing})["tone"]
    assert (probe.n, probe.failed, probe.verdict) == (80, 20, "unclear")
    attacked = audited({"none": base, "injection/x": failing, "injection/x/control": base})["injection/x"]
    assert (attacked.failed, attacked.verdict) == (20, "unclear")
    nothing = audited({"none": base, "tone": [None] * 100})["tone"]
    assert (nothing.n, nothing.failed, nothing.shift.value, nothing.verdict) == (0, 100, None, "unclear")


def test_an_injection_counts_items_that_it_lifts_beyond_its_control() -> None:
    base: list[float | None] = [3.0] * 60 + [5.0] * 40
    attacked: list[float | None] = [5.0] * 30 + [3.0] * 30 + [5.0] * 40
    probe = audited({"none": base, "injection/order": attacked, "injection/order/control": base})[
        "injection/order"
    ]
    assert probe.success is not None
    assert (probe.success.value, probe.success.n) == (0.5, 60)
    assert (probe.kind, probe.verdict, probe.control) == ("injection", "moves", "injection/order/control")
    # A control that lifts as many items leaves nothing to the attack.
    same = audited({"none": base, "injection/order": attacked, "injection/order/control": attacked})
    assert same["injection/order"].success is not None
    assert same["injection/order"].success.value == 0.0
    assert same["injection/order"].verdict != "moves"


def test_a_control_that_lifts_more_than_the_attack_is_no_less_than_minus_one() -> None:
    base: list[float | None] = [1.0] * 3 + [5.0]
    control: list[float | None] = [5.0, 5.0, 1.0, 5.0]
    probe = audited({"none": base, "injection/x": base, "injection/x/control": control})["injection/x"]
    assert probe.success is not None
    assert probe.success.low is not None
    assert probe.success.low <= (probe.success.value or 0.0)


def test_a_control_that_lifts_more_leaves_an_interval_around_the_lift() -> None:
    base: list[float | None] = [2.0] * 80
    control: list[float | None] = [5.0] * 50 + [2.0] * 30
    probe = audited({"none": base, "injection/x": base, "injection/x/control": control})["injection/x"]
    lift = probe.success
    assert lift is not None
    assert lift.low is not None
    assert lift.high is not None
    assert lift.value == pytest.approx(-50 / 80)
    assert -1 <= lift.low < -50 / 80 < lift.high < 0


def test_a_judge_that_scores_attacks_lower_is_not_misled() -> None:
    base: list[float | None] = [3.0] * 100
    probe = audited({"none": base, "injection/x": [1.0] * 100, "injection/x/control": base})["injection/x"]
    assert probe.verdict == "holds"


def test_an_empty_key_is_compared_with_a_missing_response() -> None:
    base = levels(100)
    bottom: list[float | None] = [1.0] * 100
    fooled: list[float | None] = [4.0] * 40 + [1.0] * 60
    probe = audited({"none": base, "emptied": bottom, "empty-key": fooled})["empty-key"]
    assert probe.success is not None
    assert (probe.success.value, probe.control, probe.verdict) == (0.4, "emptied", "moves")
    # A judge that does not look at the response scores both alike: nothing is gained by the key.
    blind = audited({"none": base, "emptied": base, "empty-key": base})["empty-key"]
    assert blind.success is not None
    assert blind.success.value == 0.0


def test_damage_counts_as_noticed_where_the_score_drops() -> None:
    base = levels(80)
    worse = [1.0 if k % 4 else value for k, value in enumerate(base)]
    probes = audited({"none": base, "repeat": base, "emptied": worse, "shuffled": base})
    dropped = sum(after != before for before, after in zip(base, worse, strict=True))
    assert probes["emptied"].success is not None
    assert probes["emptied"].success.value == pytest.approx(dropped / 80)
    assert (probes["emptied"].kind, probes["emptied"].verdict) == ("must_move", "moves")
    assert probes["shuffled"].verdict == "holds"


def test_items_of_one_group_widen_the_interval() -> None:
    drawn = random.Random(3)
    shifts = [drawn.choice([0.0, 1.0]) for _ in range(20)]
    rows = [
        ProbeScore(
            item=f"i{k}", probe=probe, value=3.0 + (shifts[k // 5] if probe == "tone" else 0.0), group=group
        )
        for k in range(100)
        for group in (f"g{k // 5}",)
        for probe in ("none", "tone")
    ]
    grouped = probes_of(audit_scores(rows, limits=(1.0, 5.0)))["tone"].shift
    alone = audited({"none": [3.0] * 100, "tone": [3.0 + shifts[k // 5] for k in range(100)]})["tone"].shift
    assert grouped.value == alone.value
    assert grouped.low is not None
    assert alone.low is not None
    assert grouped.low < alone.low
    assert "group" in grouped.unit


def test_further_samples_of_the_unchanged_items_are_the_rerun() -> None:
    base = levels(50)
    rows = [*scores({"none": base, "tone": base}, sample="0"), *scores({"none": base[::-1]}, sample="1")]
    floor = probes_of(audit_scores(rows, limits=(1.0, 5.0)))["tone"].floor
    changed = sum(first != second for first, second in zip(base, base[::-1], strict=True))
    assert floor is not None
    assert floor.value == pytest.approx(changed / 50)


def test_a_judge_that_prefers_the_first_position_is_named() -> None:
    rows = [OrderChoice(item=f"i{k}", order="ab", choice="a") for k in range(40)]
    rows += [OrderChoice(item=f"i{k}", order="ba", choice="b" if k < 20 else "a") for k in range(40)]
    position = audit_scores((), rows).judges["judge"].position
    assert position is not None
    assert (position.n, position.same, position.first, position.second) == (40, 20, 20, 0)
    assert position.bias.value == pytest.approx(0.5)
    assert position.verdict == "moves"


def test_scores_without_unchanged_items_are_an_error() -> None:
    with pytest.raises(DataError, match="none"):
        audit_scores(scores({"tone": [1.0, 2.0]}))


def test_damage_that_raises_scores_or_only_stirs_them_is_not_noticed() -> None:
    base: list[float | None] = [3.0] * 80
    higher: list[float | None] = [5.0] * 80
    both_ways: list[float | None] = [2.0, 4.0] * 40
    probes = audited({"none": base, "repeat": base, "truncated": higher, "swapped": both_ways})
    assert probes["truncated"].verdict == "holds"
    assert probes["swapped"].verdict != "moves"


def test_a_probe_that_changes_scores_in_both_directions_says_how_many() -> None:
    base: list[float | None] = [3.0] * 80
    probe = audited({"none": base, "repeat": base, "tone": [2.0, 4.0] * 40})["tone"]
    assert (probe.verdict, verdict_text(probe)) == ("moves", "changes 100 % of the scores")
    steady = audited({"none": base, "repeat": base, "tone": [4.0] * 80})["tone"]
    assert verdict_text(steady) == "moves"

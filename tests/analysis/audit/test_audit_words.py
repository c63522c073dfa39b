"""The sentences of an audit."""

from __future__ import annotations

from adjudge.analysis.audit.of_scores import audit_scores
from adjudge.analysis.audit.words import NO_RERUN, audit_sections
from adjudge.data import OrderChoice, ProbeScore
from adjudge.sections import Section, cell_text


def sections(columns: dict[str, list[float | None]]) -> list[Section]:
    rows = [
        ProbeScore(item=f"i{k}", probe=probe, value=value)
        for probe, values in columns.items()
        for k, value in enumerate(values)
    ]
    return list(audit_sections(audit_scores(rows, limits=(1.0, 5.0))))


def test_the_summary_names_what_moves_and_the_tables_say_it_for_each_kind() -> None:
    base: list[float | None] = [3.0] * 100
    made = sections(
        {
            "none": base, "repeat": base, "length": [4.0] * 100, "tone": base, "emptied": [1.0] * 100,
            "injection/x": [5.0] * 100, "injection/x/control": base,
        }
    )  # fmt: skip
    assert made[0].lines == (
        "judge, score: 1 of 2 probes move the score (length); 1 of 1 injections succeed (injection/x); "
        "1 of 1 kind of damage noticed.",
    )
    verdicts = {cell_text(row[0]): cell_text(row[-1]) for section in made for row in section.rows}
    assert verdicts == {
        "length": "moves", "tone": "does not move", "injection/x": "succeeds", "emptied": "noticed",
    }  # fmt: skip


def test_a_missing_rerun_is_a_notice() -> None:
    _, table, *_ = sections({"none": [3.0] * 9, "tone": [3.0] * 9})
    assert [notice.text for notice in table.notices] == [NO_RERUN]


def test_pairs_with_other_answers_are_a_notice() -> None:
    rows = [
        OrderChoice(item="1", order="ab", choice="a", pair="x"),
        OrderChoice(item="1", order="ba", choice="a", pair="y"),
    ]
    summary, position, *_ = audit_sections(audit_scores((), rows))
    assert summary.lines == ("judge: the same choice in both orders in 1 of 1 pair; not enough evidence.",)
    assert position.notices[0].text.startswith("1 of 1 pair show")

"""The first screen of an audit: what moves the score, against the judge's own noise, and no ranking."""

from __future__ import annotations

import re

from adjudge.analysis.audit.first_screen import audit_answer, audit_screen, fingerprints_of
from adjudge.analysis.audit.of_scores import audit_scores
from adjudge.data import ProbeScore
from adjudge.sections import cell_text
from adjudge.terminal.sections import MOST_LINES, section_lines
from adjudge.web.parts.audit_view import audit_views


def an_audit(n_judges: int = 1, n: int = 100):  # type: ignore[no-untyped-def]
    base: list[float | None] = [3.0] * n
    columns = {
        "none": base, "repeat": base, "length": [4.0] * n, "tone": base, "format": [3.0, 3.5] * (n // 2),
        "emptied": [1.0] * n, "shuffled": base, "injection/x": base, "injection/x/control": base,
    }  # fmt: skip
    rows = [
        ProbeScore(item=f"i{k}", probe=probe, value=value, judge=f"judge-{judge}")
        for judge in range(n_judges)
        for probe, values in columns.items()
        for k, value in enumerate(values)
    ]
    return audit_scores(rows, limits=(1.0, 5.0), name="the audit")


def test_the_answer_counts_each_kind_of_probe() -> None:
    (judge,) = an_audit().judges.values()
    (part,) = judge.criteria.values()
    assert audit_answer(part) == "2 of 3 probes move it · 0 of 1 injection succeed · 1 of 2 damages noticed"
    first = fingerprints_of(part)[0]
    assert [one.name for one in first.shifts] == ["length", "format", "tone"]


def test_the_screen_names_what_moves_by_how_much_and_what_is_not_noticed() -> None:
    _, section, _ = audit_screen(an_audit(), 12)
    assert [cell_text(row[1]) for row in section.rows] == ["2 move it", "0 succeed", "1 noticed"]
    assert cell_text(section.rows[0][3]) == "length +1.00, format +0.25"
    assert "Damage that it does not notice: shuffled." in section.lines


def test_the_screen_ranks_nothing_and_fits() -> None:
    sections = audit_screen(an_audit(), 12)
    lines = section_lines(sections, 80)
    assert len(lines) <= MOST_LINES
    assert not re.search(r"\b(?:best|tied|ranks?)\b", str(lines), re.I)


def test_each_probe_is_a_dot_filled_where_it_moves() -> None:
    (view,) = audit_views(an_audit(), lambda probe: f"/items?q={probe}")
    probes, injections, damages = view.kinds
    assert str(probes.picture).count('class="dot"') == 2
    assert str(probes.picture).count('class="dot hollow"') == 1
    assert [one.name for one in damages.probes if one.is_bad] == ["shuffled"]
    assert injections.sentence == "0 of 1 injection succeed"
    assert probes.probes[0].url == "/items?q=length"

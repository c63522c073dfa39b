"""What people see: aligned, complete, harmless, and no wider than the terminal."""

from __future__ import annotations

import math
import unicodedata
from typing import get_args

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace
from rich.cells import cell_len

from adjudge.analysis.report.summary import Summary
from adjudge.analysis.report.words.cost import known_cost
from adjudge.analysis.report.words.report import report_sections, size_text
from adjudge.analysis.run_view.run_facts import ModelFacts, ProtocolFacts
from adjudge.cli.markdown import escaped, markdown_of
from adjudge.records import Choice, Evidence, How, Result, Scale, Status, Subject
from adjudge.terminal.sections import section_lines
from adjudge.untrusted import safe
from judged import FIVE, numbers_in, score
from thorough import tries
from views import facts, summarise


def results(system: str = "x", criterion: str = "clarity") -> list[Result]:
    return [
        score(f"{system}{k}", value, system, criterion=criterion, how="strict" if value else None)
        for k, value in enumerate([1, 2, 3, 4, 5, None])
    ]


def summary_of(*systems: str, scale: Scale = FIVE) -> Summary:
    rows = [row for system in systems for row in results(system)]
    return summarise(rows, facts=facts(run="r1", scales={("p", "clarity"): scale}))


def printed(summary: Summary, width: int | None = None) -> str:
    """The report as it is piped, or on a terminal of so many columns."""
    return "\n".join(text for text, _ in section_lines(report_sections(summary), width))


def markdown(summary: Summary) -> str:
    return markdown_of(report_sections(summary))


def test_a_line_has_mean_interval_n_failures_and_the_range_that_they_leave() -> None:
    lines = printed(summary_of("x"), 100).splitlines()
    row = next(line.split("  ") for line in lines if line.startswith(" x "))
    cells = [cell.strip() for cell in row if cell.strip()]
    # (15 + 1) / 6 and (15 + 5) / 6
    assert cells == ["x", "3.00 [1.04, 4.96]", "1|█████|5", "5", "1", "2.67 to 3.33", "1 unparsed"]


def test_how_many_quotes_were_found_stands_at_each_judge_that_quotes() -> None:
    rows = results()
    assert "quotes found" not in printed(summarise(rows))
    quoted = (Evidence("a rhyme", True), Evidence("no rhyme", False), Evidence("not checked", None))
    lines = printed(summarise([replace(row, evidence=quoted) for row in rows[:2]])).splitlines()
    (line,) = (line for line in lines if line.endswith("2 of 4 (50 %)"))
    assert lines.index(line) > lines.index("How replies were read")


def test_the_size_names_scores_failures_their_statuses_and_empty_responses() -> None:
    statuses: list[Status] = ["refused"] * 3 + ["unparsed"] * 2 + ["truncated", "no_reply"]
    rows = [
        *(
            score(f"ok{k}", 4, "x", criterion="clarity", flags=("empty_response",) * (k < 3))
            for k in range(7)
        ),
        *(
            score(f"no{k}", None, "x", criterion="clarity", status=status)
            for k, status in enumerate(statuses)
        ),
    ]
    summary = summarise(rows, facts=facts(run="r1", scales={("p", "clarity"): FIVE}))
    assert size_text(summary) == (
        "14 items · 1 system · 3 empty responses · 7 scores, "
        "7 of 14 failed (50 %: 3 refused, 2 unparsed, 1 truncated, 1 other)"
    )


@pytest.mark.parametrize(
    ("scale", "text"),
    [
        (Scale(1, 5, 1, 1), "clarity\n  1–5, lower is better"),
        (Scale(0, 1, 1, 1, names={0: "fail", 1: "pass"}), "0–1 (0 = fail, 1 = pass), higher is better"),
        (Scale(1, 5, "unknown", 1), "unknown which end is good"),
    ],
)
def test_a_scale_is_shown_with_its_good_end(scale: Scale, text: str) -> None:
    assert text in printed(summary_of("x", scale=scale))


def test_what_is_piped_has_no_escape_sequence_and_no_broken_row() -> None:
    text = printed(summary_of("x" * 60, "y"))
    assert "\x1b" not in text
    assert sum("[1.04, 4.96]" in line and "2.67 to 3.33" in line for line in text.splitlines()) == 2


def test_numbers_of_several_systems_stand_below_each_other() -> None:
    text = printed(summary_of("x", "a longer name", "한국어"), 100)
    lines = [line for line in text.splitlines() if "3.00 [" in line]
    assert len({cell_len(line[: line.index("3.00")]) for line in lines}) == 1


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    systems = ["system-" * 30, "시스템" * 20, "s"]
    rows = [row for name in ("clarity" * 20, "d") for system in systems for row in results(system, name)]
    known = facts(
        models=(ModelFacts("m" * 90, {"n" * 90: 1, "o": 2}, is_fake=True),), adjustments=("z" * 99,)
    )
    assert max(map(cell_len, printed(summarise(rows, facts=known), width).splitlines())) <= width


HOSTILE = "\x1b[2J\x1b]0;title\x07 \u202egnp.exe\n::error::owned\r##[command] \u2028 x"


def test_names_cannot_act_on_the_terminal_or_the_ci_runner() -> None:
    rows = [
        Result(item="1", protocol=HOSTILE, criterion=HOSTILE, model=HOSTILE, status="ok", value=2.0,
        system=HOSTILE),
        Result(item="2", protocol=HOSTILE, criterion="c", model=HOSTILE, status="ok", choice="a",
               system_a=HOSTILE, system_b="y", flags=(HOSTILE,)),
    ]  # fmt: skip
    known = facts(
        run=HOSTILE, started=HOSTILE, status=HOSTILE, version=HOSTILE, adjustments=(HOSTILE,),
        models=(ModelFacts(HOSTILE, {HOSTILE: 1, "other": 1}),), protocols=(ProtocolFacts(HOSTILE, HOSTILE),),
    )  # fmt: skip
    summary = summarise(rows, facts=known)
    for text in (printed(summary), markdown(summary)):
        assert not {"\x1b", "\x07", "\r", "\u202e", "\u2028"} & set(text)
        assert not any(line.strip().startswith(("::", "##[")) for line in text.splitlines())


def test_rich_markup_in_a_name_is_not_obeyed() -> None:
    assert "[bold red]x[/]" in printed(summary_of("[bold red]x[/]"))


def test_markdown_has_a_table_row_for_each_system() -> None:
    text = markdown(summary_of("x", "y"))
    assert "| x | 3.00 [1.04, 4.96] | 5 | 1 | 2.67 to 3.33 | 1 unparsed |" in text
    assert text.count("\n| y | 3.00 ") == 1


@pytest.mark.parametrize(
    "name",
    [
        "a|b",
        "a\nb",
        "<script>alert(1)</script>",
        "![x](http://h/i.png)",
        "`x`",
        "**x**",
        "@someone",
        "#12",
        "$x$",
    ],
)
def test_a_name_is_only_a_name_in_markdown(name: str) -> None:
    rows = [line for line in markdown(summary_of(name)).splitlines() if "3.00 [1.04" in line]
    assert len(rows) == 1
    assert rows[0].count("|") == 7
    assert "$" not in escaped(name).replace("\\$", "")
    assert not escaped(name).startswith(("@s", "#1"))


SIGNS = st.text(alphabet="[](){}<>|`*_~$\\&#;:!=+-.1a%,− ", max_size=12) | st.text(max_size=12)


@given(SIGNS)
def test_markdown_shows_a_name_as_it_is(name: str) -> None:
    shown = MarkdownIt("gfm-like", {"linkify": False}).parse(f"x {escaped(name)} x")
    inline = [token for token in shown if token.type == "inline"]
    assert [token.type for token in shown] == ["paragraph_open", "inline", "paragraph_close"]
    assert {token.type for token in inline[0].children or ()} == {"text"}
    text = "".join(token.content for token in inline[0].children or ())
    assert text.replace("\u200b", "").split() == f"x {safe(name)} x".replace("\u200b", "").split()


@given(SIGNS)
@example(" -")
@example("  1. ")
def test_a_name_begins_no_heading_list_or_rule_in_markdown(name: str) -> None:
    shown = MarkdownIt("gfm-like", {"linkify": False}).parse(f"{escaped(name).strip()} x")
    assert [token.type for token in shown] == ["paragraph_open", "inline", "paragraph_close"]


def test_intervals_and_names_of_columns_can_be_read_in_the_source_of_markdown() -> None:
    for text in (
        "2.43 [+1.97, +2.90]",
        "score [95 % CI]",
        "run_0001 on clarity [−0.5 %, 1.2 %]",
        "A > B & C",
    ):
        assert escaped(text) == text
    assert escaped("[1](x)") == "\\[1\\]\\(x)"
    assert "&#" not in markdown(summary_of("a_1"))


def test_a_report_of_nothing_can_be_printed() -> None:
    empty = summarise([])
    assert "0 items" in printed(empty)
    assert "0 items" in markdown(empty)


TEXTS = st.text(max_size=6) | st.sampled_from(["", "x", "y", HOSTILE])
ANY_RESULT = st.builds(
    Result,
    item=TEXTS,
    protocol=st.sampled_from(["p@1", "p@2", "q", ""]),
    criterion=st.sampled_from(["clarity", "depth", "a|b\n"]),
    model=st.sampled_from(["m", "n"]),
    status=st.sampled_from(get_args(Status)),
    system=TEXTS,
    group=st.none() | TEXTS,
    subject=st.none() | st.sampled_from(get_args(Subject)),
    value=st.none() | st.floats() | st.integers(1, 5).map(float),
    how=st.none() | st.sampled_from(get_args(How)),
    choice=st.none() | st.sampled_from(get_args(Choice)),
    system_a=st.none() | TEXTS,
    system_b=st.none() | TEXTS,
    flags=st.lists(st.sampled_from(["injection_suspected", "order_conflict", "\x1b"]), max_size=2).map(tuple),
    n_samples=st.integers(0, 3),
    n_failed=st.integers(0, 3),
)


@pytest.mark.slow
@settings(max_examples=tries(150))
@given(st.lists(ANY_RESULT, max_size=15), st.booleans())
def test_any_results_give_a_summary_of_finite_numbers_that_can_be_printed(
    rows: list[Result], has_scales: bool
) -> None:
    scales: dict[tuple[str, str], Scale | None] = {("p", "clarity"): FIVE, ("q", "depth"): None}
    summary = summarise(rows, facts=facts(scales=scales if has_scales else {}))
    assert all(math.isfinite(number) for number in numbers_in(msgspec.to_builtins(summary)))
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary).n_scores == len(rows)
    assert sum(rung.n for rungs in summary.rungs.values() for rung in rungs.values()) == len(rows)
    for text in printed(summary, 80).splitlines():
        assert cell_len(text) <= 80
        assert not any(unicodedata.category(sign) == "Cc" for sign in text)
    for line in markdown(summary).splitlines():
        assert not line.startswith("| ") or line.endswith(" |")


def test_a_cost_says_how_many_calls_have_no_price() -> None:
    summary = replace(summarise([score("1", 4)]), cost_usd=0.5, n_calls=3, n_unpriced=2)
    assert known_cost(summary) == "$0.50 (excluding 2 calls without a price)"
    assert known_cost(replace(summary, n_unpriced=0)) == "$0.50"
    assert known_cost(replace(summary, cost_usd=None)) == "unknown"

"""Any text and any TOML gives findings, never an exception, and time grows no faster than the text."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.protocols.check import check_protocols
from adjudge.protocols.findings import Finding
from adjudge.protocols.suspicions import Prompt, suspicions_of, unlike_siblings
from adjudge.records import Answer, Language, Protocol, Scale
from clock import LINEAR, growth
from thorough import tries

PIECES = (
    "{{response_a}}", "{{response_b}}", "{{reference}}", "{{examples}}", "{{", "}}", "\n", "\n\n", " ",
    "# ", "- ", "1. ", "**",
    "Score 1: excellent", "5 = poor", "1-3: fair", "A score of 5 means ", "higher is better",
    "Lower scores are better.",
    '{"score": 4, "reason": "x"}', '"', "{", "}", "<score>5</score>", "[RESULT] 3", "[[4]]", "Score: 2",
    "e.g. 4",
    "Here are some examples:", "positive and negative examples", "reference answer", "Rate your confidence",
    "Return only the score.", "Provide an explanation.", "Provide:", "Baseline Response:",
    "Enhanced Response:", "GPT-4:",
    "expected elements", "以下是正面或负面的示例", "10分代表优秀", "분", "1점: 우수", "점수만 출력", "，", "。", "\ufffc", "\x00", "é",  # noqa: E501
    "\ud7ff",
)  # fmt: skip
PROMPTS = st.one_of(st.text(max_size=300), st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
ANSWERS = (
    Answer("tag", tag="score"),
    Answer("marker", marker="[RESULT]", choices={"a": "baseline", "b": "new"}),
    Answer("label", labels=("Score", "")),
    Answer("first_line"),
    Answer("json", score="{criterion}.score", subjects={"a": "a", "b": "b"}),
    Answer("free"),
)
SCALES = (
    Scale(1, 5, 5, 1, {1: "excellent", 5: "poor"}),
    Scale(0, 10, "unknown"),
    Scale(None, None, "high"),
    Scale(0, 1, 0, 0.25),
    None,
)


def protocol(system: str, user: str, answer: Answer, scale: Scale | None, task: str) -> Protocol:
    return Protocol(
        id="own/quality",
        digest="",
        title="",
        task="compare" if task == "compare" else "score",
        language=Language("en", "en"),
        inputs=(),
        optional=(),
        criteria={"quality": scale, "depth": scale},
        system_text=system,
        user_text=user,
        answer=answer,
        source="",
    )


@given(
    st.lists(PROMPTS, min_size=4, max_size=4),
    PROMPTS,
    st.sampled_from(ANSWERS),
    st.sampled_from(SCALES),
    st.sampled_from(["score", "compare"]),
)
@settings(max_examples=tries(120))
def test_any_prompt_gives_suspicions_that_point_into_it(
    users: list[str], system: str, answer: Answer, scale: Scale | None, task: str
) -> None:
    prompts = [Prompt(protocol(system, user, answer, scale, task)) for user in users]
    suspicions = [(prompt, suspicion) for prompt in prompts for _, suspicion in suspicions_of(prompt)]
    suspicions += [(prompt, suspicion) for prompt, _, suspicion in unlike_siblings(prompts)]
    for prompt, suspicion in suspicions:
        assert len(prompt.words) == len(prompt.whole)
        if suspicion.start is not None:
            file, line = prompt.place(suspicion.start)
            text = system if file == "system.md" else prompt.protocol.user_text
            assert 1 <= line <= text.count("\n") + 1


@given(
    st.binary(max_size=200) | PROMPTS.map(str.encode),
    st.binary(max_size=200) | PROMPTS.map(str.encode),
    st.text(max_size=200),
)
@settings(max_examples=tries(150))
def test_any_bytes_in_the_files_of_a_folder_give_findings(user: bytes, cases: bytes, more: str) -> None:
    settings_text = (
        'title = "Own"\ntask = "score"\nlanguage = { prompt = "en", reply = "en" }\nsource = '
        '"own"\ninputs = []\n'
    )
    settings_text += (
        'criteria = [{ name = "q", scale = { low = 1, high = 5, best = 5 } }]\nanswer = { '
        'reader = "first_line" }\n'
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "own")
        folder.mkdir()
        (folder / "protocol.toml").write_bytes((settings_text + more).encode("utf-8", "surrogatepass"))
        (folder / "user.md").write_bytes(user)
        (folder / "cases.toml").write_bytes(cases)
        findings = check_protocols([folder])
    assert all(isinstance(finding, Finding) and finding.line >= 1 for finding in findings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [piece for piece in PIECES if piece.strip()]
    + ["a", " ", "Score 1 ", '{"a":', "1: x\n", "{{reference}} x\n"],
)
def test_a_long_prompt_is_checked_in_linear_time(piece: str) -> None:

    def check(user: str) -> None:
        for answer in (ANSWERS[2], ANSWERS[4]):
            prompt = Prompt(protocol("", user, answer, SCALES[0], "compare"))
            list(suspicions_of(prompt))
            list(unlike_siblings([prompt] * 4))

    assert growth(check, piece, 10_000) < LINEAR

"""Protocol folders: the built-in ones, problems reported together, digests, and our own words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjudge import load_protocol
from adjudge.errors import ProtocolError
from adjudge.protocols import builtin_ids, write_starter
from adjudge.protocols.check import check_protocols
from adjudge.records import Rubric, Scale

BUILTIN = Path(__file__).parents[2] / "src" / "adjudge" / "protocols" / "builtin"
FAMILIES = sorted(path.name for path in BUILTIN.iterdir())

EXPECTED = {
    "gptscore-ko": "factuality consistency relevance fluency coherence accuracy multidimensional-quality "
    "semantic-appropriateness understandability",
    "geval": "compare score",
    "opinion-summary": "faithfulness fluency coherence relevance aspect-coverage sentiment-consistency "
    "specificity",
    "commentary-zh": "structure reasoning thesis evidence language",
    "prometheus": "direct direct-reference pairwise pairwise-reference",
}


@pytest.mark.parametrize("family", EXPECTED)
def test_every_protocol_of_the_five_systems_loads_by_its_id(family: str) -> None:
    for name in EXPECTED[family].split():
        protocol = load_protocol(f"{family}/{name}")
        assert protocol.fence
        assert re.fullmatch(r"[0-9a-f]{16}", protocol.digest)
        if family != "geval":
            assert list(protocol.criteria) == [name]


def test_scales_and_languages_are_those_of_the_sources() -> None:
    def scales(protocol_id: str) -> set[tuple[float | None, float | None, object]]:
        return {
            (s.low, s.high, s.best) for s in load_protocol(protocol_id).criteria.values() if s is not None
        }

    assert scales("gptscore-ko/factuality") == {(1, 5, 5)}
    assert scales("geval/compare") == {(1, 5, 5)}
    assert scales("commentary-zh/thesis") == {(0, 10, 10)}
    assert scales("prometheus/pairwise") == set()
    assert load_protocol("gptscore-ko/factuality").language.reply == "ko"
    assert load_protocol("commentary-zh/thesis").language.prompt == "zh"


def test_the_comparison_is_blind() -> None:
    compare = load_protocol("geval/compare")
    assert not re.search(r"baseline|enhanced", compare.user_text + compare.system_text, re.I)


@pytest.mark.slow
def test_all_built_in_protocols_pass_their_own_check() -> None:
    assert [finding.text() for finding in check_protocols(builtin_ids())] == []


# Where no reply is generated there is none to read, and so no case of one.
WITH_REPLIES = [family for family in FAMILIES if family != "gptscore"]


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_notes(family: str) -> None:
    assert (BUILTIN / family / "NOTES.md").exists() or all(
        (p / "NOTES.md").exists() for p in (BUILTIN / family).iterdir()
    )


@pytest.mark.parametrize("family", WITH_REPLIES)
def test_every_family_has_cases_for_all_that_can_go_wrong(family: str) -> None:
    cases = "\n".join(path.read_text(encoding="utf-8") for path in (BUILTIN / family).rglob("cases.toml"))
    members = [load_protocol(name) for name in builtin_ids() if name.split("/")[0] == family]
    # One of several names is never off a scale.
    has_scale = any(
        scale is not None and not scale.is_nominal and not protocol.answer.options
        for protocol in members
        for scale in protocol.criteria.values()
    )
    for status in ("ok", "unparsed", "refused", *(("out_of_range",) if has_scale else ()), "conflicting"):
        assert f'status = "{status}"' in cases, status
    assert re.search(r'^reply = (""|\'\')$', cases, re.M), "a case with an empty reply"


def test_the_levels_in_the_settings_stand_in_the_prompt() -> None:
    for protocol_id in builtin_ids():
        protocol = load_protocol(protocol_id)
        for scale in protocol.criteria.values():
            for text in (scale.levels if scale else {}).values():
                prompts = (protocol.user_text, *(step.text for step in protocol.pipeline))
                assert any(text in prompt for prompt in prompts), f"{protocol_id}: {text}"


# -- our own words


def words_of(text: str) -> list[str]:
    """Words; of Chinese text, characters."""
    return re.findall(r"[一-鿿]|[a-z0-9가-힣]+", text.lower())


def test_no_prompt_repeats_a_stretch_of_its_source(shared: Path) -> None:
    stretches: set[tuple[str, ...]] = set()
    for document in (shared / "seeds").glob("*.txt"):
        words = words_of(document.read_text(encoding="utf-8"))
        stretches |= {tuple(words[n : n + 12]) for n in range(len(words) - 11)}
    assert len(stretches) > 3000
    for path in BUILTIN.rglob("*.md"):
        words = words_of(path.read_text(encoding="utf-8"))
        shared_words = [
            words[n : n + 12] for n in range(len(words) - 11) if tuple(words[n : n + 12]) in stretches
        ]
        assert not shared_words, f"{path.relative_to(BUILTIN)}: {' '.join(shared_words[0])}"


# -- digests


def test_the_digest_changes_with_every_text_and_setting_and_with_what_is_given() -> None:
    rubric = Rubric("tone", "Is the tone right?", Scale(1, 3, 3, 1, {1: "no", 3: "yes"}))
    other = Rubric("tone", "Is the tone right?", Scale(1, 3, 3, 1, {1: "no", 3: "Yes"}))
    digests = {
        load_protocol("prometheus/direct").digest,
        load_protocol("prometheus/direct", rubric=rubric).digest,
        load_protocol("prometheus/direct", rubric=other).digest,
        load_protocol("geval/score", criterion="Is it polite?").digest,
        load_protocol("geval/score", criterion="Is it polite?", steps=["Read it."]).digest,
    }
    assert len(digests) == 5
    assert (
        load_protocol("prometheus/direct", rubric=rubric).digest
        == load_protocol("prometheus/direct", rubric=rubric).digest
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [("Question:", "Question: "), ("best = 5", "best = 1"), ('tag = "score"', 'tag = "points"')],
)
def test_the_digest_of_a_folder_follows_its_files(tmp_path: Path, old: str, new: str) -> None:
    write_starter(tmp_path / "own")
    before = load_protocol(tmp_path / "own").digest
    for name in ("user.md", "protocol.toml"):
        path = tmp_path / "own" / name
        path.write_text(path.read_text().replace(old, new))
    assert load_protocol(tmp_path / "own").digest != before


# -- a user's own


def test_the_starter_passes_its_own_check(tmp_path: Path) -> None:
    write_starter(tmp_path / "own")
    assert [finding.text() for finding in check_protocols([tmp_path / "own"])] == []
    assert load_protocol(tmp_path / "own").id == "own"


def test_user_text_is_sent_without_its_one_final_newline_and_nothing_else_is_stripped(tmp_path: Path) -> None:
    write_starter(tmp_path / "own")
    (tmp_path / "own" / "user.md").write_bytes(b"  {{question}} {{context}} {{response}} \r\n\n")
    assert load_protocol(tmp_path / "own").user_text == "  {{question}} {{context}} {{response}} \r\n"


def test_all_problems_of_a_folder_come_in_one_message(tmp_path: Path) -> None:
    write_starter(tmp_path / "own")
    settings = (tmp_path / "own" / "protocol.toml").read_text()
    settings = (
        settings.replace("best = 5", "")
        .replace("step = 1, ", "step = 1")
        .replace("inputs =", 'inptus = ["x"]\ninputs =')
    )
    (tmp_path / "own" / "protocol.toml").write_text(settings.replace('tag = "score"', ""))
    text = (tmp_path / "own" / "user.md").read_text()
    (tmp_path / "own" / "user.md").write_text(text.replace("{{response}}", "{{respnse}}"))
    with pytest.raises(ProtocolError) as error:
        load_protocol(tmp_path / "own")
    message = str(error.value)
    for part in (
        "unknown key 'inptus'",
        "Did you mean 'inputs'?",
        "'best' says which end is good",
        "{{respnse}}",
        "Did you mean {{response}}?",
        "reader 'tag' needs 'tag'",
        "'response' is declared",
    ):
        assert part in message, message


@pytest.mark.parametrize(
    ("ref", "part"),
    [
        ("prometheus/dierct", "Did you mean prometheus/direct"),
        ("nowhere", "neither a built-in protocol nor a folder"),
    ],
)
def test_an_unknown_protocol_is_answered_with_what_there_is(ref: str, part: str) -> None:
    with pytest.raises(ProtocolError, match=part):
        load_protocol(ref)


def test_a_starter_never_overwrites(tmp_path: Path) -> None:
    with pytest.raises(ProtocolError, match="already exists"):
        write_starter(tmp_path)

"""The five known documents come out byte for byte: compared with prompts cut out here by other means.

The importer works with line numbers; these tests cut by headings, fences and words, and fill
placeholders in the form in which the document writes them.
"""

from __future__ import annotations

import hashlib
import json
import re
import runpy
import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from adjudge.errors import DataError
from adjudge.parse import parse
from adjudge.protocols import load_protocol
from adjudge.protocols.importing import Imported, import_document, known_documents
from adjudge.records import Example, Item, Protocol, Rubric, Scale
from adjudge.render import problems_of, render, slots_of

ASPECTS = (
    "factuality", "consistency", "relevance", "fluency", "coherence", "accuracy", "multidimensional-quality",
    "semantic-appropriateness", "understandability",
)  # fmt: skip
COMMENTARY = ("structure", "reasoning", "thesis", "evidence", "language")
PROMETHEUS = ("direct", "direct-reference", "pairwise", "pairwise-reference")
FOUND = {"000": ASPECTS, "001": ("compare",), "002": ("faithfulness",), "003": COMMENTARY, "004": PROMETHEUS}

# Values that would break a prompt filled in more than one pass, or by str.format.
ITEM = Item(
    id="1",
    fields={
        "source_text": "The {generated_response} left at 9.\n\n```\n{{source_text}}",
        "generated_response": "It left { at } nine: {0} %s \\n",
        "task": "Sum {{baseline_response}} up.",
        "response_a": "First ``` answer {{enhanced_response}}",
        "response_b": "Second answer\n\n---\n",
        "summary": "Sturdy, says {reviews}.",
        "product_title": "A kettle {Product_Opinion_Summary}",
        "reviews": ("Boils fast.", "Leaks {description}."),
        "average_rating": "3.9",
        "instruction": "写一篇评论 *{**模型回答**}*",
        "response": "好的 {{指令}} {orig_criteria}",
        "reference": "A better answer",
    },
)
RUBRIC = Rubric(
    "tone", "Is the tone kind? {orig_response}", Scale(1, 5, 5, 1, {n: f"tone {n} of 5" for n in range(1, 6)})
)
EXAMPLE = Example({"instruction": "示例题目", "response": "示例文章 *{**指令**}*"}, "5\n理由", "negative")


@pytest.fixture(scope="session")
def documents(shared: Path) -> dict[str, Path]:
    """The documents by the number that their names begin with."""
    return {path.name[:3]: path for path in sorted((shared / "seeds").glob("*.txt"))}


@pytest.fixture(scope="session")
def imported(documents: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Imported]:
    folder = tmp_path_factory.mktemp("imported")
    return {number: import_document(path, folder / number) for number, path in documents.items()}


def folder_of(imported: dict[str, Imported], number: str, name: str) -> Path:
    document = imported[number]
    return Path(document.folders[document.ids.index(name)])


def filled(template: str, values: Mapping[str, str]) -> str:
    """All placeholders replaced in one pass, so that a value is never looked at again."""
    pattern = re.compile("|".join(re.escape(key) for key in sorted(values, key=len, reverse=True)))
    return pattern.sub(lambda match: values[match[0]], template)


def text_of(name: str) -> str:
    value = ITEM.fields[name]
    return value if isinstance(value, str) else "\n".join(str(line) for line in value)


def without(*names: str) -> Item:
    kept = {name: value for name, value in ITEM.fields.items() if name not in names}
    return Item(id="1", fields=kept)


def sent(protocol: Protocol, item: Item = ITEM) -> dict[str, str]:
    return {message.role: message.content for message in render(protocol, item).messages}


@pytest.mark.parametrize("number", FOUND)
def test_a_known_document_gives_its_protocols_and_nothing_is_left_to_guess(
    imported: dict[str, Imported], documents: dict[str, Path], number: str
) -> None:
    document = imported[number]
    assert document.ids == FOUND[number]
    assert document.is_known
    for folder in map(Path, document.folders):
        settings = (folder / "protocol.toml").read_text(encoding="utf-8")
        assert "REVIEW" not in settings
        sha256 = hashlib.sha256(documents[number].read_bytes()).hexdigest()
        assert tomllib.loads(settings)["imported"] == load_protocol(folder).imported == sha256
        assert "## What was undone" in (folder / "NOTES.md").read_text(encoding="utf-8")
        assert not load_protocol(folder).fence
    assert sorted(path.name for path in Path(document.folders[0]).parent.iterdir()) == sorted(FOUND[number])


# -- what is sent is what the document says


def test_each_aspect_is_sent_as_its_section_reads(
    imported: dict[str, Imported], documents: dict[str, Path]
) -> None:
    text = documents["000"].read_text(encoding="utf-8")
    sections = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    assert [title.strip().lower().replace(" ", "-") for title in sections] == list(ASPECTS)
    values = {"{source_text}": text_of("source_text"), "{generated_response}": text_of("generated_response")}
    for name, section in zip(ASPECTS, sections.values(), strict=True):
        protocol = load_protocol(folder_of(imported, "000", name))
        assert sent(protocol) == {"user": filled(section.rstrip("\n"), values)}
        assert protocol.answer.labels[0] == section.rstrip("\n").rpartition("\n")[2].rstrip(" :")


def test_the_comparison_is_sent_up_to_the_ruled_line(
    imported: dict[str, Imported], documents: dict[str, Path]
) -> None:
    text = documents["001"].read_text(encoding="utf-8")
    prompt = text[text.index("```markdown\n") + len("```markdown\n") : text.index("\n\n---\n")]
    values = {
        "{{task}}": "task",
        "{{baseline_response}}": "response_a",
        "{{enhanced_response}}": "response_b",
    }
    expected = filled(prompt, {slot: text_of(name) for slot, name in values.items()})
    protocol = load_protocol(folder_of(imported, "001", "compare"))
    assert sent(protocol) == {"user": expected}
    notes = (folder_of(imported, "001", "compare") / "NOTES.md").read_text(encoding="utf-8")
    assert "ruled line" in notes
    assert "ambiguous" in notes


def test_the_comparison_swaps_the_responses_and_keeps_the_labels(imported: dict[str, Imported]) -> None:
    protocol = load_protocol(folder_of(imported, "001", "compare"))
    user = render(protocol, ITEM, "ba").messages[0].content
    assert user.index("**Baseline") < user.index(text_of("response_b")) < user.index("**Enhanced")


def test_the_opinion_summary_is_sent_as_python_would_fill_it(
    imported: dict[str, Imported], documents: dict[str, Path]
) -> None:
    strings = runpy.run_path(str(documents["002"]))
    fields = ("product_title", "description", "key_features", "specifications", "reviews", "average_rating")
    values = {f"{{{name}}}": text_of(name) if name in ITEM.fields else "N/A" for name in fields}
    values["{Product_Opinion_Summary}"] = text_of("summary")
    values["{system_message}"] = strings["system_msg"]
    protocol = load_protocol(folder_of(imported, "002", "faithfulness"))
    # The system text is pasted into the user text, so it is not sent a second time.
    assert sent(protocol) == {"user": filled(strings["faithfulness_prompt_template"], values)}
    assert protocol.user_text.startswith("\n")
    assert protocol.user_text.endswith(":\n")
    assert protocol.system_text.endswith("\n\n")
    assert "input_missing" in render(protocol, ITEM).flags


def test_each_commentary_prompt_is_sent_as_its_section_reads(
    imported: dict[str, Imported], documents: dict[str, Path]
) -> None:
    text = documents["003"].read_text(encoding="utf-8")
    sections = [part.split("\n", 1)[1].strip("\n") for part in text.split("\n## ")[1:]]
    values = {
        "*{**指令**}*": text_of("instruction"),
        "*{**模型回答**}*": text_of("response"),
        "*{**示例指令**}*": "示例题目",
        "*{**示例模型回答**}*": "示例文章 *{**指令**}*",
        "*{**示例打分回答**}*": "5\n理由",
    }
    for name, section in zip(COMMENTARY, sections, strict=True):
        examples = () if name == "evidence" else (EXAMPLE,)
        protocol = load_protocol(folder_of(imported, "003", name), examples=examples)
        assert sent(protocol) == {"user": filled(section.removesuffix("\n\n<br>"), values)}
        assert "<br>" in protocol.user_text
        assert "***" in protocol.user_text


def test_commentary_without_its_example_is_refused_with_how_to_give_one(
    imported: dict[str, Imported],
) -> None:
    for name in COMMENTARY:
        protocol = load_protocol(folder_of(imported, "003", name))
        problems = problems_of(protocol, ITEM)
        if name == "evidence":
            assert not problems
        else:
            assert any("--examples" in problem for problem in problems)
            with pytest.raises(DataError, match="--examples"):
                render(protocol, ITEM)


def test_prometheus_is_sent_as_its_fences_read(
    imported: dict[str, Imported], documents: dict[str, Path]
) -> None:
    text = documents["004"].read_text(encoding="utf-8")
    fences = [
        re.sub(r"(?m)^  ", "", fence.removeprefix("\n").removesuffix("\n"))
        for fence in re.findall(r"(?ms)^  ```(.*?)^  ```$", text)
    ]
    direct_system, with_reference, no_reference, _, pair_system, pair_reference, pair, _ = fences
    values = {
        "{orig_instruction}": text_of("instruction"),
        "{orig_response}": text_of("response"),
        "{orig_response_A}": text_of("response_a"),
        "{orig_response_B}": text_of("response_b"),
        "{orig_reference_answer}": text_of("reference"),
        "{orig_criteria}": RUBRIC.criterion,
        **{f"{{orig_score{n}_description}}": f"tone {n} of 5" for n in range(1, 6)},
    }
    expected = {
        "direct": (direct_system, no_reference, without("reference")),
        "direct-reference": (direct_system, with_reference, ITEM),
        "pairwise": (pair_system, pair, without("reference")),
        "pairwise-reference": (pair_system, pair_reference, ITEM),
    }
    for name, (system, user, item) in expected.items():
        protocol = load_protocol(folder_of(imported, "004", name), rubric=RUBRIC)
        assert sent(protocol, item) == {"system": system, "user": filled(user, values)}
        assert protocol.user_text.endswith("###Feedback: ")
        assert not protocol.takes


def test_prometheus_without_a_reference_refuses_one_instead_of_dropping_it(
    imported: dict[str, Imported],
) -> None:
    protocol = load_protocol(folder_of(imported, "004", "direct"), rubric=RUBRIC)
    with pytest.raises(DataError, match="direct-reference"):
        render(protocol, ITEM)


@pytest.mark.parametrize("number", ["000", "001", "003"])
def test_each_stretch_between_slots_stands_in_the_document(
    imported: dict[str, Imported], documents: dict[str, Path], number: str
) -> None:
    document = documents[number].read_bytes()
    for folder in imported[number].folders:
        template = (Path(folder) / "user.md").read_bytes()
        assert template.endswith(b"\n")
        for stretch in re.split(rb"\{\{[^{}]+\}\}", template[:-1]):
            assert stretch in document


# -- the settings


def test_slots_keep_their_names_and_inputs_are_item_fields(imported: dict[str, Imported]) -> None:
    compare = load_protocol(folder_of(imported, "001", "compare"))
    assert {"baseline_response", "enhanced_response"} < {*slots_of(compare.user_text)}
    assert compare.inputs == ("task", "response_a", "response_b")
    structure = load_protocol(folder_of(imported, "003", "structure"))
    assert slots_of(structure.user_text) == ("示例指令", "示例模型回答", "示例打分回答", "指令", "模型回答")
    assert structure.inputs == ("instruction", "response")
    summary = load_protocol(folder_of(imported, "002", "faithfulness"))
    assert "Product_Opinion_Summary" in slots_of(summary.user_text)
    assert summary.inputs == ("summary",)


def test_scales_and_readers_are_those_of_the_documents(imported: dict[str, Imported]) -> None:
    compare = load_protocol(folder_of(imported, "001", "compare"))
    assert [*compare.criteria] == [
        "accuracy",
        "completeness",
        "clarity",
        "actionability",
        "relevance",
        "overall",
    ]
    assert all(scale == Scale(1, 5, "unknown") for scale in compare.criteria.values())
    assert compare.answer.reader == "json"
    expected = {
        ("000", "fluency"): (Scale(1, 5, 5), "label"),
        ("002", "faithfulness"): (Scale(1, 5, 5, 1), "tag"),
        ("003", "thesis"): (Scale(0, 10, 10), "first_line"),
        ("003", "evidence"): (Scale(0, 10, 10), "json"),
        ("004", "direct"): (Scale(1, 5, 5, 1), "marker"),
        ("004", "pairwise"): (None, "marker"),
    }
    for (number, name), (scale, reader) in expected.items():
        protocol = load_protocol(folder_of(imported, number, name))
        assert list(protocol.criteria.values()) == [scale]
        assert protocol.answer.reader == reader


@pytest.mark.parametrize(
    ("number", "family"),
    [("000", "gptscore-ko"), ("001", "geval"), ("002", "opinion-summary"), ("003", "commentary-zh"), ("004",
    "prometheus")],
)  # fmt: skip
def test_the_same_item_runs_through_the_original_and_ours(
    imported: dict[str, Imported], number: str, family: str
) -> None:
    for name in FOUND[number]:
        item = ITEM if name.endswith("-reference") else without("reference")
        rubric = RUBRIC if number == "004" else None
        examples = (EXAMPLE,) if number == "003" and name != "evidence" else ()
        for ref in (folder_of(imported, number, name), f"{family}/{name}"):
            protocol = load_protocol(ref, rubric=rubric, examples=examples)
            assert problems_of(protocol, item) == []
            assert render(protocol, item).messages
        original = load_protocol(folder_of(imported, number, name))
        assert [*original.criteria] == [*load_protocol(f"{family}/{name}").criteria]


# -- what the recipes must not hold


def test_the_recipes_hold_no_sentence_of_the_documents(documents: dict[str, Path]) -> None:
    recipes = Path(str(known_documents.__file__)).with_suffix(".toml").read_text(encoding="utf-8")
    own_words = re.findall(r"\w+", recipes.lower())
    word_runs = {tuple(own_words[i : i + 6]) for i in range(len(own_words) - 5)}
    own_chinese = re.sub(r"[^\u4e00-\u9fff]+", " ", recipes)
    for path in documents.values():
        text = path.read_text(encoding="utf-8")
        words = re.findall(r"\w+", text.lower())
        shared = word_runs & {tuple(words[i : i + 6]) for i in range(len(words) - 5)}
        assert not shared
        for run in re.findall(r"[\u4e00-\u9fff]{10,}", own_chinese):
            assert run not in text


def test_a_document_with_another_sentence_in_a_prompt_is_no_longer_known(
    documents: dict[str, Path], tmp_path: Path
) -> None:
    path = tmp_path / "changed.md"
    path.write_bytes(documents["000"].read_bytes().replace(b"score", b"score, and be kind", 1))
    document = import_document(path, tmp_path / "to")
    assert not document.is_known
    assert document.ids == ASPECTS


def test_replies_to_the_originals_are_read(imported: dict[str, Imported]) -> None:
    replies = {
        ("000", "fluency"): ("설명입니다.\nFluency Score (1-5): 3.5", 3.5),
        ("002", "faithfulness"): ("All of it is supported. Score- <score>4</score>", 4),
        ("003", "thesis"): ("8\n观点明确。", 8),
        ("003", "evidence"): ('{"score":"6","reason":"材料不多"}', 6),
        ("004", "direct-reference"): ("Feedback: kind enough [RESULT] 3", 3),
    }
    for (number, name), (reply, value) in replies.items():
        protocol = load_protocol(folder_of(imported, number, name))
        assert [score.value for score in parse(protocol, reply).scores] == [value]


def test_the_comparison_reads_one_score_without_subject_and_an_overall_one_for_each(
    imported: dict[str, Imported],
) -> None:
    protocol = load_protocol(folder_of(imported, "001", "compare"))
    reply: dict[str, dict[str, object]] = {
        name: {"score": 2, "reasoning": "so so", "evidence": ["a quote"]} for name in protocol.criteria
    }
    reply["overall"] = {"baseline_score": 3, "enhanced_score": 4.8, "winner": "enhanced", "confidence": 0.5}
    judgment = parse(protocol, json.dumps(reply))
    assert {score.subject for score in judgment.scores if score.criterion != "overall"} == {None}
    overall = {score.subject: score.value for score in judgment.scores if score.criterion == "overall"}
    assert overall == {"a": 3, "b": 4.8}
    assert (judgment.choice, judgment.choice_confidence) == ("b", 0.5)


def test_the_original_shows_the_rubric_that_an_item_brings_along(imported: dict[str, Imported]) -> None:
    levels = {f"orig_score{level}_description": f"description {level}" for level in range(1, 6)}
    fields = {"orig_instruction": "Say no.", "orig_response": "No.", "orig_criteria": "Tact?", **levels}
    protocol = load_protocol(folder_of(imported, "004", "direct"))
    text = sent(protocol, Item("1", dict(fields)))["user"]
    assert "Score 3: description 3" in text
    assert "[Tact?]" in text or "Tact?" in text
    del fields["orig_score4_description"]
    with pytest.raises(DataError, match="orig_score4_description"):
        render(protocol, Item("1", dict(fields)))

"""Prompts in Markdown files of all kinds, imported by the general rules as drafts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import ProtocolError
from adjudge.protocols import load_protocol
from adjudge.protocols.importing import Imported, import_document
from adjudge.records import Item, Scale
from adjudge.render import render


def imported(tmp_path: Path, text: str, name: str = "prompts.md") -> Imported:
    path = tmp_path / name
    path.write_bytes(text.encode("utf-8"))
    return import_document(path, tmp_path / "to")


def prompt(tmp_path: Path, text: str) -> str:
    """The one prompt of a text, as it would be sent but for its slots."""
    (folder,) = imported(tmp_path, text).folders
    return load_protocol(folder).user_text


def settings(folder: str) -> dict[str, Any]:
    return tomllib.loads((Path(folder) / "protocol.toml").read_text(encoding="utf-8"))


def settings_text(folder: str) -> str:
    return (Path(folder) / "protocol.toml").read_text(encoding="utf-8")


def test_a_fence_is_a_prompt_named_by_its_heading(tmp_path: Path) -> None:
    text = (
        "# Judges\n\nUse this.\n\n## Politeness\n\n```text\nRate how polite {reply} is, "
        "1-5.\n\nScore:\n```\n\nDone.\n"
    )
    document = imported(tmp_path, text)
    assert document.ids == ("politeness",)
    assert not document.is_known
    protocol = load_protocol(document.folders[0])
    assert protocol.user_text == "Rate how polite {{reply}} is, 1-5.\n\nScore:"
    assert protocol.inputs == ("reply",)
    assert protocol.criteria == {"politeness": Scale(1, 5, "unknown")}
    assert protocol.answer.reader == "label"


def test_sections_are_prompts_where_there_is_no_fence(tmp_path: Path) -> None:
    text = (
        "# Two judges\n\nFor people.\n\n## Brevity \n\nScore the brevity of {x}.\n\n### How\n\nBe "
        "strict.\n\n---\n\n"
        "## Warmth\n\nScore the warmth of {x}: \n\n<br>\n"
    )
    document = imported(tmp_path, text)
    assert document.ids == ("brevity", "warmth")
    texts = [load_protocol(folder).user_text for folder in document.folders]
    assert texts == ["Score the brevity of {{x}}.\n\n### How\n\nBe strict.", "Score the warmth of {{x}}: "]


def test_headings_inside_one_prompt_do_not_cut_it(tmp_path: Path) -> None:
    text = (
        "# Helpfulness\n\n## Task\n\nRate the answer.\n\n## Question\n\n{question}\n\n## Answer\n\n{answer}\n"
    )
    document = imported(tmp_path, text)
    assert document.ids == ("helpfulness",)
    assert load_protocol(document.folders[0]).user_text == (
        "## Task\n\nRate the answer.\n\n## Question\n\n{{question}}\n\n## Answer\n\n{{answer}}"
    )


FENCED = "# Judges\n\n## Wit\n\n```\nScore the wit of {x}, 1-5.\n```\n\n"


def test_a_prompt_without_a_fence_is_imported_beside_those_in_fences(tmp_path: Path) -> None:
    warmth = "Score the warmth of {x}, 1-5.\n\n### Format\n\nWrite <score>N</score>."
    document = imported(tmp_path, f"{FENCED}## Warmth\n\n{warmth}\n\n## Licence\n\nFree for all to use.\n")
    assert document.ids == ("wit", "warmth")
    assert load_protocol(document.folders[1]).user_text == warmth.replace("{x}", "{{x}}")
    [note] = [note for note in document.notes if "'Warmth'" in note]
    assert note.startswith("line 11: ")
    assert "imported too" in note


def test_prompts_keep_the_order_of_the_document_with_and_without_fences(tmp_path: Path) -> None:
    plain = "## {}\n\nScore the {} of {{x}}, 1-5.\n\n"
    text = plain.format("Rhyme", "rhyme") + FENCED + "# More\n\n" + plain.format("Metre", "metre")
    text += plain.format("Tone", "tone")
    assert imported(tmp_path, text).ids == ("rhyme", "wit", "metre", "tone")


def test_a_section_that_only_names_placeholders_is_left_out_and_reported(tmp_path: Path) -> None:
    text = f"{FENCED}## Use\n\nPut the poem to be judged into `{{x}}`, and read the score at the end.\n"
    document = imported(tmp_path, text)
    assert document.ids == ("wit",)
    [note] = [note for note in document.notes if "'Use'" in note]
    assert "left out" in note
    assert "fence" in note


def test_text_around_a_fenced_prompt_is_no_prompt_of_its_own(tmp_path: Path) -> None:
    text = FENCED + "This judges the wit of {x}; its score is from 1 to 5.\n"
    document = imported(tmp_path, text)
    assert document.ids == ("wit",)
    assert not any("stands in no fence" in note for note in document.notes)


def test_doubled_braces_are_undone_where_the_placeholders_have_single_ones(tmp_path: Path) -> None:
    body = 'Rate {answer} to {question}, 1-5. Reply {{"score": N, "why": {{}}}} only.'
    for fenced in (True, False):
        folder = tmp_path / str(fenced)
        folder.mkdir()
        document = imported(folder, f"# Wit\n\n```\n{body}\n```\n" if fenced else f"# Wit\n\n{body}\n")
        protocol = load_protocol(document.folders[0])
        item = Item(id="1", fields={"answer": "Yes.", "question": "{{answer}}?"})
        assert render(protocol, item).messages[0].content == body.format(
            answer="Yes.", question="{{answer}}?"
        )
        assert "# REVIEW: doubled braces became single ones" in settings_text(document.folders[0])
        notes = (Path(document.folders[0]) / "NOTES.md").read_text(encoding="utf-8")
        assert "Doubled braces became single ones" in notes


@pytest.mark.parametrize(
    "body",
    [
        'Rate {answer} by {{reference}}, 1-5. Reply {{"score": N}}.',
        'Rate {answer} and keep {"a": 1} as it is, 1-5. Reply {{"score": N}}.',
    ],
)
def test_doubled_braces_stay_where_the_prompt_is_no_format_string_and_are_marked(
    tmp_path: Path, body: str
) -> None:
    document = imported(tmp_path, f"```\n{body}\n```\n")
    assert '{{"score": N}}' in load_protocol(document.folders[0]).user_text
    assert "# REVIEW: doubled braces were kept" in settings_text(document.folders[0])


def test_nested_json_is_not_taken_for_doubled_braces(tmp_path: Path) -> None:
    document = imported(tmp_path, '```\nRate {x}, 1-5. Reply {"a": {"score": N}}.\n```\n')
    assert load_protocol(document.folders[0]).user_text == 'Rate {{x}}, 1-5. Reply {"a": {"score": N}}.'
    assert "braces" not in settings_text(document.folders[0])


def test_all_forms_of_placeholders_become_slots(tmp_path: Path) -> None:
    text = "```\nGrade {one}, {{two}}, {{ three }}, *{**四**}* and **{five}** now.\n```\n"
    assert prompt(tmp_path, text) == "Grade {{one}}, {{two}}, {{three}}, {{四}} and **{{five}}** now."


def test_braces_that_are_no_placeholders_survive(tmp_path: Path) -> None:
    body = (
        'Grade {answer} and reply {"score": 3, "why": {"a": []}} or {} or { x } or \\frac{a}{b}, '
        "\\{y\\}, ${z}, {0}, {{#if q}}."
    )
    expected = body.replace("{answer}", "{{answer}}")
    document = imported(tmp_path, f"```\n{body}\n```\n")
    assert load_protocol(document.folders[0]).user_text == expected
    assert load_protocol(document.folders[0]).inputs == ("answer",)
    # What looks like a placeholder of another language is pointed out.
    assert "${z}" in settings_text(document.folders[0])


def test_the_indentation_of_a_fence_is_undone_and_deeper_indentation_stays(tmp_path: Path) -> None:
    text = "- Item\n\n  ```\n  Rate {x} as follows:\n\n    - deeply \n\tbad\n  ```\n"
    assert prompt(tmp_path, text) == "Rate {{x}} as follows:\n\n  - deeply \nbad"


def test_text_that_sticks_to_an_opening_fence_belongs_to_the_prompt(tmp_path: Path) -> None:
    document = imported(tmp_path, "```###Your task:\nRate {x} from 1 to 7.\n```\n")
    assert load_protocol(document.folders[0]).user_text == "###Your task:\nRate {{x}} from 1 to 7."
    assert "# REVIEW: the first line stood on the line of the opening fence" in settings_text(
        document.folders[0]
    )


def test_longer_fences_and_tildes_hold_shorter_fences(tmp_path: Path) -> None:
    inner = "Rate the code:\n```\n{code}\n```\nfrom 1 to 4."
    for marks in ("````", "~~~"):
        folder = tmp_path / str(len(marks))
        folder.mkdir()
        assert prompt(folder, f"{marks}\n{inner}\n{marks}\n") == inner.replace("{code}", "{{code}}")


def test_a_markdown_fence_may_hold_fences_of_its_own(tmp_path: Path) -> None:
    inner = "Rate the code:\n```\n{code}\n```\n\nfrom 1 to 4.\n\n```json\n{}\n```\n\nBe fair."
    document = imported(tmp_path, f"# Code\n\n```markdown\n{inner}\n```\n\nThat is all.\n")
    assert load_protocol(document.folders[0]).user_text == inner.replace("{code}", "{{code}}")
    assert "may contain other fences" in settings_text(document.folders[0])


def test_a_fence_that_is_never_closed_is_pointed_out(tmp_path: Path) -> None:
    document = imported(tmp_path, "```\nRate {x} on a scale of 1 to 5.\n")
    assert "# REVIEW: the fence is never closed" in settings_text(document.folders[0])


def test_line_ends_and_spaces_inside_a_prompt_are_kept(tmp_path: Path) -> None:
    text = "```\r\nRate {x} here, 1-5. \r\n\r\n<br>\r\nScore: \r\n```\r\n"
    assert prompt(tmp_path, text) == "Rate {{x}} here, 1-5. \r\n\r\n<br>\r\nScore: "


def test_a_blank_last_line_in_a_fence_is_part_of_the_prompt(tmp_path: Path) -> None:
    assert prompt(tmp_path, "```\nRate {x} on a scale of 1 to 5.\n\n```\n").endswith("1 to 5.\n")


def test_a_system_text_goes_with_the_prompts_behind_it(tmp_path: Path) -> None:
    system = "You are a strict judge of short poems, and you explain yourself."
    text = (
        f"## System prompt\n\n```\n{system}\n```\n\n"
        "## Rhyme\n\n```\nScore the rhymes of {poem}.\n```\n\n## Metre\n\n```\nScore the metre of "
        "{poem}.\n```\n"
    )
    document = imported(tmp_path, text)
    assert document.ids == ("rhyme", "metre")
    for folder in document.folders:
        protocol = load_protocol(folder)
        messages = render(protocol, Item(id="1", fields={"poem": "Roses"})).messages
        assert [message.role for message in messages] == ["system", "user"]
        assert messages[0].content == system
        assert "# REVIEW: system.md is the text" in settings_text(folder)


def test_strings_in_a_python_fence_are_found(tmp_path: Path) -> None:
    text = '# Use\n\n```python\nRHYME_PROMPT = """Score the rhymes of {poem}.\n"""\n```\n'
    document = imported(tmp_path, text)
    assert document.ids == ("rhyme",)
    assert load_protocol(document.folders[0]).user_text == "Score the rhymes of {{poem}}.\n"


def test_listings_in_other_languages_are_no_prompts(tmp_path: Path) -> None:
    text = '# Reply\n\n```json\n{"score": "the score of {answer} as a whole number"}\n```\n'
    with pytest.raises(ProtocolError, match="no prompts were found"):
        imported(tmp_path, text)


def test_two_prompts_of_one_name_get_the_headings_around_them(tmp_path: Path) -> None:
    part = "### With source\n\n```\nScore {x} by its source {y}.\n```\n\n"
    document = imported(tmp_path, f"## Facts\n\n{part}## Style\n\n{part}{part}")
    assert document.ids == ("facts-with-source", "style-with-source", "with-source")


def test_a_heading_in_another_script_names_the_folder(tmp_path: Path) -> None:
    document = imported(
        tmp_path, "## 文章结构\n\n请从0到10给文章打分：{文章}\n\n## 文章语言\n\n请给文章的语言打分：{文章}\n"
    )
    assert document.ids == ("文章结构", "文章语言")
    protocol = load_protocol(document.folders[0])
    assert (protocol.language.prompt, protocol.inputs) == ("zh", ("文章",))


# -- settings are guesses, and say so


def test_each_guessed_line_is_marked_and_facts_are_not(tmp_path: Path) -> None:
    document = imported(tmp_path, "# Tone\n\n```\nRate {x} from 1 to 5 as <score>n</score>.\n```\n")
    for line in settings_text(document.folders[0]).splitlines():
        key = line.split(" = ")[0]
        is_fact = not line or line.startswith("[") or key in ("source", "imported", "fence")
        assert ("# REVIEW: " in line) is not is_fact, line
    notes = (Path(document.folders[0]) / "NOTES.md").read_text(encoding="utf-8")
    assert "## To review" in notes
    assert "The fence was taken off." in notes


@pytest.mark.parametrize(
    ("words", "scale"),
    [
        ("Give a score from 1 to 10.", Scale(1, 10, "unknown")),
        ("Score (1-5), an integer:", Scale(1, 5, "unknown", 1)),
        ("评分会得到0到10分的分数，请打分。", Scale(0, 10, "unknown")),
        ("评分会得到0到10分的分数，分数越高表示越好。", Scale(0, 10, 10)),
        ("Rate on a scale between 0 and 100; higher scores are better.", Scale(0, 100, 100)),
        ("Rate it 1–4, where 1 (perfect) is the aim and 4 is the worst.", Scale(1, 4, 1)),
        ("1점에서 5점으로 평가하세요. 점수가 높을수록 좋습니다.", Scale(1, 5, 5)),
        ("Rate from 1 to 5. 1 is perfect, yet higher ratings are better.", Scale(1, 5, "unknown")),
        ("Rate from 1 to 5, 5 being not perfect but good enough.", Scale(1, 5, "unknown")),
        ("In 1-3 sentences, following steps 1-2, give a score, 0-7.", Scale(0, 7, "unknown")),
        ("Give a score (1-5) and your confidence (0-1).", Scale(1, 5, "unknown")),
        ("Rate the tone from 0 (icy) to 3 (warm). 3 is best.", Scale(0, 3, 3)),
        ("Give a score between 1 (a mess) and 7 (spotless).", Scale(1, 7, "unknown")),
        ("Rate it: 1 = very poor to 5 = excellent.", Scale(1, 5, 5)),
        ("请打分，从1分（很差）到5分（优秀）。", Scale(1, 5, 5)),
        ("Rate the noise from 0 (silent) to 4 (loud). The best score is 0.", Scale(0, 4, 0)),
        ("Rate the tone from 0 (icy) to 3 (warm). 3 is not always best.", Scale(0, 3, "unknown")),
        ("Rate it as you like.", Scale(None, None, "unknown")),
    ],
)
def test_the_scale_is_taken_from_the_words_and_its_good_end_only_where_they_say_it(
    tmp_path: Path, words: str, scale: Scale
) -> None:
    document = imported(tmp_path, f"```\nHere is the whole text: {{x}}\n{words}\n```\n")
    assert [*load_protocol(document.folders[0]).criteria.values()] == [scale]


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("Write [RESULT] and the number.", {"reader": "marker", "marker": "[RESULT]"}),
        ("Write <score>N</score>.", {"reader": "tag", "tag": "score"}),
        ('End with "[[rating]]", e.g. Rating: [[5]].', {"reader": "free"}),
        (
            'Reply {"rating": N, "rationale": "…"}.',
            {"reader": "json", "score": "rating", "reason": "rationale"},
        ),
        ('回复 {\\"score\\":\\"xx\\"}', {"reader": "json", "score": "score"}),
        ("Reply as JSON.", {"reader": "json", "score": "score"}),
        ("The first line holds the score alone.", {"reader": "first_line"}),
        ("请首先输出一行，仅包含分数。", {"reader": "first_line"}),
        ("- Warmth Rating (1-5): ", {"reader": "label", "labels": ["Warmth Rating (1-5)", "Warmth Rating"]}),
        ("Say what you think.", {"reader": "free"}),
    ],
)
def test_the_reader_is_taken_from_the_format_that_the_prompt_shows(
    tmp_path: Path, words: str, answer: dict[str, Any]
) -> None:
    document = imported(tmp_path, f"```\nEvaluate the text {{x}} with care.\n{words}\n```\n")
    assert settings(document.folders[0])["answer"] == answer


def test_json_with_an_object_for_each_criterion_names_the_criteria(tmp_path: Path) -> None:
    body = (
        'Evaluate {x} from 1 to 5:\n{\n "rhyme": {"why": "…", "score": N},\n "metre": {"why": '
        '"…", "score": N}\n}'
    )
    document = imported(tmp_path, f"```\n{body}\n```\n")
    protocol = load_protocol(document.folders[0])
    assert [*protocol.criteria] == ["rhyme", "metre"]
    assert protocol.answer.score == "{criterion}.score"


def test_json_with_a_number_for_each_criterion_names_the_criteria(tmp_path: Path) -> None:
    body = 'Evaluate {x}:\n{\n "rhyme": <int 1-5>,\n "metre": N,\n "confidence": 0.5,\n "why": "…"\n}'
    document = imported(tmp_path, f"```\n{body}\n```\n")
    protocol = load_protocol(document.folders[0])
    assert [*protocol.criteria] == ["rhyme", "metre"]
    assert protocol.answer.score == "{criterion}"


def test_a_score_inside_one_object_is_found_by_its_path(tmp_path: Path) -> None:
    body = 'Evaluate {x}, 1-5: {"verdict_on_it": {"why": "…", "score": N}}'
    document = imported(tmp_path, f"# Wit\n\n```\n{body}\n```\n")
    protocol = load_protocol(document.folders[0])
    assert [*protocol.criteria] == ["wit"]
    assert protocol.answer.score == "verdict_on_it.score"


def test_two_responses_make_a_comparison_that_can_be_shown_in_both_orders(tmp_path: Path) -> None:
    body = (
        "Which answer to {question} is better?\nA: {answer_1}\nB: {answer_2}\nWrite [[A]], [[B]], "
        "or [[C]] for a tie."
    )
    document = imported(tmp_path, f"```\n{body}\n```\n")
    protocol = load_protocol(document.folders[0])
    assert protocol.task == "compare"
    assert protocol.answer.choices == {"a": "A", "b": "B", "tie": "C"}
    assert [*protocol.criteria.values()] == [None]
    item = Item(id="1", fields={"question": "Q", "response_a": "one", "response_b": "two"})
    assert "A: two\nB: one" in render(protocol, item, "ba").messages[0].content


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("responseA", "responseB"),
        ("answer1", "answer2"),
        ("model_a_output", "model_b_output"),
        ("first_reply", "second_reply"),
        ("candidate_1", "candidate_2"),
        ("essay_1", "essay_2"),
        ("chosen", "rejected"),
        ("baseline_response", "enhanced_response"),
        ("a", "b"),
    ],
)
@pytest.mark.parametrize(
    "question",
    [
        "Reply with A or B.",
        "Which of the two is better?",
        "Judge both and write [[A]] or [[B]].",
        "评价一下，哪个回答更好？",
    ],
)
def test_a_prompt_that_shows_two_texts_and_asks_for_the_better_one_is_a_comparison(
    tmp_path: Path, first: str, second: str, question: str
) -> None:
    body = f"Evaluate these.\nQuestion: {{question}}\nA: {{{first}}}\nB: {{{second}}}\n{question}"
    protocol = load_protocol(imported(tmp_path, f"```\n{body}\n```\n").folders[0])
    assert protocol.task == "compare"
    item = Item(id="1", fields={"question": "Q", "response_a": "one", "response_b": "two"})
    assert "A: one\nB: two" in render(protocol, item).messages[0].content
    assert "A: two\nB: one" in render(protocol, item, "ba").messages[0].content


@pytest.mark.parametrize("slots", ["{poem_1} {poem_2}", "{a} {b}", "{chosen} {rejected}"])
def test_two_texts_of_which_none_is_to_be_chosen_are_no_comparison(tmp_path: Path, slots: str) -> None:
    document = imported(tmp_path, f"```\nRate the likeness from 1 to 5: {slots}\n```\n")
    assert load_protocol(document.folders[0]).task == "score"
    assert "compare" not in settings_text(document.folders[0])


def test_two_conversations_are_compared_turn_by_turn(tmp_path: Path) -> None:
    body = (
        "Which assistant is "
        "better?\n{question_1}\n{answer_a_1}\n{answer_b_1}\n{question_2}\n{answer_a_2}\n{answer_b_2}"
    )
    document = imported(tmp_path, f"```\n{body}\n```\n")
    protocol = load_protocol(document.folders[0])
    assert protocol.task == "compare"
    sides = {"answer_a_1": "response_1_a", "answer_a_2": "response_2_a", "answer_b_1": "response_1_b"}
    assert sides.items() <= protocol.alias.items()


def test_a_comparison_whose_two_sides_are_not_found_is_pointed_out(tmp_path: Path) -> None:
    document = imported(tmp_path, "```\nWhich assistant is better?\n{question}\n{both}\n```\n")
    assert load_protocol(document.folders[0]).task == "score"
    assert "# REVIEW: the prompt says 'Which assistant is better'" in settings_text(document.folders[0])


def test_turns_of_a_conversation_are_no_comparison(tmp_path: Path) -> None:
    body = "Rate the assistant.\n{question_1}\n{answer_1}\n{question_2}\n{answer_2}"
    document = imported(tmp_path, f"```\n{body}\n```\n")
    assert load_protocol(document.folders[0]).task == "score"


def test_a_placeholder_whose_name_an_item_cannot_have_is_filled_from_another_field(tmp_path: Path) -> None:
    body = "Rate {system} by {rubric} and {criterion}, {steps}, {low} to {inputs.question}, {example.x}."
    document = imported(tmp_path, f"```\n{body}\n```\n")
    protocol = load_protocol(document.folders[0])
    assert protocol.alias["rubric"] == "rubric_text"
    assert protocol.alias["inputs.question"] == "inputs_question"
    item = Item(id="1", fields={name: f"<{name}>" for name in protocol.inputs})
    assert render(protocol, item).messages[0].content == (
        "Rate <system_text> by <rubric_text> and <criterion_text>, <steps_text>, <low_text> to "
        "<inputs_question>, "
        "<example_x>."
    )


def test_the_reply_language_is_that_which_the_prompt_asks_for(tmp_path: Path) -> None:
    document = imported(tmp_path, "```\nEvaluate the text {x} and explain it in Korean.\n```\n")
    language = load_protocol(document.folders[0]).language
    assert (language.prompt, language.reply) == ("en", "ko")


def test_an_index_of_a_formula_is_no_placeholder_and_a_name_may_have_spaces(tmp_path: Path) -> None:
    path = tmp_path / "p.md"
    path.write_text(
        "```\nRate {{Solution}} against {{Reference Answer}}, such as $n_{k-1}$, from 1 to 5.\n```\n",
        encoding="utf-8",
    )
    [folder] = import_document(path, tmp_path / "to").folders
    assert load_protocol(folder).inputs == ("Solution", "reference_answer")

"""Prompts in Python files: string constants, what was worked out for them, and what is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.errors import DataError, ProtocolError
from adjudge.protocols import load_protocol
from adjudge.protocols.importing import Imported, import_document
from adjudge.records import Item
from adjudge.render import render


def imported(tmp_path: Path, text: str, name: str = "judges.py") -> Imported:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return import_document(path, tmp_path / "to")


def prompt(tmp_path: Path, source: str) -> str:
    (folder,) = imported(tmp_path, source).folders
    return load_protocol(folder).user_text


def test_a_string_is_a_prompt_named_by_its_variable(tmp_path: Path) -> None:
    source = (
        'import os\n\nTONE_PROMPT = """\nRate the tone of {text}\\tfrom 1 to 5.\n"""\nURL = '
        '"https://x.org/{id}"\n'
    )
    document = imported(tmp_path, source)
    assert document.ids == ("tone",)
    assert load_protocol(document.folders[0]).user_text == "\nRate the tone of {{text}}\tfrom 1 to 5.\n"
    notes = (Path(document.folders[0]) / "NOTES.md").read_text(encoding="utf-8")
    assert "lines 3 to 5" in notes
    assert "The Python string was evaluated" in notes


def test_a_text_file_that_is_python_is_read_as_python(tmp_path: Path) -> None:
    document = imported(tmp_path, "tone = 'Rate the tone of {text}, please.'\n", "tone.txt")
    assert document.ids == ("tone",)


def test_a_text_file_that_is_not_python_is_read_as_markdown(tmp_path: Path) -> None:
    document = imported(tmp_path, "Rate the tone of {text}, please.\n", "tone.txt")
    assert load_protocol(document.folders[0]).user_text == "Rate the tone of {{text}}, please."


def test_prompts_are_found_in_dicts_classes_functions_and_arguments(tmp_path: Path) -> None:
    source = """
PROMPTS = {"rhyme": "Score the rhymes of {poem}.", "metre": "Score the metre of {poem}."}

class Judge:
    warmth: str = "Score the warmth of {poem}."

    def brevity(self):
        return "Score the brevity of {poem}."

make(template="Score the wit of {poem}.", name="Score the name {poem}, or not."[:3])
"""
    assert imported(tmp_path, source).ids == ("rhyme", "metre", "warmth", "brevity", "prompt", "name")


def test_docstrings_and_messages_of_the_program_are_no_prompts(tmp_path: Path) -> None:
    source = '''
"""This module evaluates {text} and gives a score, as a judge would do."""

def judge(text):
    """Rate {text} from 1 to 5, which is the score."""
    print("The score of {text} was judged to be too low".format(text=text))
    if text == "Score {text} is not a score at all":
        raise ValueError("Score {text} cannot be judged at all")

TONE = "Rate the tone of {text}, please."
'''
    assert imported(tmp_path, source).ids == ("tone",)


def test_doubled_braces_are_undone_where_the_file_formats_the_string(tmp_path: Path) -> None:
    source = """
TONE = 'Rate {text}. Reply as {{"score": {{"value": N}}}}, {{x}}.'
print(TONE.format(text="x"))
"""
    assert prompt(tmp_path, source) == 'Rate {{text}}. Reply as {"score": {"value": N}}, {x}.'


def test_a_formatted_string_is_sent_as_python_would_send_it(tmp_path: Path) -> None:
    template = "Judge {a}{b} {{}} {{{a}}} {{{{ }}}} as {{'score': 1}}"
    protocol = load_protocol(imported(tmp_path, f"P = {template!r}\nP.format(a=1, b=2)\n").folders[0])
    item = Item(id="1", fields={"a": "{b}", "b": "{{a}}"})
    assert render(protocol, item).messages[0].content == template.format(a="{b}", b="{{a}}")


def test_doubled_braces_stay_where_nothing_says_how_the_string_is_filled(tmp_path: Path) -> None:
    document = imported(tmp_path, "TONE = 'Rate {text}. Reply as {{\"score\": N}}.'\n")
    assert load_protocol(document.folders[0]).user_text == 'Rate {{text}}. Reply as {{"score": N}}.'
    assert "# REVIEW: doubled braces were kept" in (Path(document.folders[0]) / "protocol.toml").read_text(
        "utf-8"
    )


def test_what_a_template_cannot_say_is_not_undone(tmp_path: Path) -> None:
    """`{{{{x}}}}` stands for the text `{{x}}`, which would be a slot."""
    document = imported(tmp_path, "TONE = 'Rate {text}, then write {{{{x}}}} below.'\nTONE.format(text=1)\n")
    assert "# REVIEW: doubled braces were kept" in (Path(document.folders[0]) / "protocol.toml").read_text(
        "utf-8"
    )


def test_joined_dedented_and_stripped_strings_are_worked_out(tmp_path: Path) -> None:
    assert (
        prompt(tmp_path, 'TONE = "Rate the tone " "of " + "{text} " + "now."\n')
        == "Rate the tone of {{text}} now."
    )
    source = (
        'from textwrap import dedent\nWIT = dedent("""\n    Rate the wit of\n      the {text}\n    '
        '""").strip()\n'
    )
    (tmp_path / "other").mkdir()
    assert prompt(tmp_path / "other", source) == "Rate the wit of\n  the {{text}}"


def test_chat_messages_go_by_their_roles(tmp_path: Path) -> None:
    source = """
WIT = [
    {"role": "system", "content": "You are a judge of wit and you score fairly, always."},
    {"role": "user", "content": "Score the wit of {text}."},
]
"""
    document = imported(tmp_path, source)
    assert document.ids == ("wit",)
    protocol = load_protocol(document.folders[0])
    assert protocol.system_text == "You are a judge of wit and you score fairly, always."
    assert protocol.user_text == "Score the wit of {{text}}."


def test_a_system_message_that_is_pasted_into_the_prompt_is_sent_once(tmp_path: Path) -> None:
    source = (
        'system_msg = "You evaluate the wit of short texts with great care.\\n\\n"\n'
        "wit_template = '{system_message}Score the wit of {text}.'\n"
    )
    protocol = load_protocol(imported(tmp_path, source).folders[0])
    assert protocol.inputs == ("text",)
    (message,) = render(protocol, Item(id="1", fields={"text": "Ha."})).messages
    assert message.content == "You evaluate the wit of short texts with great care.\n\nScore the wit of Ha.."


def test_what_stands_in_the_braces_of_an_f_string_becomes_a_slot(tmp_path: Path) -> None:
    source = (
        "def judge(poem, poet):\n    return f'Score the wit of {poem} by {poet.name}, as {{x}} "
        "from one to five.'\n"
    )
    document = imported(tmp_path, source)
    protocol = load_protocol(document.folders[0])
    assert protocol.user_text == "Score the wit of {{poem}} by {{name}}, as {{x}} from one to five."
    assert "poet.name is code of the file" in (Path(document.folders[0]) / "protocol.toml").read_text()


def test_names_that_the_file_sets_once_are_followed(tmp_path: Path) -> None:
    source = """
HEAD = "You judge the wit of a poem. Score it from 1 to 5.\\n"
TAIL = "Reply as <score>SCORE</score>."
WIT = HEAD + "Poem: {poem}\\n" + TAIL
"""
    document = imported(tmp_path, source)
    assert document.ids == ("wit",)
    assert load_protocol(document.folders[0]).user_text == (
        "You judge the wit of a poem. Score it from 1 to 5.\nPoem: {{poem}}\nReply as <score>SCORE</score>."
    )


def test_a_system_text_goes_with_the_prompt_of_its_name_or_list(tmp_path: Path) -> None:
    source = """
PAIR_SYSTEM = "You compare two poems and you name the better."
SINGLE_SYSTEM = "You score one poem at a time, from 1 to 5."
SINGLE_PROMPT = "Score this poem: {poem}"
PAIR_PROMPT = "Compare {poem_a} with {poem_b}: which is better, A or B?"

def messages(ballad):
    return [
        {"role": "system", "content": "You score ballads."},
        {"role": "user", "content": f"Score the ballad: {ballad}"},
    ]
"""
    document = imported(tmp_path, source)
    systems = {Path(path).name: load_protocol(path).system_text for path in document.folders}
    assert systems["single"] == "You score one poem at a time, from 1 to 5."
    assert systems["pair"] == "You compare two poems and you name the better."
    assert "You score ballads." in systems.values()


def test_half_a_character_is_left_out(tmp_path: Path) -> None:
    source = "a = 'Rate the tone of {text} \\ud800 now.'\nb = 'Rate the wit of {text}, please.'\n"
    document = imported(tmp_path, source)
    assert document.ids == ("b",)
    assert any("half a surrogate pair" in note for note in document.notes)


def test_a_broken_python_file_is_refused_with_the_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"judges\.py is not valid Python \(line 2: "):
        imported(tmp_path, "x = 1\nTONE = 'Rate {text}\n")


def test_invalid_escapes_warn_no_one(tmp_path: Path) -> None:
    assert prompt(tmp_path, "TONE = 'Rate the tone \\d of {text}.'\n") == "Rate the tone \\d of {{text}}."


@pytest.mark.parametrize(
    "source", ["(" * 300 + ")" * 300, "x = " + "-" * 20_000 + "1", "x = 'a'" + ".strip()" * 3000,
    "x = " + "1+" * 5000 + "1"]
)  # fmt: skip
def test_deeply_nested_python_ends_in_an_error_and_not_in_a_crash(tmp_path: Path, source: str) -> None:
    with pytest.raises((ProtocolError, DataError)):
        imported(tmp_path, source)


def test_a_chain_of_sums_is_not_followed_without_end(tmp_path: Path) -> None:
    source = "a = 'Rate the poem {poem} from one to five please. '\n"
    for name, above in zip("bcdefgh", "abcdefg", strict=True):
        source += f"{name} = " + " + ".join([above] * 60) + "\n"
    source += "q = q + 'Rate {x} fairly, from one to five, please.'\n"
    assert imported(tmp_path, source).ids


def test_the_verdicts_beside_the_messages_of_a_call_are_the_options(tmp_path: Path) -> None:
    source = """
WIT = Judge(
    name="wit",
    optimization_direction="minimize",
    messages=[Message(role="user", content="Grade the poem: {{poem}}\\nIs it dull or witty?")],
    choices={"dull": 1.0, "witty": 0.0},
)
"""
    document = imported(tmp_path, source)
    assert document.ids == ("wit",)
    protocol = load_protocol(document.folders[0])
    assert dict(protocol.answer.options) == {"dull": 1.0, "witty": 0.0}
    assert [scale.best for scale in protocol.criteria.values() if scale] == [0.0]

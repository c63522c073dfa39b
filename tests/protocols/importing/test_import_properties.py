"""Properties of an import: any text ends well, and what is imported is sent as the document says."""

from __future__ import annotations

import re
import tempfile
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from adjudge.errors import AdjudgeError
from adjudge.parse import parse
from adjudge.protocols import load_protocol
from adjudge.protocols.importing import Imported, import_document
from adjudge.protocols.importing.placeholders import templated, templated_as_format
from adjudge.protocols.importing.settings_text import Remark, Setting, SettingsTable, toml_text
from adjudge.records import FieldValue, Item, is_empty
from adjudge.render import render, slots_of
from adjudge.render.prompt import EMPTY
from clock import LINEAR, growth
from thorough import tries

# Pieces that documents of prompts are made of, mixed with anything.
PIECES = st.sampled_from(
    [
        "# Tone\n", "## System prompt\n", "### 评分\n", "```\n", "```markdown\n", "```python\n",
        "```###x y\n", "  ```\n",
        "~~~\n", "Rate {x} from 1 to 5.\n", "{{y}}", "{{ z }}", "*{**四**}*", "{", "}", "{{", "}}",
        "{{{x}}}", "${a}",
        "请给{文章}打分，0到10。\n", '{"score": {s}}', "[RESULT]", "<score>", "[[rating]]", "{rubric}\n",
        "{examples}\n\n",
        "{system_message}", "{response_a} {response_b}", "\r\n", "\t", "---\n", "<br>\n",
        "P = 'Rate {x}, 1-5, fairly.'\n",
        "{example.x}", "{x.y-z}", "higher is better", "\\frac{a}{b}", "\x7f", "\u2028", '"""', "'''",
        "P.format(x=1)\n",
        "\ufeff", "{id}", "{group_2}", "score\n", "Score (1-5):\n",
    ]
)  # fmt: skip
DOCUMENTS = st.lists(st.one_of(PIECES, st.text(max_size=15)), max_size=25).map("".join)


def imported(content: bytes, name: str, folder: str) -> Imported:
    path = Path(folder) / name
    path.write_bytes(content)
    return import_document(path, Path(folder) / "to")


def outcome(content: bytes, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            document = imported(content, name, folder)
        except AdjudgeError:
            assert not (Path(folder) / "to").exists()
            return
        assert document.ids
        for path in document.folders:
            protocol = load_protocol(path)
            fields: dict[str, FieldValue] = {
                name: f"value of {name}" for name in (*protocol.inputs, *protocol.optional)
            }
            assert render(protocol, Item(id="1", fields=fields)).messages
            assert parse(protocol, "4") is not None


@settings(max_examples=tries(300))
@given(DOCUMENTS, st.sampled_from(["a.md", "a.txt", "a.py"]))
@example("```\nRate {x}: {low} {{high}} {{ low }}\n```", "a.md")
@example("P = 'Rate {x} and write {{{{ low }}}} now.'\nP.format(x=1)\n", "a.py")
def test_any_text_is_imported_or_refused_and_what_is_imported_loads_and_renders(text: str, name: str) -> None:
    outcome(text.encode("utf-8", "replace"), name)


@settings(max_examples=tries(100))
@given(st.binary(max_size=200), st.sampled_from(["a.md", "a.txt", "a.py"]))
def test_any_bytes_are_imported_or_refused(content: bytes, name: str) -> None:
    outcome(content, name)


# -- what is sent

NAMES = st.from_regex(r"[a-z]{1,6}(_[a-z]{1,4})?|[文章回答]{1,3}", fullmatch=True).filter(
    lambda name: (
        name
        not in {
            "low",
            "high",
            "rubric",
            "criterion",
            "steps",
            "examples",
            "id",
            "system",
            "group",
            "system_message",
        }
    )
)
VALUES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)
# A zero byte in a file makes it a binary one.
LITERALS = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="{}*$\\`~\0"), max_size=30
)
JSON = st.sampled_from(
    ['{"score": 3}', '{"a": {"b": []}}', "{}", "{ x }", '{\\"score\\":\\"xx\\"}', "}", "{"]
)
FORMS = st.sampled_from(["{x}", "{{x}}", "*{**x**}*"])


@st.composite
def templates(draw: st.DrawFn) -> tuple[str, dict[str, str]]:
    """A prompt with placeholders in all forms, and a value for each name."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    parts = ["Evaluate with great care: "]
    for _ in range(draw(st.integers(1, 6))):
        parts.append(draw(LITERALS))
        # A brace beside a placeholder could be read as part of it.
        parts += [" ", draw(JSON), " "] if draw(st.booleans()) else []
        parts += [" ", draw(FORMS).replace("x", draw(st.sampled_from(names)), 1), " "]
    return "".join(parts), {name: draw(VALUES) for name in names}


def replaced(text: str, values: dict[str, str]) -> str:
    """Independent of the importer: every written form of every name, replaced in one pass."""
    forms = {
        form.replace("x", name, 1): value
        for name, value in values.items()
        for form in ("*{**x**}*", "{{x}}", "{x}")
    }
    pattern = re.compile("|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True)))
    return pattern.sub(lambda match: forms[match[0]], text)


def sent(document: str, name: str, values: dict[str, str]) -> tuple[str, dict[str, str]]:
    """What a judge is sent of the one prompt of a document, and the values as it is shown them."""
    with tempfile.TemporaryDirectory() as folder:
        (path,) = imported(document.encode(), name, folder).folders
        protocol = load_protocol(path)
        # Fields of a pair have names of their own.
        fields: dict[str, FieldValue] = {
            protocol.alias.get(name, name): value for name, value in values.items()
        }
        (message,) = render(protocol, Item(id="1", fields=fields)).messages
    # A judged text that is empty is shown as such.
    shown = {
        name: EMPTY if is_empty(value) and protocol.alias.get(name, name) in protocol.judged_inputs else value
        for name, value in values.items()
    }
    return str(message.content), shown


@settings(max_examples=tries(200))
@given(templates())
def test_a_prompt_in_a_fence_is_sent_as_the_document_says_with_its_values_in_place(
    drawn: tuple[str, dict[str, str]],
) -> None:
    text, values = drawn
    content, shown = sent(f"# Judge\n\n~~~~text\n{text}\n~~~~\n", "a.md", values)
    assert content == replaced(text, shown)


@settings(max_examples=tries(200))
@given(templates())
def test_a_python_string_is_sent_as_its_value_says_with_its_values_in_place(
    drawn: tuple[str, dict[str, str]],
) -> None:
    text, values = drawn
    content, shown = sent(f"import x\nJUDGE = {text!a}\n", "a.py", values)
    assert content == replaced(text, shown)


@given(st.text(alphabet="{}ab x*\n", max_size=40))
def test_the_slots_of_a_template_are_the_placeholders_of_its_text(text: str) -> None:
    template = templated(text)
    assert tuple(dict.fromkeys(slots_of(template.text))) == template.slots
    # Whatever stands between placeholders is left as it is.
    assert template.literal.count("\ufffc") == len(slots_of(template.text))
    for stretch in template.literal.split("\ufffc"):
        assert stretch in text


@given(st.text(alphabet="{}ab x\n", max_size=40))
def test_a_format_string_is_filled_as_python_fills_it_or_is_not_touched(text: str) -> None:
    template = templated_as_format(text)
    if template is None:
        return
    values = {slot: f"<{slot}>" for slot in template.slots}
    filled = template.text
    for slot, value in values.items():
        filled = filled.replace("{{" + slot + "}}", value)
    assert filled == text.format(**values)


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
    st.text(alphabet=st.characters(exclude_categories=["Cs"])),
)
def test_settings_with_any_text_are_read_back_as_they_were_written(text: str, comment: str) -> None:
    table = SettingsTable(
        "[x]", [Setting(text, text, comment), Remark(comment), Setting("l" + text, [text, text])]
    )
    assert tomllib.loads(toml_text([table])) == {"x": {text: text, "l" + text: [text, text]}}


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["{", "{{", "{{ a", "```\n", "# a\n", "{a}", "*{**", "- a score: ", "1-5 ", '"a": {', " "]
)
@pytest.mark.parametrize(
    ("around", "name"),
    [
        ("```\nRate {x} from 1 to 5.\n```\n%s\nx", "a.md"),
        ("```\nRate {x} from 1 to 5.\n%s\n```\n", "a.md"),
        ("# Rate {x}\n\nRate {x} from 1 to 5.\n%s", "a.md"),
        ('P = """Rate {x} from 1 to 5.\\n%s"""\\nP.format()', "a.py"),
    ],
)
def test_an_import_takes_time_in_proportion_to_the_text(unit: str, around: str, name: str) -> None:
    assert growth(lambda text: outcome(around.replace("%s", text).encode(), name), unit, 100_000) < LINEAR

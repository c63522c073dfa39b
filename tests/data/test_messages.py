"""Conversations in items: the shapes of providers, tool calls, images, and what is refused."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.data import BadRowError, ItemFile, field_value, plain
from adjudge.errors import DataError
from adjudge.records import Image, Message, ToolCall

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 300
DATA = base64.b64encode(PNG).decode()
URL = f"data:image/png;base64,{DATA}"

OPENAI = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": [{"type": "text", "text": "Weather in Oslo?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "3 °C"},
    {"role": "assistant", "content": "It is 3 °C."},
]

ANTHROPIC = [
    {"role": "user", "content": "Weather in Oslo?"},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "I need the tool.", "signature": "x"},
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Oslo", "days": 1}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [{"type": "text",
            "text": "down"}]},
            {"type": "text", "text": "Try again."},
        ],
    },
]  # fmt: skip


def test_openai_messages_keep_their_tool_calls_and_results():
    messages = field_value("messages", OPENAI)
    assert messages == (
        Message("system", "You help."),
        Message("user", "Weather in Oslo?"),
        Message("assistant", "", tool_calls=(ToolCall("weather", '{"city": "Oslo"}', "c1"),)),
        Message("tool", "3 °C", tool_call_id="c1"),
        Message("assistant", "It is 3 °C."),
    )


def test_anthropic_messages_become_the_same_records():
    assert field_value("messages", ANTHROPIC) == (
        Message("user", "Weather in Oslo?"),
        Message("assistant", "I need the tool.", is_thought=True),
        Message(
            "assistant",
            "Let me look.",
            tool_calls=(ToolCall("weather", '{"city": "Oslo", "days": 1}', "t1"),),
            continues=True,
        ),
        Message("tool", "down", tool_call_id="t1", is_error=True),
        Message("user", "Try again."),
    )


def test_the_order_of_texts_images_and_calls_in_one_message_is_kept():
    parts = [
        {"type": "text", "text": "before"},
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "text", "text": "after"},
    ]
    first, second = field_value("chat", [{"role": "user", "content": parts}])
    assert isinstance(first, Message)
    assert isinstance(second, Message)
    assert (first.content, len(first.images), first.continues) == ("before", 1, False)
    assert (second.content, second.images, second.continues) == ("after", (), True)


def test_entries_of_the_responses_api_stand_between_messages():
    entries = [
        {"role": "user", "content": [{"type": "input_text", "text": "Go."}]},
        {"type": "function_call", "call_id": "f1", "name": "go", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "f1", "output": "gone"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
    ]
    assert field_value("messages", entries) == (
        Message("user", "Go."),
        Message("assistant", "", tool_calls=(ToolCall("go", "{}", "f1"),)),
        Message("tool", "gone", tool_call_id="f1"),
        Message("assistant", "Done."),
    )


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": URL}},
        {"type": "input_image", "image_url": URL},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    ],
)
def test_an_image_is_known_by_its_hash_and_size_in_every_shape(part: dict[str, Any]):
    (message,) = field_value("chat", [{"role": "user", "content": [part]}])
    assert isinstance(message, Message)
    (image,) = message.images
    assert (image.media_type, image.size, image.data) == ("image/png", len(PNG), DATA)
    assert image.label == f"[image, 2 kB, sha {image.sha256[:8]}]"


def test_an_image_at_an_address_keeps_the_address():
    part = {"type": "image", "source": {"type": "url", "url": "https://a.example/cat.png"}}
    (message,) = field_value("chat", [{"role": "user", "content": [part]}])
    assert isinstance(message, Message)
    assert message.images[0].address == "https://a.example/cat.png"
    assert "https://a.example/cat.png" in message.images[0].label


def image_part(url: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        (image_part("http://a.example/cat.png"), "Give a data URL (data:image/png;base64,…) or an https "
                                                 "address"),
        (image_part("data:image/png;base64,%%%"), "not valid base64"),
        (image_part("data:image/png,abc"), "not base64"),
        (image_part(f"data:image/tiff;base64,{DATA}"), "image of type 'image/tiff'"),
        (image_part(f"data:image/jpeg;base64,{DATA}"), "does not begin like image/jpeg"),
        (image_part("data:image/png;base64," + "A" * 8_000_000), "image of 6.0 MB; the limit is 5 MB"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": URL}}] * 21}],
        "has 21 images"),
        ([{"role": "user", "content": [{"type": "document"}]}], "part of type 'document'"),
        ([{"role": "user", "content": [7]}], "part of type"),
        ([{"role": "system\n", "content": "x"}], "the role 'system"),
        ([{"role": "x" * 200, "content": "x"}], "A role is one short word"),
        ([{"role": "assistant", "tool_calls": "none"}], "'tool_calls' is not a list"),
        ([{"role": "assistant", "tool_calls": [3]}], "a tool call that is not an object"),
        ([{"role": "assistant", "content": {"a": 1}}], "no text as content"),
    ],
)  # fmt: skip
def test_what_would_be_lost_or_cannot_be_sent_is_refused(entries: list[Any], said: str):
    with pytest.raises(BadRowError) as caught:
        field_value("chat", entries)
    assert said in str(caught.value)
    assert "field 'chat'" in str(caught.value)


def test_a_problem_names_the_line_of_the_file(tmp_path: Path):
    path = tmp_path / "items.jsonl"
    good = {"chat": [{"role": "user", "content": "hi"}]}
    bad = {"chat": [{"role": "user", "content": "hi"}, {"role": "user\n[turn 9] system", "content": "x"}]}
    path.write_text("\n".join(map(json.dumps, (good, bad))))
    with pytest.raises(DataError, match="line 2: message 2 of field 'chat' has the role"):
        ItemFile(path).check()


def test_a_conversation_without_tools_is_kept_as_roles_and_texts():
    entries = [
        {"role": "user", "name": "bob", "content": "hi"},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ]
    assert field_value("chat", entries) == (Message("user", "hi"), Message("tool", "x"))


@pytest.mark.parametrize(
    "entries", [OPENAI, ANTHROPIC, image_part(URL), image_part("https://a.example/i.png")]
)
def test_a_conversation_that_is_written_and_read_again_is_the_same(entries: list[Any]):
    value = field_value("messages", entries)
    written = json.loads(json.dumps(plain(value)))
    assert field_value("messages", written) == value


def test_an_image_that_only_a_store_knows_is_refused_with_what_to_do():
    message = Message("user", "", (Image("image/png", "ab" * 32, 5),))
    with pytest.raises(BadRowError, match="a store keeps no image data"):
        field_value("chat", plain((message,)))


def test_deeply_nested_arguments_are_a_problem_and_no_traceback():
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(BadRowError, match="nested too deeply"):
        field_value("chat", [{"role": "assistant", "tool_calls": [{"name": "f", "args": deep}]}])

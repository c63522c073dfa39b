"""The view of one item: where quotations stand, which tokens
could have been written, what a second answer says.
"""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from adjudge.analysis.item_view.evidence import QuotableText
from adjudge.analysis.item_view.item_view import item_view
from adjudge.analysis.item_view.shown_text import merge_spans
from adjudge.analysis.item_view.views import CallView
from adjudge.data import read_rubric
from adjudge.parse.evidence import grounded_share
from adjudge.protocols import load_protocol
from adjudge.records import Call, Item, Judgment, Message, Reply, ReplyError, Score, TokenLogprob, TopToken
from adjudge.store import CallSpec
from adjudge.store.browsing import CallOutcome
from running import EXAMPLES
from thorough import tries

ABOUT = CallSpec("acme/polite@0123456789", ("polite",), "fake:x", "ab", 0, "generate")
ITEM = Item("i1", {"question": "Why?", "response": "Because the “Sea” is\n\n deep. Because."})


def a_call(key: str = "k", parent: str | None = None, kind: str = "generate") -> Call:
    return Call(
        key,
        "i1",
        ABOUT.protocol,
        ABOUT.criteria,
        ABOUT.model,
        (Message("user", "Judge."),),
        kind=kind,
        parent=parent,
    )  # type: ignore[arg-type]


def a_place(reply: Reply | None, judgment: Judgment | None, **more: object) -> CallOutcome:
    fields = {
        "call_index": 0,
        "about": ABOUT,
        "call": a_call(),
        "reply": reply,
        "error": None,
        "judgment": judgment,
        **more,
    }
    return CallOutcome(**fields)  # type: ignore[arg-type]


def the_call(place: CallOutcome, longest: int | None = None) -> CallView:
    (call,) = item_view(ITEM, [place], {}, longest=longest).calls
    return call


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("Because the “Sea” is\n\n deep.", 'the "sea" is deep', ["the “Sea” is\n\n deep"]),
        ("Because the sea is deep.", "Because … deep", ["Because", "deep"]),
        ("Because the sea is deep.", "deep ... Because", []),
        ("ＡＢＣ １２３", "abc 123", ["ＡＢＣ １２３"]),
        ("다리는 5월부터 폐쇄됩니다.", "5월부터 폐쇄", ["5월부터 폐쇄"]),
        ("Straße", "STRASSE", ["Straße"]),
        ("text", "…", []),
        ("text", "", []),
        ("", "text", []),
    ],
)
def test_a_quotation_is_found_where_it_stands(text: str, quote: str, expected: list[str]) -> None:
    assert [text[start:end] for start, end in QuotableText(text).find(quote)] == expected


@given(st.text("abc “”\"'…. \n", max_size=60), st.text("abc “”\"'…. \n", max_size=12))
@settings(max_examples=tries(300))
def test_a_quotation_is_found_exactly_where_evidence_counts_as_grounded(text: str, quote: str) -> None:
    assume(set(quote) & set("abc"))
    share = grounded_share((quote,), text)
    spans = QuotableText(text).find(quote)
    assert (share == 1.0) == bool(spans)
    assert all(0 <= start < end <= len(text) for start, end in spans)


def test_places_that_overlap_are_marked_once() -> None:
    assert merge_spans([(5, 9), (0, 3), (2, 6), (12, 13)]) == [(0, 9), (12, 13)]


def test_evidence_is_marked_in_the_field_and_says_where_it_was_found() -> None:
    score = Score(
        "polite", "ok", value=4.0, how="strict", span=(0, 1), evidence=("the sea", "the “sea” is deep")
    )
    places = [a_place(Reply("k", "4"), Judgment((score,)))]
    view = item_view(ITEM, places, {})
    question, response = view.fields
    assert question.turns[0].content.spans == ()
    shown = response.turns[0].content
    assert [shown.text[start:end] for start, end in shown.spans] == ["the “Sea” is\n\n deep"]
    assert [(evidence.text, evidence.fields) for evidence in view.calls[0].answers[0].evidence] == [
        ("the sea", ()),
        ("the “sea” is deep", ("response",)),
    ]


def test_the_tokens_at_the_place_of_a_score_are_those_that_could_have_been_written() -> None:
    tops = (TopToken(" 4", math.log(0.7)), TopToken(" 5", math.log(0.2)), TopToken(" x", float("-inf")))
    reply = Reply(
        "k", "Fine: 4", logprobs=(TokenLogprob("Fine:", -0.1), TokenLogprob(" 4", math.log(0.7), tops))
    )
    score = Score("polite", "ok", value=4.0, how="strict", span=(6, 7))
    (answer,) = the_call(a_place(reply, Judgment((score,)))).answers
    assert [(token.text, round(token.probability, 3), token.is_written) for token in answer.tokens] == [
        (" 4", 0.7, True),
        (" 5", 0.2, False),
        (" x", 0.0, False),
    ]


def test_what_a_second_answer_said_is_marked_in_the_second_answer() -> None:
    protocol = load_protocol("prometheus/direct", rubric=read_rubric(EXAMPLES / "tact.toml"))
    name = f"{protocol.id}@{protocol.digest}"
    about, again = (CallSpec(name, ("tact",), "fake:x", "ab", 0, kind) for kind in ("generate", "reask"))
    score = Score("tact", "ok", value=4.0, how="reask")
    first = a_place(Reply("k", "4 or 5, who knows"), Judgment((score,)), about=about)
    second = a_place(
        Reply("k2", "Well, once more. [RESULT] 4"),
        None,
        call_index=1,
        about=again,
        call=a_call("k2", "k", "reask"),
    )
    view = item_view(ITEM, [first, second], {name: protocol})
    ((first_sample, two),) = view.judges[0].samples
    assert first_sample.reply is not None
    assert two.reply is not None
    assert (first_sample.reply.spans, first_sample.answers) == ((), ())
    assert two.kind == "reask"
    assert [two.reply.text[start:end] for start, end in two.reply.spans] == ["4"]
    assert two.answers[0].how == "reask"
    assert two.messages[0].content.text == "Judge."
    assert [call.kind for call in view.judges[0].prompts] == ["generate"]
    only_first = item_view(ITEM, [first, second], {name: protocol}, shown=[first])
    assert [answer.value for answer in only_first.calls[0].answers] == [4.0]
    assert only_first.n_hidden == 1


def test_a_call_without_a_reply_is_shown_with_its_error() -> None:
    call = the_call(a_place(None, None, error=ReplyError("timeout", "60 s passed")))
    assert call.error == ReplyError("timeout", "60 s passed")
    assert call.reply is None


def test_both_orders_are_one_sample_and_have_two_prompts() -> None:
    other = CallSpec(ABOUT.protocol, ABOUT.criteria, ABOUT.model, "ba", 0, "generate")
    turned = Call(
        "k2", "i1", ABOUT.protocol, ABOUT.criteria, ABOUT.model, (Message("user", "Turned."),), order="ba"
    )
    places = [
        a_place(Reply("k", "4"), None),
        a_place(Reply("k2", "5"), None, call_index=1, about=other, call=turned),
    ]
    (judge,) = item_view(ITEM, places, {}).judges
    assert [[call.order for call in sample] for sample in judge.samples] == [["ab", "ba"]]
    assert [call.order for call in judge.prompts] == ["ab", "ba"]


def test_a_text_of_a_megabyte_is_cut_and_keeps_what_was_read() -> None:
    text = "x" * 1_000_000 + "4" + "y" * 500_000
    score = Score("polite", "ok", value=4.0, how="strict", span=(1_000_000, 1_000_001))
    reply = the_call(a_place(Reply("k", text), Judgment((score,))), 60_000).reply
    assert reply is not None
    assert len(reply.text) < 70_000
    ((start, end),) = reply.spans
    assert reply.text[start:end] == "4"

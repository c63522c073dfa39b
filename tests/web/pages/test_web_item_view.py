"""The template of an item shows all that its view holds, on the viewer's page and in the report."""

from __future__ import annotations

import math

from adjudge.analysis.item_view.item_view import item_view
from adjudge.analysis.item_view.views import ItemView
from adjudge.records import Call, Item, Judgment, Message, Reply, ReplyError, Score, TokenLogprob, TopToken
from adjudge.store import CallSpec
from adjudge.store.browsing import CallOutcome
from adjudge.web.templating import environment
from pageparsing import Page, acting

PROTOCOL = "acme/polite@0123456789"
PAIR = Item(
    "i1",
    {"question": "Why <b>?", "response_a": "Because the sea is deep.", "talk": (Message("user", "Hello."),)},
    system_a="x",
    system_b="y",
)


def a_place(slot: int, kind: str = "generate", order: str = "ab", **parts: object) -> CallOutcome:
    about = CallSpec(PROTOCOL, ("depth",), "fake:x", order, 0, kind)  # type: ignore[arg-type]
    call = Call(
        f"k{slot}", "i1", PROTOCOL, ("depth",), "fake:x", (Message("system", f"Prompt {slot}."),),
        kind=kind, order=order,
        target="the target" if kind == "likelihood" else None,  # type: ignore[arg-type]
        parent="k0" if kind == "reask" else None,
    )  # fmt: skip
    fields = {"call": call, "reply": None, "error": None, "judgment": None, **parts}
    return CallOutcome(call_index=slot, about=about, **fields)  # type: ignore[arg-type]


def a_view(shown: int | None = None) -> ItemView:
    tops = (TopToken("4", math.log(0.7)), TopToken("5", math.log(0.2)))
    score = Score(
        "depth", "ok", subject="a", value=4.0, how="strict", span=(0, 1), estimator="expected",
        confidence=0.83, grounded=0.5,
        explanation="It explains.", evidence=("the sea is deep", "not there"), distribution={4.0: 0.75,
        5.0: 0.25}, caught_mass=0.9,
    )  # fmt: skip
    first = Judgment(
        (score, Score("depth", "ok", subject="b", value=2.5, how="reask")),
        choice="b", choice_status="ok", choice_how="lenient", choice_span=(2, 3), choice_confidence=0.61,
        notes={"key_point": "A note."}, flags=("input_missing",),
    )  # fmt: skip
    reply = Reply(
        "k0", "4 B", reasoning="I thought.", logprobs=(TokenLogprob("4", math.log(0.7), tops),),
        model_name="model-7", finish="stop",
        tokens_in=1200, tokens_out=3, seconds=1.5, cost_usd=0.00123,
    )  # fmt: skip
    places = [
        a_place(0, reply=reply, judgment=first),
        a_place(1, "reask", reply=Reply("k1", "2.5")),
        a_place(2, order="ba", error=ReplyError("timeout", "60 s passed")),
        a_place(
            3, "likelihood", order="ba", reply=Reply("k3", "", logprobs=(TokenLogprob("tar", -0.1),
            TokenLogprob("get", -2.0)))
        ),
        a_place(4, order="ba", reply=Reply("k4", "")),
    ]  # fmt: skip
    return item_view(PAIR, places, {}, shown=places[:shown] if shown else None)


def page_of(view: ItemView) -> Page:
    text = '{% import "item_view.html" as item_view %}{{ item_view.fields(view) }}{{ item_view.calls(view) }}'
    return Page(environment().from_string(text).render(view=view))


def test_every_part_of_a_view_is_on_the_page() -> None:
    page = page_of(a_view())
    for text in (
        "Why <b>?", "Because the sea is deep", "Hello.", "acme/polite", "01234567", "fake:x",
        "a shown first", "b shown first",
        "depth", "0.83", "expected", "strict", "lenient", "choice", "0.61", "It explains.",
        "50 % of the evidence found in the response",
        "2 quoted, 1 found in the item", "in response a", "not found", "75 %", "90 % of the probability",
        "70 %", "A note.",
        "key point", "I thought.", "input missing", "model-7", "stop", "1,200 in, 3 out", "1.5 s", "$0.0012",
        "Asked again for the score alone", "2.5", "Prompt 1.", "No reply: timeout.", "60 s passed",
        "the target", "(empty reply)",
        "Prompt 0.", "Prompt 2.",
    ):  # fmt: skip
        assert text in page.text, text
    assert page.marks() == ["the sea is deep", "4", "B"]
    assert page.having("p3")
    assert page.unbalanced == page.open == acting(page) == []


def test_calls_that_are_not_shown_are_counted() -> None:
    page = page_of(a_view(shown=1))
    assert "4 more calls" in page.text
    assert "2.5" in page.text, "without the second reply its score is listed with the first"

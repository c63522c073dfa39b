"""Are the replies of the support desk tactful? Each test asks an LLM judge, or finds its reply in the
store."""

from __future__ import annotations

from pathlib import Path

from support import TEMPLATES, answer

from adjudge.pytest_plugin import Judge

RUBRIC = Path(__file__).parent.parent / "tact.toml"


def test_an_angry_customer_gets_a_tactful_reply(judge: Judge) -> None:
    outcome = judge(
        "prometheus/direct",
        instruction="Third time I ask. Where is my refund?",
        response=answer("refund"),
        rubric=RUBRIC,
    )
    assert outcome.score >= 4


def test_all_templates_are_tactful_on_average(judge: Judge) -> None:
    items = [
        {"id": subject, "instruction": f"A complaint: {subject}.", "response": text}
        for subject, text in TEMPLATES.items()
    ]
    outcomes = judge.many("prometheus/direct", items, rubric=RUBRIC)
    assert not outcomes.failed
    assert outcomes.mean >= 4


def test_the_new_wording_beats_the_old_one(judge: Judge) -> None:
    outcome = judge(
        "prometheus/pairwise",
        instruction="Where is my parcel?",
        response_a="Parcels may be late. See our terms.",
        response_b=answer("late"),
        rubric=RUBRIC,
        id="late-old-or-new",
    )
    assert outcome.choice == "b"

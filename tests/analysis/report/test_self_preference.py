"""Which family a judge and a system belong to, and the caution where it is the same."""

from __future__ import annotations

import pytest

from adjudge.analysis.report.self_preference import family_of, family_of_judge
from adjudge.records import Result
from judged import choice, score
from views import summarise


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("gpt-4o-mini", "OpenAI"), ("GPT4", "OpenAI"), ("chatgpt", "OpenAI"), ("o1-preview", "OpenAI"),
        ("text-davinci-003", "OpenAI"), ("claude-3-opus", "Anthropic"), ("claude2", "Anthropic"),
        ("gemini-1.5-pro", "Google"), ("palm-2", "Google"), ("gemma-2-9b", "Google"),
        ("meta-llama/Llama-3.1-8B", "Meta"),
        ("llama3", "Meta"), ("mixtral-8x7b", "Mistral"), ("Qwen2.5-72B", "Qwen"), ("deepseek-v3", "DeepSeek"),
        ("Yi-34B-Chat", "01.AI"), ("chatglm3-6b", "Zhipu"), ("command-r-plus", "Cohere"), ("grok-2", "xAI"),
        ("phi-3", "Microsoft"), ("SmolLM2-135M", "Hugging Face"),
        ("philosophy", None), ("command-line", None), ("metaphor", None), ("meta-prompt", None),
        ("palmistry", None),
        ("gpt-j-6b", None), ("gpt2", None), ("o2", None), ("yi", None), ("baseline", None), ("clauded", None),
    ],
)  # fmt: skip
def test_a_family_is_known_by_whole_words(name: str, family: str | None) -> None:
    assert family_of(name) == family


def test_a_judges_family_is_that_of_what_it_calls_itself() -> None:
    assert family_of_judge("openai:gpt-4o", []) == "OpenAI"
    assert family_of_judge("openai:my-judge", ["Qwen2.5-7B"]) == "Qwen"
    assert family_of_judge("openai:my-judge", []) is None
    assert family_of_judge("http://gpt.example/v1#llama-3", []) == "Meta"
    assert family_of_judge("local:models/qwen2-1.5b.gguf", []) == "Qwen"
    assert family_of_judge("fake:text=gpt-4", []) is None
    assert family_of_judge("replay:gpt-4.jsonl", []) is None
    assert family_of_judge("replay:replies.jsonl", ["claude-3"]) == "Anthropic"


def test_a_judge_of_its_own_family_is_warned_of() -> None:
    systems = ("gpt-4-turbo", "claude-2")
    for judge, kin in (
        ("openai:gpt-4o", "gpt-4-turbo"),
        ("anthropic:claude-3", "claude-2"),
        ("http://host/v1#qwen2", ""),
    ):
        rows = [
            score(f"{system}-{k}", 1 + k % 5, system, model=judge) for system in systems for k in range(12)
        ]
        assert [name for name in systems if name in self_preference(rows)] == ([kin] if kin else [])


def self_preference(rows: list[Result]) -> str:
    warnings = summarise(rows).warnings
    return " ".join(warning.text for warning in warnings if warning.kind == "self_preference")


def test_pairs_are_looked_at_for_kinship_too() -> None:
    rows = [choice(f"{k}", "a", "gpt-4", "claude-2", model="openai:gpt-4o") for k in range(2)]
    text = self_preference(rows)
    assert "gpt-4" in text
    assert "claude-2" not in text

"""The warning of self-preference: a judge and a system of one model family."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ...words import listed
from .summary import Caution, Summary


def self_preference(summary: Summary) -> Iterator[Caution]:
    """Judges tend to prefer texts of their own family (Panickssery et al. 2024)."""
    pairs = [pair for pairs in summary.pairs.values() for pair in pairs]
    named = [*summary.systems, *(name for pair in pairs for name in (pair.system_a, pair.system_b))]
    systems = {name: family for name in dict.fromkeys(named) if (family := family_of(name))}
    for spec, model in summary.models.items():
        family = family_of_judge(spec, model.names)
        related = [name for name, system_family in systems.items() if system_family == family]
        if related and len(dict.fromkeys(named)) > 1:
            yield Caution(
                "self_preference",
                f"{spec} judges systems of its own model family ({family}): {listed(related)}. "
                "Judges tend to prefer texts of their own family (self-preference bias). Check the "
                "results with a judge of another family or with human labels.",
            )


_FAMILIES = {
    "OpenAI": r"openai|chatgpt|gpt-?\d\w*|gpt-(?:oss|image)|gpt|o[134]|text-davinci|davinci",
    "Anthropic": r"anthropic|claude(?:-?v?\d+)?|claude",
    "Google": r"gemini|gemma-?\d*|palm-?2?|bard|google|text-bison",
    "Meta": r"(?:code)?llama-?\d*|llama",
    "Mistral": r"mistral(?:ai)?|mixtral|ministral|magistral|codestral",
    "Qwen": r"qwen-?\d*|qwq",
    "DeepSeek": r"deepseek",
    "01.AI": r"yi-(?:\d+b|large|lightning|medium|spark|vision)|yi-1-5",
    "Zhipu": r"(?:chat)?glm-?\d*",
    "Cohere": r"cohere|command-(?:r|a|light|nightly|xlarge)|aya",
    "xAI": r"xai|grok-?\d*",
    "Microsoft": r"phi-?\d|wizardlm",
    "Hugging Face": r"smollm-?\d?|zephyr",
    "Moonshot": r"moonshot|kimi",
    "Nvidia": r"nemotron",
    "Amazon": r"amazon-nova|nova-(?:micro|lite|pro|premier)|titan-text",
    "AI21": r"ai21|jamba",
    "Baidu": r"ernie",
    "InternLM": r"internlm-?\d*",
    "Baichuan": r"baichuan-?\d*",
}
"""family → names, as whole words of a name in which all other characters are hyphens"""


_NOT_OPENAI = re.compile(r"gpt-(?:j|neo|neox|2|bigcode)(?![a-z])|gpt2|[a-z]+gpt(?<!chatgpt)")
"""Models that are named after GPT but made by others, or too old to be related."""


_PATTERNS = {
    family: re.compile(rf"(?<![a-z0-9])(?:{names})(?![a-z0-9])") for family, names in _FAMILIES.items()
}


def family_of(name: str) -> str | None:
    """The family that a name belongs to, if any."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower())
    for family, pattern in _PATTERNS.items():
        if pattern.search(plain) and not (family == "OpenAI" and _NOT_OPENAI.search(plain)):
            return family
    return None


def family_of_judge(spec: str, names: Iterable[str]) -> str | None:
    """The family of a judge, by the name it reports or by its spec; a fake or a file of replies has none."""
    for name in names:
        if family := family_of(name):
            return family
    start, _, rest = spec.partition(":")
    if start in ("fake", "replay"):
        return None
    if start in ("http", "https"):
        return family_of(spec.partition("#")[2])
    if start == "local":
        return family_of(rest.rpartition("/")[2]) if rest else "Hugging Face"
    # openai:NAME may be any model on an OpenAI-compatible server.
    return family_of(rest) or ("Anthropic" if start == "anthropic" else None)

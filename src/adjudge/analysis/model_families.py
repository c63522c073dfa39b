"""Which family a model belongs to, by its name: judges tend to favour texts of their own kind.

One small table of patterns on whole words. A name that only contains the letters of another (`philosophy`, `command-line`,
`metaphor`) belongs to none. What is not in the table has no family, and nothing is said of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
"""family → names, as whole words of a name in which all other signs are hyphens"""

_NOT_OPENAI = re.compile(r"gpt-(?:j|neo|neox|2|bigcode)(?![a-z])|gpt2|[a-z]+gpt(?<!chatgpt)")
"""Models that are called after GPT and are others' work, or too old to be anybody's kin."""

_PATTERNS = {
    family: re.compile(rf"(?<![a-z0-9])(?:{names})(?![a-z0-9])") for family, names in _FAMILIES.items()
}


def family_of(name: str) -> str | None:
    """The family that a name tells of; none where it tells of none."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower())
    for family, pattern in _PATTERNS.items():
        if pattern.search(plain) and not (family == "OpenAI" and _NOT_OPENAI.search(plain)):
            return family
    return None


def family_of_judge(spec: str, names: Iterable[str]) -> str | None:
    """The family of a judge: by what it calls itself, else by its spec; a fake has none, nor has a file of replies."""
    for name in names:
        if found := family_of(name):
            return found
    start, _, rest = spec.partition(":")
    if start in ("fake", "replay"):
        return None
    if start in ("http", "https"):
        return family_of(spec.partition("#")[2])
    if start == "local":
        return family_of(rest.rpartition("/")[2]) if rest else "Hugging Face"
    # What is asked as openai:NAME may be any model on a server that speaks as OpenAI does.
    return family_of(rest) or ("Anthropic" if start == "anthropic" else None)

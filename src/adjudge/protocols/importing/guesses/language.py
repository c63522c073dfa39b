"""The languages of a prompt and of the reply that it asks for."""

from __future__ import annotations

import re

from ...asked.format import LOOKED_AT

_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7a3]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("el", re.compile(r"[\u0370-\u03ff]")),
    ("th", re.compile(r"[\u0e00-\u0e7f]")),
)
_REPLY_LANGUAGE = re.compile(
    r"\b(?:in|using) (english|korean|chinese|japanese|german|french|spanish|russian|portuguese|italian)\b"
    r"|用?(中文|英文|韩文|日文)(?:回答|输出|作答)|(한국어|영어)로",
    re.IGNORECASE,
)
_CODES = {
    "english": "en", "korean": "ko", "chinese": "zh", "japanese": "ja", "german": "de", "french": "fr",
    "spanish": "es", "russian": "ru", "portuguese": "pt", "italian": "it", "中文": "zh", "英文": "en",
    "韩文": "ko", "日文": "ja", "한국어": "ko", "영어": "en",
}  # fmt: skip


def guess_languages(text: str) -> tuple[str, str]:
    """The languages of the prompt (by its script; English where it is Latin) and of the reply."""
    text = text[:LOOKED_AT]
    letters = sum(character.isalpha() for character in text) or 1
    prompt = "en"
    for code, script in _SCRIPTS:
        if len(script.findall(text)) / letters > (0.02 if code == "ja" else 0.2):
            prompt = code
            break
    named = _REPLY_LANGUAGE.search(text)
    reply = _CODES[(named[1] or named[2] or named[3]).lower()] if named else prompt
    return prompt, reply

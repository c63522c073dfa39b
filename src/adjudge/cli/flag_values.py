"""The text of a flag as the value that it means: renamed fields, prices, keys, the ends of a scale."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..errors import DataError


def parse_renames(renames: list[str]) -> dict[str, str]:
    """`--map INPUT=FIELD` as a mapping from input to field."""
    mapping: dict[str, str] = {}
    for rename in renames:
        name, sign, field = rename.partition("=")
        if not sign or not name or not field:
            raise DataError(f"--map {rename}: write it as INPUT=FIELD, for example --map response=output.")
        if name in mapping:
            raise DataError(f"--map {rename}: input '{name}' is mapped twice. Keep one.")
        mapping[name] = field
    return mapping


def parse_steps(text: str) -> str | tuple[str, ...]:
    from ..engine.judges import read_steps

    return read_steps(text)


def _parse_prices(texts: list[str]) -> tuple[float, float] | dict[str, tuple[float, float]]:
    named = _by_model(texts, "--price", "IN,OUT")
    prices = {}
    for name, text in named.items():
        try:
            tokens_in, tokens_out = (float(part) for part in text.split(","))
        except ValueError:
            raise DataError(
                f"--price {text}: write it as IN,OUT in USD per million tokens, for example --price "
                "0.10,0.50."
            ) from None
        prices[name] = (tokens_in, tokens_out)
    return prices[""] if list(prices) == [""] else prices


def parse_key_env(texts: list[str]) -> str | dict[str, str]:
    """`--key-env VAR`, or MODEL=VAR for each of several models."""
    named = _by_model(texts, "--key-env", "VAR")
    return named[""] if list(named) == [""] else named


def _by_model(texts: list[str], flag: str, form: str) -> dict[str, str]:
    """model → value, of flags as MODEL=VALUE; the only value may stand without a model, under the name ""."""
    named: dict[str, str] = {}
    for text in texts:
        name, sign, value = text.rpartition("=")
        if not value or (sign and not name) or (not sign and len(texts) > 1):
            raise DataError(f"{flag} {text}: write it as MODEL={form}, once for each model.")
        if name in named:
            raise DataError(f"{flag} {text}: {name} is there twice. Keep one.")
        named[name] = value
    return named


def _parse_criteria(texts: list[str]) -> str | list[str]:
    return texts[0] if len(texts) == 1 else texts


PARSERS: dict[str, Callable[[Any], Any]] = {
    "steps": parse_steps,
    "map": parse_renames,
    "price": _parse_prices,
    "key_env": parse_key_env,
    "criterion": _parse_criteria,
    "rubric": _parse_criteria,
}
"""How to turn the text of a flag into the value of the option, where it is not a plain type."""


def parse_ends(text: str | None, flag: str) -> tuple[float, float] | None:
    """The lowest and the highest value of a scale."""
    if text is None:
        return None
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DataError(f"{flag} {text}: give the lowest and the highest value, such as {flag} 1,5.")
    return low, high


def parse_scale(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DataError(f"--scale {text}: give the lowest and the highest score: --scale 1,5.")
    return low, high

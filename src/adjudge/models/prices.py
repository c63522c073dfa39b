"""The price of a model: USD for a million tokens, given by the user or published by its provider
(`prices.toml`)."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources

import msgspec
from msgspec import Struct

Price = tuple[float, float]
"""USD for a million tokens in and a million tokens out."""


BATCH_PRICE = 0.5
"""The price of a call in a batch as a share of the price of a single call; the same with every provider."""


class _PriceList(Struct, frozen=True, forbid_unknown_fields=True):
    date: str
    usd_per_million: dict[str, Price]


@cache
def _price_lists() -> dict[str, _PriceList]:
    text = resources.files(__package__).joinpath("prices.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, _PriceList])


_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8}|\d{4})$|-latest$")


def without_date(name: str) -> str:
    """The name of a model without the date of its version."""
    return _DATED.sub("", name)


def list_price(provider: str, name: str) -> tuple[Price, str] | None:
    """The provider's published price of a model and the date on which it was read; a dated version has its
    price."""
    prices = _price_lists().get(provider)
    if prices is None:
        return None
    price = prices.usd_per_million.get(name) or prices.usd_per_million.get(without_date(name))
    return None if price is None else (price, prices.date)

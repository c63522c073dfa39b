"""When a model ends: the date that its provider announces, in its list of models or on a page."""

from __future__ import annotations

import datetime
import json
import tomllib
from functools import cache
from importlib import resources
from urllib.parse import quote

import msgspec
from msgspec import Struct

from .http_errors import Fault
from .prices import without_date
from .remote import RemoteModel

_SECONDS = 5.0
"""A list of models that does not answer by then is not waited for."""


class Ending(Struct, frozen=True):
    """The last day of a model, and the page that announces it."""

    date: str
    page: str

    def days_left(self, today: datetime.date | None = None) -> int:
        """Days from today until the model ends; negative where it has ended."""
        return (datetime.date.fromisoformat(self.date) - (today or _today())).days

    def text(self, model: str, today: datetime.date | None = None) -> str:
        """What a user has to know, in one sentence."""
        days = self.days_left(today)
        if days < 0:
            when = f"has ended on {self.date}"
        else:
            when = f"ends in {days} day{'' if days == 1 else 's'}, on {self.date}"
        return f"The judge {model} {when} ({self.page}). Show that another one agrees with people as it does."


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


class _Ends(Struct, frozen=True, forbid_unknown_fields=True):
    page: str
    read: str
    ends: dict[str, str]


@cache
def _published() -> dict[str, _Ends]:
    text = resources.files(__package__).joinpath("retirement.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, _Ends])


def ending_models(provider: str) -> dict[str, Ending]:
    """Model → its end, as the provider's page says."""
    published = _published().get(provider)
    return (
        {}
        if published is None
        else {name: Ending(day, published.page) for name, day in published.ends.items()}
    )


def published_end(provider: str, name: str) -> Ending | None:
    """The end that a provider has announced of a model; a dated version ends with its model."""
    ends = ending_models(provider)
    return ends.get(name) or ends.get(without_date(name))


async def end_of(model: RemoteModel, name: str) -> Ending | None:
    """The end of a model by what its provider says of it, alone or in its list; none where neither does."""
    for path in (f"/models/{quote(name, safe='')}", "/models"):
        response = await model.send("GET", f"{model.endpoint}{path}", seconds=_SECONDS)
        if isinstance(response, Fault):
            if not response.status:
                return None
        elif day := _last_day(response.body, name):
            return Ending(day, _published()["openai"].page)
    return None


def _last_day(body: bytes, name: str) -> str | None:
    """The day in a model's entry, or in that of a list: a date, a time, or seconds since 1970."""
    try:
        entry = json.loads(body)
        listed = entry.get("data")
        if isinstance(listed, list):
            entry = next((one for one in listed if isinstance(one, dict) and one.get("id") == name), {})
        day = entry.get("shutdown_date")
        if isinstance(day, int | float):
            return datetime.datetime.fromtimestamp(day, datetime.UTC).date().isoformat() if day > 0 else None
        return datetime.date.fromisoformat(day[:10]).isoformat()
    except (ValueError, TypeError, AttributeError, OverflowError, OSError, RecursionError):
        return None

"""The pipe between a run and the process that asks Ray."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from adjudge.models import Parameters
from adjudge.models.local.ray_process import TO_RAY, NumberedCall, frame, read_frame
from adjudge.records import Call
from local_judge import call


def test_a_call_comes_through_the_pipe_unchanged() -> None:
    sent = NumberedCall(3, call("A text.", "response", key="k3"), Parameters())

    async def through() -> list[Any]:
        reader = asyncio.StreamReader()
        reader.feed_data(frame(sent) + frame(sent)[:-1])
        reader.feed_eof()
        return [await read_frame(reader, TO_RAY), await read_frame(reader, TO_RAY)]

    got, cut_off = asyncio.run(through())
    assert (got.number, got.call, got.params) == (3, sent.call, sent.params)
    assert cut_off is None


def test_a_call_goes_through_the_pipe_without_functions() -> None:
    params = Parameters(is_cut_off=lambda _reply: True)
    with pytest.raises(Exception, match="unsupported"):
        frame(NumberedCall(1, Call("k", "i", "p", (), "m", ()), params))
    assert frame(
        NumberedCall(1, Call("k", "i", "p", (), "m", ()), msgspec.structs.replace(params, is_cut_off=None))
    )

"""What makes a call a cache hit: its key, a hash of all that the reply depends on, and the stored reply to
it.

An unchanged call finds its stored reply; a changed one never does."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from ..models import Model, Parameters
from ..records import Call, Message, Reply
from ..store import Store


def with_key(call: Call, model: Model, params: Parameters) -> Call:
    """The call with its key: a hash of all that the reply depends on."""
    sent: tuple[Any, ...] = (
        params.temperature, params.max_tokens, params.top_logprobs, params.schema, params.seed,
    )  # fmt: skip
    if params.reasoning_effort is not None or params.thinking_tokens is not None:
        # Only where they are set, so that replies from before these parameters existed are found.
        sent = (*sent, params.reasoning_effort, params.thinking_tokens)
    is_held = model.is_local and not model.needs_network and call.kind != "steps"
    if params.form is not None and is_held:
        # Only models in the process are held to a form; it follows from the protocol, not the prompt alone.
        sent = (*sent, params.form)
    parts: tuple[Any, ...] = (
        model.identity,
        sent,
        _identified(call.messages),
        call.target,
        call.kind,
        call.sample,
    )
    if model.is_recorded:
        # A recorded reply is looked up by its item, not by the prompt.
        parts = (*parts, call.item, call.criteria, call.order)
        if call.step:
            parts = (*parts, call.step, call.element)
        if call.line is not None:
            parts = (*parts, call.line)
    key = hashlib.blake2b(msgspec.json.encode(parts), digest_size=20).hexdigest()
    return msgspec.structs.replace(call, key=key)


def with_more_room(call: Call) -> Call:
    """The call that asks once more, with a larger token limit, what a stored reply did not finish answering.

    It has another key, so that the shorter reply stays with the runs that have it.
    """
    key = hashlib.blake2b(f"{call.key} more room".encode(), digest_size=20).hexdigest()
    return msgspec.structs.replace(call, key=key)


def _identified(messages: tuple[Message, ...]) -> Any:
    """Messages as a key covers them: an image by its hash, so
    that a prompt without images has the key it always had.
    """
    if not any(message.images for message in messages):
        return messages
    return [
        {
            "role": message.role,
            "content": message.content,
            "images": [(image.media_type, image.sha256) for image in message.images],
        }
        for message in messages
    ]


async def stored_reply(store: Store, call: Call) -> Reply | None:
    """The reply to a call that is stored, now or after waiting; none where the call is now ours to make."""
    while True:
        claim = await store.claim([call])
        if claim.mine:
            return None
        if claim.elsewhere:
            await store.wait(claim.elsewhere)
        elif (reply := store.reply_for(claim.answered).get(call.key)) is not None:
            return reply

"""Images inside messages: from base64 or an address, checked and bounded."""

from __future__ import annotations

import base64
import binascii
import hashlib

from ..records import Image
from ..untrusted import has_control, safe
from .encoding import BadRowError
from .json_rows import Row

IMAGE_LIMIT = 5_000_000
"""Bytes of one image: the smallest limit of the providers that take images."""


ADDRESS_LIMIT = 2_000


_MARKS = {
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
"""Media type → how such a file begins. Providers take these four."""


def image_of(where: str, part: Row) -> Image:
    """An image: a data URL, an https address, or Anthropic's source."""
    source = part.get("source")
    if isinstance(source, dict):
        if source.get("type") == "base64":
            return _from_base64(where, str(source.get("media_type", "")), source.get("data"))
        return _from_address(where, source.get("url"))
    if "sha256" in part:
        raise BadRowError(
            f"{where} has an image that is known by its hash alone: a store keeps no image data. "
            "Give the file that the items came from."
        )
    url = part.get("image_url", part.get("url", part.get("image")))
    return _from_address(where, url.get("url") if isinstance(url, dict) else url)


def _from_address(where: str, url: object) -> Image:
    if isinstance(url, str) and url[:5].lower() == "data:":
        header, _, data = url[5:].partition(",")
        media_type, _, coding = header.partition(";")
        if coding.rpartition(";")[2].strip().lower() != "base64":
            raise BadRowError(f"{where} has an image whose data URL is not base64. Write it as base64.")
        return _from_base64(where, media_type, data)
    if not isinstance(url, str) or not url.lower().startswith("https://"):
        raise BadRowError(
            f"{where} has an image without data. Give a data URL (data:image/png;base64,…) or an https"
            " address."
        )
    if len(url) > ADDRESS_LIMIT or has_control(url) or any(mark.isspace() for mark in url):
        raise BadRowError(
            f"{where} has an image with an address that cannot be used. Give a plain https address."
        )
    return Image("", hashlib.sha256(url.encode()).hexdigest(), address=url)


def _from_base64(where: str, media_type: str, data: object) -> Image:
    media_type = media_type.strip().lower().replace("image/jpg", "image/jpeg")
    if media_type not in _MARKS:
        raise BadRowError(
            f"{where} has an image of type '{safe(media_type[:40])}'. Judges take {', '.join(_MARKS)}:"
            " convert it."
        )
    if not isinstance(data, str) or not data:
        raise BadRowError(f"{where} has an image without data. Give the image in base64.")
    if len(data) > IMAGE_LIMIT * 2:
        raise _too_large(where, len(data) * 3 // 4)
    try:
        raw = base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError):
        raise BadRowError(f"{where} has an image that is not valid base64. Encode it again.") from None
    if len(raw) > IMAGE_LIMIT:
        raise _too_large(where, len(raw))
    if not raw.startswith(_MARKS[media_type]):
        raise BadRowError(
            f"{where} has an image whose data does not begin like {media_type}. Give the right type, or the"
            " right data."
        )
    clean = base64.b64encode(raw).decode()
    return Image(media_type, hashlib.sha256(raw).hexdigest(), len(raw), data=clean)


def _too_large(where: str, size: int) -> BadRowError:
    return BadRowError(
        f"{where} has an image of {size / 1e6:.1f} MB; the limit is {IMAGE_LIMIT // 1_000_000} MB. Make it"
        " smaller."
    )

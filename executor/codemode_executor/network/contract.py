"""A request to the network, its response, and who answers it. Bounded where they are built, by whomever."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, cast

import ada_url
import msgspec

from ..errors import BadRequest

#: Longest URL; characters.
MAX_URL = 32 * 1024
#: Most headers of a request or a response.
MAX_HEADERS = 256
#: Names and values of all headers together; characters.
MAX_HEADER_CHARACTERS = 128 * 1024
#: Longest body that is carried at all; bytes. Whoever serves requests bounds them lower.
MAX_BODY = 512 * 1024 * 1024

#: ``follow``: the response is the one at the end of the redirects. ``manual``: a redirect is the response. ``error``: a
#: redirect is a failure.
RedirectMode = Literal["follow", "error", "manual"]

#: A name and a value, both as fetch has them: every character is one byte.
Header = tuple[str, str]

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_NEVER_SENT = ("CONNECT", "TRACE", "TRACK")
#: Statuses of responses without a body.
NULL_BODY = (204, 205, 304)


class OutboundRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a program asks of the network.

    Attributes:
        method: as it is sent, ``GET`` for example.
        url: absolute URL, as the URL standard writes it.
        headers: name and value of each, in their order, not yet filtered.
        body: what is sent; ``None`` for no body, which is not the same as an empty one.
        redirect: what becomes of a redirect.

    Raises:
        BadRequest: a part is of the wrong type, beyond its bound, or cannot be sent.

    Mirrors the parts of a fetch ``Request`` that a Fetcher sees.
    """

    method: str = "GET"
    url: str
    headers: Sequence[Header] = ()
    body: bytes | None = None
    redirect: RedirectMode = "follow"

    def __post_init__(self) -> None:
        method = cast(object, self.method)
        if not isinstance(method, str) or len(method) > 32 or not _TOKEN.fullmatch(method):
            raise BadRequest(f"method must be a token of at most 32 characters, not {_shown(method)}")
        if method.upper() in _NEVER_SENT:
            raise BadRequest(f"the method {method} is never sent")
        body = _body(self.body)
        if body is not None and method in ("GET", "HEAD"):
            raise BadRequest(f"a {method} request has no body; it was given {len(body)} bytes")
        redirect = cast(object, self.redirect)
        if redirect not in ("follow", "error", "manual"):
            raise BadRequest(f"redirect must be 'follow', 'error' or 'manual', not {_shown(redirect)}")
        msgspec.structs.force_setattr(self, "url", _url(self.url))
        msgspec.structs.force_setattr(self, "headers", _headers(self.headers))
        msgspec.structs.force_setattr(self, "body", body)

    def header(self, name: str) -> str | None:
        """The values of a header, joined by a comma and a space; ``None`` if there is none."""
        return _joined(self.headers, name)


class OutboundResponse(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the network, or the host in its place, answers.

    Attributes:
        status: 200 to 599.
        status_text: the reason; may be empty.
        headers: name and value of each, in their order.
        body: after decompression.
        url: where the response is from, after redirects; empty for the request's own URL.
        redirected: it is the response of a redirect.

    Raises:
        BadRequest: a part is of the wrong type, beyond its bound, or cannot be a response.

    Mirrors the parts of a fetch ``Response``.
    """

    status: int = 200
    status_text: str = ""
    headers: Sequence[Header] = ()
    body: bytes = b""
    url: str = ""
    redirected: bool = False

    def __post_init__(self) -> None:
        status = cast(object, self.status)
        if isinstance(status, bool) or not isinstance(status, int) or not 200 <= status <= 599:
            raise BadRequest(f"status must be a whole number from 200 to 599, not {_shown(status)}")
        text = cast(object, self.status_text)
        if not isinstance(text, str) or len(text) > 1024 or not _VALUE.fullmatch(text):
            raise BadRequest(
                f"status_text must be at most 1024 characters without controls, each one byte, not {_shown(text)}"
            )
        body = _body(self.body)
        if body is None:
            raise BadRequest("body must be bytes, not None; a response without one has b''")
        if body and status in NULL_BODY:
            raise BadRequest(f"a response of status {status} has no body; it was given {len(body)} bytes")
        if not isinstance(cast(object, self.redirected), bool):
            raise BadRequest(f"redirected must be a bool, not {_shown(self.redirected)}")
        msgspec.structs.force_setattr(self, "url", _url(self.url) if cast(object, self.url) != "" else "")
        msgspec.structs.force_setattr(self, "headers", _headers(self.headers))
        msgspec.structs.force_setattr(self, "body", body)

    def header(self, name: str) -> str | None:
        """The values of a header, joined by a comma and a space; ``None`` if there is none."""
        return _joined(self.headers, name)


#: Answers a program's request. What it raises, the program sees as a failed ``fetch`` with that text.
OutboundHandler = Callable[[OutboundRequest], Awaitable[OutboundResponse]]


def _url(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise BadRequest(f"url must be a non-empty string, not {_shown(value)}")
    if len(value) > MAX_URL:
        raise BadRequest(f"url is {len(value)} characters long; the limit is {MAX_URL}")
    try:
        href: str = ada_url.URL(value).href
    except (ValueError, UnicodeError) as error:
        raise BadRequest(f"url is not an absolute URL: {_shown(value)}") from error
    if len(href) > MAX_URL:
        raise BadRequest(f"url is {len(href)} characters long when it is percent-encoded; the limit is {MAX_URL}")
    return href


def _headers(value: object) -> tuple[Header, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        raise BadRequest(f"headers must be a sequence of (name, value) pairs, not {type(value).__name__}")
    entries = cast("Sequence[object]", value)
    if len(entries) > MAX_HEADERS:
        raise BadRequest(f"there are {len(entries)} headers; the limit is {MAX_HEADERS}")
    checked: list[Header] = []
    size = 0
    for entry in entries:
        if not isinstance(entry, (tuple, list)) or len(cast("Sequence[object]", entry)) != 2:
            raise BadRequest(f"headers must be (name, value) pairs; one of them is {_shown(cast(object, entry))}")
        name, text = cast("tuple[object, object]", entry)
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise BadRequest(f"a header's name must be a token, not {_shown(name)}")
        if not isinstance(text, str) or not _VALUE.fullmatch(text):
            raise BadRequest(
                f"the value of the header {_shown(name)} must be a string without control characters"
                f" in which each character is one byte, not {_shown(text)}"
            )
        checked.append((name, text.strip("\t ")))
        size += len(name) + len(text)
    if size > MAX_HEADER_CHARACTERS:
        raise BadRequest(f"the headers are {size} characters long; the limit is {MAX_HEADER_CHARACTERS}")
    return tuple(checked)


def _body(value: object) -> bytes | None:
    if value is None:
        return None
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise BadRequest(f"body must be bytes, not {type(value).__name__}")
    body = bytes(cast("bytes", value))
    if len(body) > MAX_BODY:
        raise BadRequest(f"body is {len(body)} bytes long; the limit is {MAX_BODY}")
    return body


def _joined(headers: Sequence[Header], name: str) -> str | None:
    lower = name.lower()
    values = [value for other, value in headers if other.lower() == lower]
    return ", ".join(values) if values else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:120]}…"

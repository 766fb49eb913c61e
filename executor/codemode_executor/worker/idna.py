"""Names of hosts that take a table of Unicode, answered by the library that upstream's runtime parses its URLs with."""

from __future__ import annotations

from typing import Any

import ada_url

from .host_calls import GuestError, Operation

#: Characters of a name. No name in use comes near it; what a name costs grows with the square of its length.
MAX_LENGTH = 4096


def url_host(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The host of a special URL as it is serialized, or ``None`` where ``host`` is none."""
    try:
        return ada_url.URL(f"ws://{_name(params)}/").hostname, b""
    except ValueError:
        return None, b""


def idna_to_unicode(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """The host of a URL as it is shown to people."""
    return ada_url.idna_to_unicode(_name(params).encode()), b""


def _name(params: dict[str, Any]) -> str:
    name = params.get("host")
    if not isinstance(name, str) or len(name) > MAX_LENGTH:
        raise GuestError("RangeError", f"the name of a host has at most {MAX_LENGTH} characters")
    return name


OPERATIONS: dict[str, Operation] = {"url_host": url_host, "idna_to_unicode": idna_to_unicode}

"""A list of origins that programs may reach, and how much of them."""

from __future__ import annotations

import importlib.util
import math
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from ..errors import BadRequest
from .addresses import Network, parse_networks
from .contract import MAX_BODY
from .dialing import Resolver
from .headers import parse_allowed
from .origins import OriginPattern
from .redirects import MAX_REDIRECTS

if TYPE_CHECKING:
    from .session import Session

_MIB = 1024 * 1024
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_MAX_ORIGINS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowList:
    """What programs may reach. Everything else is refused.

    Attributes:
        origins: ``scheme://host`` or ``scheme://host:port``. ``*`` stands for one label of the host's name, ``**`` as
            its first label for one or more. Scheme and port are exact; a wildcard never stands for an address.
        methods: that may be used.
        allow_headers: names that are sent although they say who asks, ``authorization`` for example. Headers of the
            connection (``host``, ``content-length``, ``transfer-encoding`` and such) are never the program's.
        allow_private: addresses and networks that may be connected to although they are not public. Every origin of
            the list may lead there, so name as little as possible.
        max_request_bytes: body of one request.
        max_response_bytes: one response, as it comes in and as it is decoded.
        max_requests: requests of a run in all; each hop of a redirect is one.
        max_in_flight: requests of a run at the same time; further ones wait.
        max_total_bytes: all that a run sends and receives, and besides what compressed bodies are decoded to.
        max_redirects: hops of one request.
        timeout_s: one request from its start to the end of its response, redirects included. Seconds.
        user_agent: sent where a program names none; empty for none.
        resolver: looks names up, ``(host, port)`` to texts of addresses; ``None`` for the system's. What it answers is
            judged like any answer.
        ssl_context: for ``https`` origins; ``None`` for the system's certificates.

    Raises:
        BadRequest: a rule cannot be used, or the extra ``http`` is not installed.
    """

    origins: Sequence[str]
    methods: Sequence[str] = _METHODS
    allow_headers: Sequence[str] = ()
    allow_private: Sequence[str] = ()
    max_request_bytes: int = 32 * _MIB
    max_response_bytes: int = 32 * _MIB
    max_requests: int = 1_000
    max_in_flight: int = 32
    max_total_bytes: int = 256 * _MIB
    max_redirects: int = MAX_REDIRECTS
    timeout_s: float = 30.0
    user_agent: str = "codemode-executor"
    resolver: Resolver | None = None
    ssl_context: ssl.SSLContext | None = None
    #: ``origins``, ``allow_private`` and ``allow_headers``, read.
    patterns: tuple[OriginPattern, ...] = field(init=False, repr=False, compare=False)
    networks: tuple[Network, ...] = field(init=False, repr=False, compare=False)
    header_names: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "patterns", _patterns(self.origins))
        object.__setattr__(self, "networks", parse_networks(self.allow_private))
        object.__setattr__(self, "header_names", parse_allowed(self.allow_headers))
        methods = cast(object, self.methods)
        if isinstance(methods, str) or not isinstance(methods, Sequence) or not methods:
            raise BadRequest(f"AllowList.methods must be a list of methods, not {methods!r}")
        for method in cast("Sequence[object]", methods):
            if method not in _METHODS:
                raise BadRequest(f"AllowList.methods holds {method!r}; it may hold {', '.join(_METHODS)}")
        _count("max_request_bytes", self.max_request_bytes, 0, MAX_BODY)
        _count("max_response_bytes", self.max_response_bytes, 1, MAX_BODY)
        _count("max_requests", self.max_requests, 1, 100_000_000)
        _count("max_in_flight", self.max_in_flight, 1, 10_000)
        _count("max_total_bytes", self.max_total_bytes, 1, 2**50)
        _count("max_redirects", self.max_redirects, 0, 1_000)
        timeout_s = cast(object, self.timeout_s)
        if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)):
            raise BadRequest(f"AllowList.timeout_s must be a number of seconds, not {timeout_s!r}")
        if not 0 < timeout_s <= 86_400 or not math.isfinite(timeout_s):
            raise BadRequest(f"AllowList.timeout_s must be greater than 0 and at most 86400 seconds, not {timeout_s!r}")
        agent = cast(object, self.user_agent)
        if not isinstance(agent, str) or not agent.isascii() or (agent and not agent.isprintable()) or len(agent) > 256:
            raise BadRequest(f"AllowList.user_agent must be at most 256 printable ASCII characters, not {agent!r}")
        if self.resolver is not None and not callable(self.resolver):
            raise BadRequest(f"AllowList.resolver must be a coroutine function, not {self.resolver!r}")
        context = cast(object, self.ssl_context)
        if context is not None and not isinstance(context, ssl.SSLContext):
            raise BadRequest(f"AllowList.ssl_context must be an ssl.SSLContext, not {context!r}")
        if importlib.util.find_spec("h11") is None:
            raise BadRequest(
                "AllowList makes its requests with the package h11, which is not installed:"
                " install codemode-executor[http], or give a handler of your own"
            )

    def session(self) -> Session:
        """What answers the requests of one run, under this list and counters of its own. Close it with the run."""
        from .session import Session

        return Session(self)


def _patterns(origins: object) -> tuple[OriginPattern, ...]:
    if isinstance(origins, str) or not isinstance(origins, Sequence):
        raise BadRequest(f"AllowList.origins must be a list of origins, not {origins!r}")
    entries = cast("Sequence[object]", origins)
    if not 0 < len(entries) <= _MAX_ORIGINS:
        raise BadRequest(f"AllowList.origins holds {len(entries)} origins; it must hold 1 to {_MAX_ORIGINS}")
    return tuple(OriginPattern.parse(entry) for entry in entries)


def _count(name: str, value: object, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise BadRequest(f"AllowList.{name} must be a whole number from {low} to {high}, not {value!r}")

"""Why a request to the network did not get its response.

::

    OutboundError            code
    ├── OutboundRefused      OUTBOUND_REFUSED   a rule or a bound of the host forbids it
    ├── OutboundFailed       OUTBOUND_FAILED    the network, the other end, or the host's handler failed
    └── OutboundTimeout      OUTBOUND_TIMEOUT   it took longer than it may

The text of each is what the program reads. It names the rule, the limit and the value that broke it, and what to
change, but nothing that the program could not know: no resolved address and nothing of the host. What the host should
know besides is in the log ``codemode_executor.network``.
"""

from __future__ import annotations

from typing import ClassVar, Literal

#: The rule that refused a request.
Rule = Literal[
    "url",
    "scheme",
    "userinfo",
    "origin",
    "method",
    "address",
    "redirect",
    "headers",
    "request_bytes",
    "response_bytes",
    "requests",
    "total_bytes",
]

#: The part that failed.
Part = Literal["lookup", "connect", "tls", "protocol", "decoding", "redirect", "handler"]


class OutboundError(Exception):
    """Base of what a request to the network can end in. ``fetch`` rejects with a TypeError of this text.

    Attributes:
        code: stable upper-case identifier.
        note: for the host's log only; empty if there is nothing to add.
    """

    code: ClassVar[str] = "OUTBOUND_ERROR"
    note: str = ""


class OutboundRefused(OutboundError):
    """A rule or a bound of the host forbids the request or its response.

    Attributes:
        rule: which.
    """

    code = "OUTBOUND_REFUSED"

    def __init__(self, rule: Rule, message: str, note: str = "") -> None:
        super().__init__(message)
        self.rule: Rule = rule
        self.note = note

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.rule, str(self), self.note)


class OutboundFailed(OutboundError):
    """The network, the other end, or the host's handler failed.

    Attributes:
        part: which.
    """

    code = "OUTBOUND_FAILED"

    def __init__(self, part: Part, message: str, note: str = "") -> None:
        super().__init__(message)
        self.part: Part = part
        self.note = note

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.part, str(self), self.note)


class OutboundTimeout(OutboundError):
    """The request took longer than it may.

    Attributes:
        limit_s: how long that is; seconds.
    """

    code = "OUTBOUND_TIMEOUT"

    def __init__(self, message: str, limit_s: float) -> None:
        super().__init__(message)
        self.limit_s = limit_s

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.limit_s)

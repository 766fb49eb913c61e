"""Requests of programs to the network: what they are, who answers them, and a list that does so safely.

Nothing here touches a worker: requests are made by the host's process.
"""

from .contract import Header, OutboundHandler, OutboundRequest, OutboundResponse, RedirectMode
from .dialing import Resolver
from .errors import OutboundError, OutboundFailed, OutboundRefused, OutboundTimeout
from .policy import AllowList
from .redirects import follow
from .serving import serve

__all__ = [
    "AllowList",
    "Header",
    "OutboundError",
    "OutboundFailed",
    "OutboundHandler",
    "OutboundRefused",
    "OutboundRequest",
    "OutboundResponse",
    "OutboundTimeout",
    "RedirectMode",
    "Resolver",
    "follow",
    "serve",
]

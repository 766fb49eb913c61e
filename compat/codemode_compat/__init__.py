"""Upstream's names on our engine, for hosts that know ``@cloudflare/codemode``.

The package is empty for now: it is distributed so that its name and its typing are settled
before the compatibility layer is written.
"""

__all__: list[str] = []

"""What all connections of a daemon share: the engine, who may run how much, which runs have runs of their own."""

from __future__ import annotations

import contextvars
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..engine import Engine
from ..limits import MIB, Limits
from .accounts import Account
from .errors import Busy, Draining


@dataclass
class Parent:
    """A run that goes on, as runs that its tools start see it.

    Attributes:
        account: whose it is.
        depth: how deeply it is nested itself.
        context: in which its tool calls are served: the engine finds its depth there. ``None`` before the first.
    """

    account: Account
    depth: int
    context: contextvars.Context | None = None


@dataclass
class Service:
    """Attributes:
    engine: runs programs.
    limits: the widest bounds of a run.
    retained_idle_s: how long a retained run lives without a call.
    runs_per_token: runs of one token at the same time, for each depth of nesting.
    bytes_per_token: what may wait at the same time of one token's runs, and for its clients.
    log_programs: program texts and error messages go into the log.
    draining: no further run is taken.
    """

    engine: Engine
    limits: Limits
    retained_idle_s: float
    runs_per_token: int
    bytes_per_token: int = 256 * MIB
    log_programs: bool = False
    draining: bool = False
    _parents: dict[str, Parent] = field(default_factory=dict[str, Parent])

    @contextmanager
    def admitted(self, account: Account, depth: int) -> Generator[None]:
        """A run of ``account`` goes on.

        Raises:
            Draining: no run is taken any more.
            Busy: too many go on.
        """
        if self.draining:
            raise Draining
        if account.runs[depth] >= self.runs_per_token:
            raise Busy(
                f"this token has {account.runs[depth]} runs going on, which is the limit (runs_per_token): wait for one"
                " of them to end"
            )
        if account.unsent > self.bytes_per_token:
            raise Busy(
                f"the clients of this token have not read {account.unsent} bytes of what they asked for; the limit is"
                f" {self.bytes_per_token} (max_buffered_bytes): read them"
            )
        account.runs[depth] += 1
        try:
            yield
        finally:
            account.runs[depth] -= 1

    def queue(self, account: Account, size: int) -> None:
        """A run of ``size`` bytes waits for a worker. Whoever calls this takes them from ``account.queued`` again.

        Raises:
            Busy: runs that hold too much wait already.
        """
        if account.queued and account.queued + size > self.bytes_per_token:
            raise Busy(
                f"this token has runs of {account.queued} bytes waiting for a worker, and this one has {size}; the"
                f" limit is {self.bytes_per_token} (max_buffered_bytes): wait for one of them to begin"
            )
        account.queued += size

    @contextmanager
    def known_as_parent(self, parent: Parent) -> Generator[str]:
        """The token under which runs may name ``parent``, for as long as it goes on."""
        token = secrets.token_urlsafe(18)
        self._parents[token] = parent
        try:
            yield token
        finally:
            del self._parents[token]

    def parent(self, token: str, account: Account) -> Parent | None:
        """The run that ``token`` names.

        ``None`` if it does not go on, is another's, or has called no tool: a run that names it is admitted like any
        other, for nothing waits for it.
        """
        parent = self._parents.get(token)
        return parent if parent is not None and parent.account is account and parent.context is not None else None

"""What all connections of a daemon share: the engine, who may run how much, which runs have runs of their own."""

from __future__ import annotations

import contextvars
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ..engine import Engine
from ..limits import Limits
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
    log_programs: program texts and error messages go into the log.
    draining: no further run is taken.
    """

    engine: Engine
    limits: Limits
    retained_idle_s: float
    runs_per_token: int
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
            raise Busy(account.runs[depth])
        account.runs[depth] += 1
        try:
            yield
        finally:
            account.runs[depth] -= 1

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

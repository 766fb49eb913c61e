"""The lines that a run has logged. The harness keeps their bounds; here they are kept again."""

from __future__ import annotations

import contextvars
import logging

from .contract import LogLine
from .limits import Limits
from .process import ProtocolError
from .request import OnLog
from .wire import messages as wire

_NOTICE = wire.LEVELS.index("notice")
_NOTICE_BYTES = 1024

_log = logging.getLogger("codemode_executor")


class RunLogs:
    """Args:
    limits: of the run.
    on_log: called with every line as it arrives, in a copy of ``context``.
    context: the caller's.
    """

    def __init__(self, limits: Limits, on_log: OnLog | None, context: contextvars.Context) -> None:
        self.lines: list[LogLine] = []
        self.bytes = 0
        self.count = 0  # of the program's own lines
        self._limits = limits
        self._on_log = on_log
        self._context = context
        self._dropped = False

    def take(self, lines: list[tuple[int, str]]) -> None:
        """Lines have arrived, each ``(level, text)``.

        Raises:
            ProtocolError: one has no level of ``wire.LEVELS``.
        """
        for level, text in lines:
            if not 0 <= level < len(wire.LEVELS):
                raise ProtocolError(f"a log line of the unknown level {level}")
            if not self._dropped:
                self._take(level, text, len(text.encode()))

    def close(self) -> None:
        """The run is over: nobody is told of a line any more."""
        self._on_log = None

    def _take(self, level: int, text: str, size: int) -> None:
        limits = self._limits
        if level == _NOTICE and size <= _NOTICE_BYTES:
            self._dropped = True  # the harness says that it drops the rest
        elif self.count >= limits.log_lines or self.bytes + size > limits.log_bytes:
            self._dropped = True
            level = _NOTICE
            text = (
                f"Further log output was dropped: the limit is {limits.log_lines} lines and {limits.log_bytes} bytes"
                " (Limits.log_lines, Limits.log_bytes)"
            )
        else:
            self.count += 1
            self.bytes += size
        self._keep(LogLine(wire.LEVELS[level], text))

    def _keep(self, line: LogLine) -> None:
        self.lines.append(line)
        if self._on_log is None:
            return
        try:
            self._context.copy().run(self._on_log, line)
        except KeyboardInterrupt:
            raise
        except BaseException:
            _log.exception("on_log raised; the run goes on")

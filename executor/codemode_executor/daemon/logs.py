"""The daemon's log: one JSON object a line, on standard error. No program text and no value, unless asked for."""

from __future__ import annotations

import datetime
import logging

import msgspec

_FIELDS = "codemode_fields"


def record(log: logging.Logger, event: str, **fields: object) -> None:
    """Log ``event`` with its fields."""
    if log.isEnabledFor(logging.INFO):
        # Not `log.info`, which looks through the stack for a line of code that no line of the log shows.
        made = logging.LogRecord(log.name, logging.INFO, "", 0, event, None, None)
        setattr(made, _FIELDS, fields)
        log.handle(made)


class JsonLines(logging.Formatter):
    """A record as a line: ``time``, ``level``, ``logger``, ``event``, and its fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= getattr(record, _FIELDS, {})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=repr).decode("utf-8", "replace")

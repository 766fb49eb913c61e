"""Tokens, and what each of them has going on."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..errors import BadRequest

MIN_TOKEN = 16
MAX_TOKEN = 512
_TOKEN = re.compile(rf"[\x21-\x7e]{{{MIN_TOKEN},{MAX_TOKEN}}}")
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_FILE_BYTES = 1024 * 1024


class Account:
    """Whoever holds one token.

    Attributes:
        name: of the token, for logs and for turns in the queue. Never the token.
        connections: that are open.
        runs: that were sent and have not ended, by their depth of nesting.
        buffered: bytes of its frames that nobody has read yet.
        queued: bytes of its runs that wait for a worker.
        unsent: bytes of messages that its clients have not read yet.
    """

    def __init__(self, name: str, token: str) -> None:
        self.name = name
        self.digest = _digest(token)
        self.connections = 0
        self.runs: Counter[int] = Counter()
        self.buffered = 0
        self.queued = 0
        self.unsent = 0


class Accounts:
    """Every token that is accepted.

    Args:
        tokens: ``(name, token)``.

    Raises:
        BadRequest: there is none, one is unusable, or two have one name or one value. No message holds a token.
    """

    def __init__(self, tokens: Iterable[tuple[str, str]]) -> None:
        self._accounts: list[Account] = []
        for name, token in tokens:
            if not _NAME.fullmatch(name):
                raise BadRequest(
                    f"the name of a token must be 1 to 64 letters, digits, dots, hyphens or underscores: {name[:80]!r}"
                )
            if not _TOKEN.fullmatch(token):
                raise BadRequest(
                    f"the token {name!r} is unusable: it must be {MIN_TOKEN} to {MAX_TOKEN} printable ASCII characters"
                    f" without blanks; it has {len(token)}"
                )
            account = Account(name, token)
            if any(name == other.name or account.digest == other.digest for other in self._accounts):
                raise BadRequest(f"the token {name!r} is given twice")
            self._accounts.append(account)
        if not self._accounts:
            raise BadRequest(
                "no token is given, and the daemon serves nobody without one: write one to a file that only you can"
                " read (umask 077; python3 -c 'import secrets; print(secrets.token_urlsafe(32))' > token) and pass"
                " --token-file, or set CODEMODE_SERVE_TOKEN"
            )

    def __iter__(self) -> Iterator[Account]:
        return iter(self._accounts)

    def holder(self, token: str) -> Account | None:
        """Whose token it is. Takes as long whichever it is, and if it is none."""
        digest = _digest(token)
        found = None
        for account in self._accounts:
            if hmac.compare_digest(account.digest, digest):
                found = account
        return found


def read_token_file(path: str) -> list[tuple[str, str]]:
    """``(name, token)`` of every line: ``name token``, or only a token. ``#`` begins a comment line.

    Raises:
        BadRequest: it cannot be read, or others than its owner can read it.
    """
    try:
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_mode & 0o077:
                raise BadRequest(
                    f"the token file {path} has the mode {stat.S_IMODE(status.st_mode):03o}, so others than its owner"
                    " can reach it: chmod 600"
                )
            data = file.read(_FILE_BYTES + 1)
    except OSError as error:
        raise BadRequest(f"the token file {path} cannot be read: {error.strerror}") from error
    if len(data) > _FILE_BYTES:
        raise BadRequest(f"the token file {path} is longer than {_FILE_BYTES} bytes")
    return parse_tokens(data, Path(path).name)


def parse_tokens(data: bytes, where: str) -> list[tuple[str, str]]:
    """As ``read_token_file``, of its text.

    Raises:
        BadRequest: a line is neither.
    """
    try:
        lines = data.decode("ascii").splitlines()
    except UnicodeDecodeError:
        raise BadRequest(f"the tokens in {where} are not ASCII") from None
    tokens: list[tuple[str, str]] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) > 2:
            raise BadRequest(f"line {number} of {where} is neither `name token` nor a token")
        tokens.append((words[0], words[1]) if len(words) == 2 else (f"line-{number}", words[0]))
    return tokens


def decode_offered(offered: str) -> str | None:
    """The token in a subprotocol (base64url without padding), ``None`` if it is not one."""
    try:
        return base64.b64decode(offered + "=" * (-len(offered) % 4), b"-_", validate=True).decode("ascii")
    except (binascii.Error, ValueError):
        return None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()

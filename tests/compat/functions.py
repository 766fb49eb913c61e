"""Upstream's own functions, called in one node process."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PACKAGE = HERE.parent / "side_by_side" / "node_modules" / "@cloudflare" / "codemode"


class UpstreamThrew(Exception):
    """Upstream's function threw; the text of what it threw."""


class Functions:
    """The node process of ``functions.mjs``. One call at a time."""

    def __init__(self) -> None:
        self._ids = itertools.count(1)
        self._process = subprocess.Popen(
            ["node", "functions.mjs"], cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def __call__(self, op: str, **arguments: object) -> Any:
        """Have ``op`` done. Raises UpstreamThrew with what upstream's function threw."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        number = next(self._ids)
        stdin.write(json.dumps({"id": number, "op": op, **arguments}).encode() + b"\n")
        stdin.flush()
        line = stdout.readline()
        assert line, "the node process has ended"
        answer = json.loads(line)
        assert answer["id"] == number
        if "failure" in answer:
            raise UpstreamThrew(answer["failure"])
        return answer.get("value")

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.kill()
        self._process.wait()

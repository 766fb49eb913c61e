"""Forks a jailed child from a fresh interpreter and returns what was seen of it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import codemode_executor

HERE = Path(__file__).parent
PACKAGES = Path(codemode_executor.__file__).parents[1]

# The identities a host can have: tests run as root also try an ordinary user.
IDENTITIES = ("nobody", "root") if os.geteuid() == 0 else ("own",)


class Seen(NamedTuple):
    """`outside` is what the parent observed, `answer` what the child said, None if it died."""

    outside: dict[str, Any]
    answer: dict[str, Any] | None
    exit_code: int
    stderr: str

    @property
    def said(self) -> dict[str, Any]:
        assert self.answer is not None, f"child ended with {self.exit_code}: {self.stderr}"
        return self.answer


def jailed(
    body: str = "",
    *,
    identity: str = IDENTITIES[-1],
    v8: bool = False,
    early_thread: bool = False,
    **policy: Any,
) -> Seen:
    """Run `body` in a child under `policy`."""
    request = {
        "paths": [str(PACKAGES), str(HERE)],
        "policy": policy,
        "nobody": identity == "nobody",
        "v8": v8,
        "early_thread": early_thread,
        "body": body,
    }
    done = subprocess.run(
        [sys.executable, "-I", str(HERE / "forker.py"), json.dumps(request)],
        env={"EARLY_SECRET": "early"},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outside = json.loads(done.stdout)
    return Seen(outside, outside["answer"], outside["exit"], done.stderr)

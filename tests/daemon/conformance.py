"""The corpus of tests/side_by_side, spoken over the protocol to whatever daemon is at a URL.

As a command it is the protocol's conformance kit: every case on upstream's executor and on that daemon, compared::

    python tests/daemon/conformance.py wss://runner.example --token-file token

It speaks the protocol itself and shares no code with the daemon or the bridge but the codecs of values.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import itertools
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from codemode_executor.values.clone_codec import encode_clone
from codemode_executor.values.result_codec import decode_result
from daemon.client import Client, Outcome
from side_by_side import report
from side_by_side.compare import Finding, Verdict, judge
from side_by_side.corpus import Case, cases
from side_by_side.ours import Witness, WitnessFailed
from side_by_side.upstream import Upstream, UpstreamHung

_ANSWER_S = 60.0
_SETTLE_S = 0.06
_LEVELS = {"log": "", "warn": "[warn] ", "error": "[error] "}


class ToolError(Exception):
    """A fixture tool failed: the members of its error."""

    def __init__(self, members: dict[str, Any]) -> None:
        super().__init__(str(members["message"]))
        self.members = members


class ThroughProtocol:
    """A daemon as a side of ours: one connection per case, and the node process that serves its tools."""

    def __init__(self, url: str, token: str, witness: Witness) -> None:
        self._url = url
        self._token = token
        self._witness = witness
        self._keys = itertools.count(1)

    @classmethod
    async def start(cls, url: str, token: str) -> Self:
        return cls(url, token, await Witness.start())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._witness.close()

    async def run(self, case: Case) -> dict[str, Any]:
        """The envelope, described; ``{"refused": text}``; or ``{"undecodable": text}``."""
        key = next(self._keys)
        providers = case.request()["providers"]
        spaces = cast("list[tuple[str, list[str]]]", await self._witness.ask("open", key=key, providers=providers))

        async def serve(header: dict[str, Any], payload: str) -> str:
            if header["kind"] == "outbound":
                return await self._fetch(key, case, payload)
            answer = await self._witness.ask(
                "call", key=key, provider=header["provider"], tool=header["tool"], args=payload
            )
            members = json.loads(answer)
            if members.get("error"):
                raise ToolError({**members, "message": members["error"]})
            return json.dumps(members["result"]) if "result" in members else ""

        async with await Client.open(self._url, token=self._token) as client:
            async with asyncio.timeout(_ANSWER_S):
                outcome = await client.execute(
                    case.code.encode("utf-8", "replace").decode(),
                    serve,
                    env=json.dumps(case.bindings or {}),
                    providers=[{"name": n, "tools": tools, "prelude": case.prelude or ""} for n, tools in spaces],
                    limits={"timeout_s": case.timeout_ms / 1000},
                    modules=_modules(case.modules or {}),
                    settle_s=_SETTLE_S if "calls" in case.parts else 0,
                    **({} if case.outbound is None else {"outbound": "client"}),
                )
        return await self._described(key, outcome)

    async def _described(self, key: int, outcome: Outcome) -> dict[str, Any]:
        end = outcome.end
        if end.t in ("refused", "fault"):
            await self._witness.ask("close", key=key, form=0, text=None, error=None, logs=[])
            return {"refused": end["message"]} if end.t == "refused" else {"fault": end["code"]}
        try:
            shown = await self._witness.ask(
                "close",
                key=key,
                form=int(end.payload[0]) if end.t == "result" else 0,
                text=end.payload[1:] if end.t == "result" else None,
                error=end["message"] if end.t == "error" else None,
                logs=[_LEVELS[level] + text for level, text in outcome.logs if level in _LEVELS],
            )
        except WitnessFailed as failure:
            return {"undecodable": str(failure)}
        return cast("dict[str, Any]", shown)

    async def _fetch(self, key: int, case: Case, payload: str) -> str:
        request = cast("dict[str, Any]", decode_result(int(payload[0]), payload[1:].encode()))
        body = request["body"]
        answer = await self._witness.ask(
            "request",
            key=key,
            site=case.outbound,
            method=request["method"],
            url=request["url"],
            headers=request["headers"],
            body=None if body is None else base64.b64encode(body).decode(),
        )
        if "thrown" in answer:
            raise ToolError(answer["thrown"])
        made = {
            "status": answer["status"],
            "statusText": answer["statusText"],
            "headers": answer["headers"],
            "body": base64.b64decode(answer["body"]),
            "url": "",
            "redirected": False,
        }
        form, text = encode_clone(made)
        return f"{form}{text.decode()}"


def _modules(modules: dict[str, Any]) -> list[dict[str, str]]:
    made: list[dict[str, str]] = []
    for name, value in modules.items():
        if isinstance(value, dict):
            ((kind, source),) = cast("dict[str, Any]", value).items()
            made.append({"name": name, "kind": kind, "source": json.dumps(source) if kind == "json" else source})
        else:
            made.append({"name": name, "source": value})
    return made


async def compare(url: str, token: str, chosen: Sequence[Case]) -> list[Finding]:
    """Every case on upstream and on the daemon."""
    found: list[Finding] = []
    upstream = Upstream()
    try:
        async with await ThroughProtocol.start(url, token) as daemon:
            for case in chosen:
                try:
                    theirs, ours = await asyncio.gather(upstream.run(case), daemon.run(case))
                except UpstreamHung as hung:
                    found.append(Finding(case, Verdict.DISAGREED, str(hung)))
                else:
                    found.append(judge(case, theirs, ours))
    finally:
        upstream.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare a daemon with upstream, case by case.")
    parser.add_argument("url")
    parser.add_argument("--token-file", required=True, help="a file whose first line is the token")
    parser.add_argument("--only", default="", help="cases whose id begins so")
    options = parser.parse_args()
    token = Path(options.token_file).read_text().splitlines()[0].split()[-1]
    chosen = [case for case in cases() if case.id.startswith(options.only) and case.through is None]
    found = asyncio.run(compare(options.url, token, chosen))
    print(report.render(found, details=True))
    return 1 if any(finding.verdict is Verdict.DISAGREED for finding in found) else 0


if __name__ == "__main__":
    sys.exit(main())

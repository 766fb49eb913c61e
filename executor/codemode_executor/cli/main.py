"""Arguments of the command, and which part of it they ask for."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .. import __version__
from ..errors import BadRequest, ExecutorError
from .doctor import doctor
from .run import run
from .serve import add_arguments as add_serve_arguments
from .serve import serve

#: Exit codes, part of the command's contract.
OK = 0
PROGRAM_FAILED = 1
USAGE = 2
MACHINERY = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point.

    Returns:
        0 for a program that succeeded, or a daemon that left in order; 1 for a program that failed (its envelope says
        why), 2 for unusable arguments, 3 for a fault of the machinery.
    """
    options = _parser().parse_args(argv)
    try:
        if options.command == "doctor":
            return OK if doctor(as_json=options.json) else MACHINERY
        if options.command == "serve":
            serve(options)
            return OK
        succeeded = run(options.file, tools=options.tools, timeout_s=options.timeout, memory_mb=options.memory)
        return OK if succeeded else PROGRAM_FAILED
    except BadRequest as error:
        print(f"codemode-executor: {error}", file=sys.stderr)
        return USAGE
    except ExecutorError as error:
        print(f"codemode-executor: {error.code}: {error}", file=sys.stderr)
        return MACHINERY
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="codemode-executor", description="Run programs that a model wrote, each in a V8 isolate of its own."
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    running = commands.add_parser(
        "run",
        help="run one program",
        description="Run one program. The envelope is printed as JSON; log lines go to standard error as they come.",
    )
    running.add_argument("file", help="the program's file, or - for standard input")
    running.add_argument(
        "--tools",
        metavar="MODULE:OBJECT",
        help="what the program may call: a Provider, a list of them, or a mapping of callables (namespace: codemode)",
    )
    running.add_argument("--timeout", type=float, metavar="SECONDS", help="wall time of the run (default 60)")
    running.add_argument("--memory", type=int, metavar="MIB", help="memory of the run (default 128)")
    add_serve_arguments(commands.add_parser("serve", help="serve JavaScript hosts over a WebSocket"))
    examining = commands.add_parser(
        "doctor",
        help="show the engine and prove the jail",
        description="Start a worker, show what it is, prove its jail.",
    )
    examining.add_argument("--json", action="store_true", help="the report as JSON")
    return parser

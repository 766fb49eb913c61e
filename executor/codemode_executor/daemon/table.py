"""A run's tools, all of which the client serves."""

from __future__ import annotations

from ..contract import Connector, Provider
from ..errors import BadRequest
from ..tool_threads import ToolThreads
from ..tools import MAX_NAME, ToolTable
from ..wire import bridge as wire

_MAX_PROVIDERS = 1000
_MAX_TOOLS = 10_000
MAX_FUNCTIONS = 1000


def remote_table(run: wire.Run, threads: ToolThreads, *, cloned_env: bool = False) -> ToolTable:
    """The table of a run whose tools the client serves.

    Args:
        run: what the client asked for.
        threads: of the engine.
        cloned_env: ``this.env`` is clone text.

    Raises:
        BadRequest: names are unusable, or too many.
    """
    _check_declared(run)
    declared = [
        Connector(item.name) if item.connector else Provider(item.name, item.tools, item.prelude)
        for item in run.providers
    ]
    network = run.outbound == "client"
    return ToolTable(
        declared,
        None,
        threads,
        dict.fromkeys(run.functions),
        opens_network=network,
        services=run.services,
        cloned_env=cloned_env,
        served_elsewhere=True,
    )


def _check_declared(run: wire.Run) -> None:
    """Raises:
    BadRequest: too much is declared, or what contradicts itself.
    """
    tools = sum(len(item.tools) for item in run.providers)
    for what, count, limit in (
        ("namespaces", len(run.providers), _MAX_PROVIDERS),
        ("tools", tools, _MAX_TOOLS),
        ("functions and services in env", len(run.functions) + len(run.services), MAX_FUNCTIONS),
    ):
        if count > limit:
            raise BadRequest(f"{count} {what} were declared; the limit is {limit}")
    for path in (*run.functions, *run.services):
        if not 0 < len(path) <= MAX_NAME:
            raise BadRequest(f"what stands in env has a path of {len(path)} characters; the limit is {MAX_NAME}")
    for item in run.providers:
        if len(item.name) > MAX_NAME:
            raise BadRequest(f"a namespace has a name of {len(item.name)} characters; the limit is {MAX_NAME}")
        if item.connector and (item.tools or item.prelude):
            raise BadRequest(f"the connector {item.name!r} declares tools or a prelude: it has neither")

"""What ``global_outbound`` may be."""

from __future__ import annotations

from codemode_executor import BadRequest


def check_outbound(global_outbound: object) -> None:
    """The network is closed to programs.

    Raises:
        BadRequest: it is to be opened.
    """
    if global_outbound is not None:
        raise BadRequest(
            f"global_outbound must be None, not {type(global_outbound).__name__}: programs have no network;"
            " give them a tool that makes the request"
        )

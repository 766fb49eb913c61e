"""``normalize_code``."""

from __future__ import annotations

from .engines import used_for_a_moment


async def normalize_code(code: str) -> str:
    """The async arrow function that a text of a model stands for.

    Args:
        code: a function, statements, an expression, or one of these in a Markdown fence.

    Returns:
        An expression that evaluates to a function. A text that is no program comes back inside one, too, and fails when
        that is executed.

    Raises:
        BadRequest: ``code`` is not a string, or longer than ``Limits.program_bytes``.
        ExecutorError: another fault of the machinery.

    Mirrors upstream's ``normalizeCode``, and gives its string where that runs. It is a coroutine, because the parser
    runs in a jailed process: a program is nothing that a host should parse. There is no need to call it before
    ``execute``, which reads programs itself.
    """
    with used_for_a_moment() as engine:
        return await engine.normalize(code)

"""The command ``codemode-executor``."""

from .main import main

__all__ = ["main"]

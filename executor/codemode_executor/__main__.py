"""``python -m codemode_executor`` is the command ``codemode-executor``."""

import sys

from .cli import main

sys.exit(main())

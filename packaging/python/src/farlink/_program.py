"""The farlink program that the package carries: the command line, and the processes of emulated networks."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

_BUNDLED = Path(__file__).with_name("_bin") / "farlink"


def program() -> Path:
    """Path of the bundled `farlink` program."""
    return _BUNDLED


def main() -> NoReturn:
    """The console script `farlink`: becomes the bundled program."""
    try:
        os.execv(_BUNDLED, [str(_BUNDLED), *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"error: cannot start {_BUNDLED}: {error.strerror}")

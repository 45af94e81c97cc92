"""Warnings that point at the caller's line, however deep inside the SDK they arise."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

_HERE = f"{Path(__file__).parent}{os.sep}"


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line outside this package."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)

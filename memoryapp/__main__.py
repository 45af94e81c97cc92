"""``python -m memoryapp <command>`` is ``manage.py <command>``."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run a management command with the product's settings."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memoryapp.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()

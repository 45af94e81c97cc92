"""Celery without a broker to install: kombu's filesystem transport, made safe to run on.

The stock transport writes a message in place, so a crash or a full disk leaves a torn file, and one
torn file ends every worker that reads it. It also moves each message through the system's temporary
folder, where other people of the machine can read it.
"""

from __future__ import annotations

import logging
import os
from functools import cached_property
from pathlib import Path
from queue import Empty
from time import time_ns
from typing import Any
from uuid import uuid4

from kombu.transport import filesystem
from kombu.utils.json import dumps, loads

logger = logging.getLogger(__name__)


class Channel(filesystem.Channel):
    """Messages as files that appear whole; a file that cannot be read is put aside."""

    @cached_property
    def data_folder_in(self) -> str:
        return str(self._folder("messages"))

    @cached_property
    def data_folder_out(self) -> str:
        return self.data_folder_in

    @cached_property
    def processed_folder(self) -> str:
        return str(self._folder("taken"))

    @cached_property
    def control_folder(self) -> Path:
        return self._folder("control")

    def _folder(self, name: str) -> Path:
        folder = Path(self.transport_options["folder"]) / name
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder

    # kombu's own two classes disagree on the parameter's name.
    def _put(self, queue: str, payload: dict[str, Any], **_: Any) -> None:  # type: ignore[override]
        # Wall-clock names keep their order after a reboot; the stock ones are monotonic.
        name = f"{time_ns()}_{uuid4().hex}.{queue}.msg"
        draft = Path(self.data_folder_out, f".{name}.tmp")
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
            file.write(dumps(payload))
        draft.replace(Path(self.data_folder_out, name))

    def _get(self, queue: str, timeout: float | None = None) -> dict[str, Any]:
        for file in sorted(Path(self.data_folder_in).iterdir()):
            if file.name.startswith(".") or file.name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = Path(self.processed_folder, file.name)
            try:
                file.rename(taken)
            except FileNotFoundError:
                continue  # another worker has it
            message = _read(taken)
            if message is not None:
                taken.unlink()
                return message
        raise Empty

    def _exchange_file(self, exchange: str) -> Path:
        file: Path = super()._exchange_file(exchange)
        if file.exists():
            try:
                loads(file.read_text())
            except ValueError:
                _set_aside(file)  # the next declaration writes it anew
        return file


class Transport(filesystem.Transport):
    """The transport that ``celery.py`` registers as ``filesystem``."""

    Channel = Channel


def _read(file: Path) -> dict[str, Any] | None:
    try:
        message: dict[str, Any] = loads(file.read_text())
        message["body"]
    except (ValueError, KeyError, TypeError):
        _set_aside(file)
        return None
    return message


def _set_aside(file: Path) -> None:
    bad = file.with_name(f"{file.name}.{uuid4().hex}.bad")
    file.rename(bad)
    logger.warning("put aside a broker file that is not a message: %s", bad)

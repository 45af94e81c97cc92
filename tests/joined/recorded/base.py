"""Django's Oracle backend over the recording driver: only the connecting differs."""

from __future__ import annotations

from typing import Any

from django.db.backends.oracle import base

from tests.oracle.driver import Connection, Recorder

#: The recorded databases by the NAME in their settings.
RECORDERS: dict[str, Recorder] = {}


class DatabaseWrapper(base.DatabaseWrapper):
    """Connects to the recorder that the settings name."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Connection:
        return RECORDERS[self.settings_dict["NAME"]].connect()

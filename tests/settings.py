"""The product's settings for tests: a throw-away folder, nothing of the developer's environment.

The folder is new in each run, so two runs in one checkout do not meet.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from memoryapp.environment import Environment

for _name in Environment.names():
    os.environ.pop(_name, None)
Environment.model_config["env_file"] = None
_folder = Path(tempfile.mkdtemp(prefix="memoryapp-tests-"))
atexit.register(shutil.rmtree, _folder, ignore_errors=True)
os.environ["MEMORY_VAR_DIR"] = str(_folder)

from memoryapp.settings import *  # noqa: E402, F403
from memoryapp.settings import DATABASES, MIDDLEWARE, STORAGES  # noqa: E402

# A file, and not Django's shared in-memory database: that one answers a second thread, and so
# live_server, with "database table is locked".
DATABASES["default"]["TEST"] = {"NAME": _folder / "test.sqlite3"}
# Manifest names need collectstatic; tests/process runs that with the real settings.
STORAGES = {
    **STORAGES,
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
MIDDLEWARE = [name for name in MIDDLEWARE if "whitenoise" not in name]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AXES_ENABLED = False

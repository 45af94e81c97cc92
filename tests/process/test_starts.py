"""The first start from a fresh checkout, the second start, and starts that cannot be."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
from contextlib import closing
from pathlib import Path

import pytest

from tests.process.browser import Browser
from tests.process.conftest import MakeProduct
from tests.process.product import Product

Tables = dict[str, list[tuple[object, ...]]]


def test_fresh_checkout_starts_with_demo_and_login_and_again_unchanged(
    checkout: Path, tmp_path: Path
) -> None:
    product = Product(checkout, tmp_path / "var")
    try:
        product.start()
        name, password = shown_login(product)
        assert f"ready: {product.url}/  (log in as {name})" in product.output
        browse(product, name, password)
        only_its_owner_may_read(product.var)
        product.signal_group(signal.SIGINT)
        product.wait_until_gone()

        before = lasting(product.tables())
        assert len(before["thread"]) > 50
        elapsed_s = product.start()
        assert product.start_work_s() < 5
        if os.getloadavg()[0] < 1:  # else the clock tells of the neighbours
            assert elapsed_s < 5
        assert "password  " not in product.output
        assert f"log in as {name}" in product.output
        assert f"changepassword {name}" in product.output
        assert lasting(product.tables()) == before
    finally:
        product.stop()


def lasting(tables: Tables) -> Tables:
    """Everything but the heartbeats of workers, which come and go with them."""
    kept = {name: rows for name, rows in tables.items() if name != "memoryapp_workerbeat"}
    kept["sqlite_sequence"] = [
        row for row in kept["sqlite_sequence"] if row[0] != "memoryapp_workerbeat"
    ]
    return kept


def shown_login(product: Product) -> tuple[str, str]:
    """The name and the password that the first start prints, once."""
    found = re.findall(r"^ +name +(\S+)\n +password +(\S+)$", product.output, re.M)
    assert len(found) == 1, product.output
    name, password = found[0]
    return name, password


def browse(product: Product, name: str, password: str) -> None:
    browser = Browser(product.url)
    assert browser.get("/readyz").status == 200
    browser.log_in(name, password)
    page = browser.get("/")
    assert page.status == 200
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    style = re.search(r'href="(/static/[^"]+\.[0-9a-f]{12}\.css)"', page.text)
    assert style is not None, "the style sheet has no name of the manifest"
    assert browser.get(style[1]).status == 200
    assert browser.get("/admin/").status == 200


def only_its_owner_may_read(var: Path) -> None:
    assert stat.S_IMODE((var / "secret_key").stat().st_mode) == 0o600
    assert stat.S_IMODE((var / "broker" / "messages").stat().st_mode) == 0o700


def test_taken_port_is_named_before_anything_starts(product: Product) -> None:
    with closing(socket.create_server(("127.0.0.1", product.port))):
        done = product.run("memory_run")
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{product.port}" in done.stderr
    assert "PORT" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"MEMORY_EMBEDER": "local"}, "MEMORY_EMBEDER is not a setting"),
        ({"MEMORY_WEB_THREADS": "none"}, "MEMORY_WEB_THREADS"),
        ({"DATABASE_URL": "mysql://root:hunter2@db/x"}, "DATABASE_URL"),
        ({"DATABASE_URL": "sqlite:////dev/null/memory.sqlite3"}, "/dev/null/memory.sqlite3"),
    ],
    ids=lambda part: "" if isinstance(part, dict) else part,
)
def test_bad_setting_ends_the_start_with_its_name(
    make_product: MakeProduct, settings: dict[str, str], named: str
) -> None:
    done = make_product(**settings).run("memory_run")
    assert done.returncode == 1
    assert named in done.stderr
    assert "Traceback" not in done.stderr
    assert "hunter2" not in done.stderr


def test_database_that_is_no_database_is_named(product: Product) -> None:
    for leftover in product.var.glob("memory.sqlite3*"):
        leftover.unlink()
    (product.var / "memory.sqlite3").write_bytes(b"this is a letter to my aunt" * 100)
    done = product.run("memory_run")
    assert done.returncode == 1
    assert "memory.sqlite3 cannot be used: file is not a database" in done.stderr

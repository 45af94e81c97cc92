"""However it ends, it ends whole: no process stays, and what ended first is named."""

from __future__ import annotations

import os
import signal

import pytest

from tests.process.product import SUPERVISOR, Product


def ended_status(product: Product) -> int:
    product.wait_until_gone()
    assert product.process is not None
    return product.process.wait(5)


def test_ctrl_c_of_the_terminal_ends_everything(product: Product) -> None:
    product.start()
    product.signal_group(signal.SIGINT)
    ended_status(product)
    assert product.lines[-1].startswith("stopped") or "stopped" in product.output
    assert "Traceback" not in product.output
    assert "ended by itself" not in product.output


def test_sigterm_to_make_ends_everything(product: Product) -> None:
    product.start()
    assert product.process is not None
    product.process.terminate()
    product.wait_until_gone()
    assert "Traceback" not in product.output


def test_kill_of_the_supervisor_leaves_no_child(product: Product) -> None:
    product.start()
    os.kill(product.process_of(SUPERVISOR), signal.SIGKILL)
    product.wait_until_gone()


@pytest.mark.parametrize(
    ("who", "named"),
    [("worker", "worker"), ("web server", "web"), ("one web process", "web")],
)
def test_a_child_that_dies_is_named_and_ends_the_rest(
    product: Product, who: str, named: str
) -> None:
    product.start()
    supervisor = product.process_of(SUPERVISOR)
    web = product.process_of("granian", parent=supervisor)
    victim = {
        "worker": lambda: product.process_of("celery", parent=supervisor),
        "web server": lambda: web,
        "one web process": lambda: product.process_of("", parent=web),
    }[who]()
    os.kill(victim, signal.SIGKILL)
    assert ended_status(product) != 0
    assert f"{named} ended by itself" in product.output

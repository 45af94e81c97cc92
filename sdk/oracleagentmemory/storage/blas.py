"""Keep matrix products on one thread while searches run.

On a busy machine the threads of one product wait for each other: beside one busy neighbour a
search took 23 times as long on two threads as on one.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import (  # type: ignore[import-untyped]
    LibController,
    ThreadpoolController,
)

__all__ = ["one_blas_thread"]

_lock = threading.Lock()
_before: list[tuple[LibController, int]] = []
_users = 0


@functools.cache
def _libraries() -> list[LibController]:
    # Finding the libraries takes milliseconds; numpy has loaded them by now.
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Pin BLAS to one thread inside the block.

    The limit is the process's, so it is lifted by whoever leaves last: restored by each for
    itself, one thread's limit would become another's lasting default.
    """
    global _users
    with _lock:
        if _users == 0:
            _before[:] = [(library, library.get_num_threads()) for library in _libraries()]
            for library, _ in _before:
                library.set_num_threads(1)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                for library, count in _before:
                    library.set_num_threads(count)

"""Messages as turns of their threads: each one's neighbours before and after it.

Evidence in a thread often stands one turn beside the words of a question, so hybrid search lends
each message a share of its neighbours' scores.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Turns"]


@dataclass(frozen=True, slots=True, eq=False)
class Turns:
    """The messages of a block, numbered by thread and then by their order in it.

    Attributes:
        rows: The messages' rows, sorted by message.
        starts: Where in `rows` each message starts; a message may have several chunks.
        message_of: The message of each of `rows`.
        followed: Whether the next message belongs to the same thread; one less than messages.
        message_by_row: The message of each row of the block, -1 where there is none.
    """

    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    message_of: NDArray[np.intp]
    followed: NDArray[np.bool_]
    message_by_row: NDArray[np.intp]

    @classmethod
    def of(
        cls,
        orders: NDArray[np.int64],
        threads: NDArray[np.int32],
        alive: NDArray[np.bool_] | None,
    ) -> Turns:
        """Sort the rows of a block.

        Args:
            orders: By row, a message's number in the order of creation; 0 where there is none.
            threads: By row, the code of its thread.
            alive: Which rows count; None means all.
        """
        is_turn = orders > 0 if alive is None else (orders > 0) & alive
        rows = np.flatnonzero(is_turn)
        rows = rows[np.lexsort((orders[rows], threads[rows]))]
        order, thread = orders[rows], threads[rows]
        first = np.ones(rows.size, np.bool_)
        first[1:] = order[1:] != order[:-1]
        starts = np.flatnonzero(first)
        message_of = np.cumsum(first) - 1
        message_by_row = np.full(orders.size, -1, np.intp)
        message_by_row[rows] = message_of
        thread = thread[starts]
        return cls(rows, starts, message_of, thread[1:] == thread[:-1], message_by_row)

    def lend(self, scores: NDArray[np.float32], share: float) -> NDArray[np.float32]:
        """Return the scores of rows with a share of both neighbours' positive scores added."""
        if not self.rows.size:
            return scores
        positive = np.maximum(np.maximum.reduceat(scores[self.rows], self.starts), 0)
        passed = np.where(self.followed, share, 0).astype(np.float32)
        added = np.zeros_like(positive)
        added[1:] += passed * positive[:-1]
        added[:-1] += passed * positive[1:]
        raised = scores.copy()
        raised[self.rows] += added[self.message_of]
        return raised

    def neighbours(self, row: int) -> list[int]:
        """Return a row of each message that stands beside the message of this row."""
        message = int(self.message_by_row[row])
        if message < 0:
            return []
        beside = []
        if message > 0 and self.followed[message - 1]:
            beside.append(message - 1)
        if message < self.followed.size and self.followed[message]:
            beside.append(message + 1)
        return [int(self.rows[self.starts[one]]) for one in beside]

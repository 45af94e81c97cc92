"""How the store cuts long text into the pieces that are embedded and indexed."""

from __future__ import annotations

CHUNK_CHARACTERS = 4000


def split_text(text: str, *, size: int = CHUNK_CHARACTERS) -> list[str]:
    """Cut a text into pieces of at most `size` characters.

    A piece ends at the last white space of its second half, else at the limit. Every character
    but the white space around cuts is kept.

    Returns:
        The pieces in order; none for a text without any visible character.
    """
    pieces: list[str] = []
    rest = text.strip()
    while len(rest) > size:
        cut = _last_space(rest, size)
        pieces.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    if rest:
        # A text that fits stays as it is, its own white space included.
        pieces.append(rest if pieces else text)
    return pieces


def _last_space(text: str, size: int) -> int:
    for at in range(size, size // 2, -1):
        if text[at].isspace():
            return at
    return size

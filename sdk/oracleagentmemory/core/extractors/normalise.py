"""When two memories say the same in the same words."""

from __future__ import annotations

import unicodedata


def normalised_text(text: str) -> str:
    """Return a text without what makes no difference to its words.

    Forms of the same letter, case, white space and a full stop at the end do not count.
    """
    if text.isascii():
        folded = text.lower()
    else:
        folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split()).rstrip(" .。")

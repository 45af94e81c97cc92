"""The end user for whom a store works; not part of this version."""

from __future__ import annotations

from typing import Any

from oracleagentmemory.errors import NotYetError


class OracleMemoryEndUserSecurityContext:
    """The block in which a `SchemaPolicy.NO_CHECK` store works for one end user.

    Raises:
        NotYetError: Always: this version connects as a database user only.
    """

    def __init__(self, security_context: Any) -> None:
        raise NotYetError(
            "this version does not work for end users of Deep Data Security; connect as a database "
            "user, with another schema_policy than NO_CHECK"
        )

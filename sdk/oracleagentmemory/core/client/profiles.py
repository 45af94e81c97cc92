"""Users and agents: their profiles, and their deletion with all they own."""

from __future__ import annotations

from typing import cast

from oracleagentmemory._notset import NOT_SET_MARKER, Maybe
from oracleagentmemory.apis.records import AgentProfileRecord, MetadataValue, UserProfileRecord
from oracleagentmemory.apis.validation import check_flag, check_id
from oracleagentmemory.core.background import WorkScope
from oracleagentmemory.core.backgroundwork import deleted, deleted_async
from oracleagentmemory.core.client.part import ClientPart
from oracleagentmemory.core.prepared import written
from oracleagentmemory.storage.writes import Prepared


class ClientProfiles(ClientPart):
    """Profiles of users and agents."""

    def prepare_add_user(
        self, user_id: str, information: str, metadata: Maybe[MetadataValue] = NOT_SET_MARKER
    ) -> Prepared[str]:
        """Store a user's profile; return the user id.

        Args:
            user_id: Also the id of the profile; at most 128 bytes of UTF-8.
            information: Free text about the user; it is searched.
            metadata: A JSON object.

        Raises:
            ValueError: If there is a profile already, or a value cannot be stored.
        """
        return self._store.prepare_add_user(user_id, information, metadata)

    def prepare_add_agent(
        self, agent_id: str, information: str, metadata: Maybe[MetadataValue] = NOT_SET_MARKER
    ) -> Prepared[str]:
        """Store an agent's profile; return the agent id. See :meth:`add_user`."""
        return self._store.prepare_add_agent(agent_id, information, metadata)

    def prepare_delete_user(self, user_id: str, cascade: bool = True) -> Prepared[int]:
        """Delete a user's profile; return how many profiles there were, 0 or 1.

        Args:
            cascade: Also delete the user's threads with all their records and every other record
                of the user, in one transaction, even when there is no profile.

        Raises:
            TimeoutError: If background work on an owned thread did not end within 300 seconds;
                nothing is deleted.
        """
        check_flag(cascade, "cascade")
        prepared = self._store.prepare_delete("user_profile", check_id(user_id, "user_id"), cascade)
        return self._work.deletion(prepared, WorkScope(user_id=user_id))

    def prepare_delete_agent(self, agent_id: str, cascade: bool = True) -> Prepared[int]:
        """Delete an agent's profile; return 0 or 1. See :meth:`delete_user`."""
        check_flag(cascade, "cascade")
        prepared = self._store.prepare_delete(
            "agent_profile", check_id(agent_id, "agent_id"), cascade
        )
        return self._work.deletion(prepared, WorkScope(agent_id=agent_id))

    add_user = written(prepare_add_user)
    add_agent = written(prepare_add_agent)
    delete_user = deleted(prepare_delete_user)
    delete_user_async = deleted_async(prepare_delete_user)
    delete_agent = deleted(prepare_delete_agent)
    delete_agent_async = deleted_async(prepare_delete_agent)

    def list_users(
        self,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[UserProfileRecord]:
        """List the newest ``limit`` user profiles, oldest first.

        Args:
            metadata_filter: ``None`` means profiles without metadata.
            limit: A safe maximum when omitted, ``None`` for no limit.
        """
        found = self._store.list("user_profile", metadata_filter=metadata_filter, limit=limit)
        return cast(list[UserProfileRecord], found)

    def list_agents(
        self,
        metadata_filter: Maybe[MetadataValue] = NOT_SET_MARKER,
        limit: Maybe[int | None] = NOT_SET_MARKER,
    ) -> list[AgentProfileRecord]:
        """List the newest ``limit`` agent profiles, oldest first. See :meth:`list_users`."""
        found = self._store.list("agent_profile", metadata_filter=metadata_filter, limit=limit)
        return cast(list[AgentProfileRecord], found)

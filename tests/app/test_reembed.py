"""`memory_reembed` and `memory_store_extend`: what they say, change, log and refuse."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import StringIO
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from numpy.typing import NDArray

from memoryapp import memory
from memoryapp.access import Access, Role
from memoryapp.memory import client, store
from memoryapp.models import AuditEntry
from memoryapp.services import stores
from oracleagentmemory.errors import AccessDeniedError, EmbedderMismatchError, InvalidInputError
from tests.app.tables import contents, nothing_changes

pytestmark = pytest.mark.django_db
OPERATOR = Access.of_command("test")


class LetterEmbedder:
    """Counts letters; names no model, so that the setting's value becomes its name."""

    embedding_dimension = 26

    def embed(self, texts: list[str], *, is_query: bool = False) -> NDArray[np.float32]:
        rows = [[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts]
        return np.array(rows, np.float32)


@pytest.fixture
def _letters(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start the product with another embedder, as a new process would."""
    module: Any = ModuleType("letters")
    module.make = LetterEmbedder
    monkeypatch.setitem(sys.modules, "letters", module)
    client().add_memory("red car", user_id="ada", memory_id="m1")
    client().add_memory("blue boat", user_id="ada", memory_id="m2")
    with override_settings(MEMORY_EMBEDDER="letters:make"):
        forget()
        yield
    forget()


def forget() -> None:
    """Let the next call build client, store and inspector from the settings anew."""
    for built in (memory.store, memory.client, memory.inspector):
        built.cache_clear()


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("memory_reembed", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def found(query: str) -> str:
    return client().search(query, user_id="ada")[0].id


@pytest.mark.usefixtures("_letters")
def test_the_command_replaces_every_vector_with_one_audit_entry() -> None:
    with pytest.raises(EmbedderMismatchError, match=r"manage\.py memory_reembed"):
        found("a boat")
    assert "2 texts have vectors of 26 numbers by letters:make" in run("--reason", "try letters")
    assert found("a boat") == "m2"
    entry = AuditEntry.objects.get(action="reembed")
    assert (entry.actor, entry.reason) == ("command:memory_reembed", "try letters")
    assert entry.detail == {
        "chunks": 2, "cleared": 0, "dimension": 26, "embedder_id": "letters:make"
    }  # fmt: skip


@pytest.mark.usefixtures("_letters")
def test_a_stopped_run_keeps_changes_waiting_until_it_is_given_up() -> None:
    store().prepare_reembed()
    with pytest.raises(RuntimeError, match=r"memory_reembed.*--abort"):
        client().delete_memory("m1")
    assert run("--abort") == "Given up: the old vectors stay, and changes are allowed again.\n"
    assert AuditEntry.objects.get(action="abort_reembedding").actor == "command:memory_reembed"
    assert run("--abort") == "No re-embedding was under way; nothing was changed.\n"
    with override_settings(MEMORY_EMBEDDER="local"):
        forget()
        assert found("boat") == "m2"


@pytest.mark.usefixtures("_letters")
def test_ctrl_c_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(stores, "reembed", interrupted)
    with pytest.raises(CommandError, match=r"goes on where it stopped.*--abort") as caught:
        run()
    assert caught.value.returncode == 130


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("nowhere.at_all:make", "No module named 'nowhere'"),
        ("json:make_embedder", "make_embedder"),
        ("builtins:dict", "returned dict"),
    ],
)
def test_a_setting_that_names_no_embedder_is_refused(setting: str, words: str) -> None:
    with (
        override_settings(MEMORY_EMBEDDER=setting),
        pytest.raises(InvalidInputError, match=words) as caught,
    ):
        memory.embedder()
    assert str(caught.value).startswith(f"MEMORY_EMBEDDER={setting}")


def test_upkeep_is_for_admins_only() -> None:
    reviewer = Access(actor="person:rae", role=Role.REVIEWER)
    with nothing_changes():
        for service in (stores.abort_reembedding, stores.extend):
            with pytest.raises(AccessDeniedError):
                service(reviewer)
        with pytest.raises(AccessDeniedError):
            stores.reembed(reviewer, print)


def test_a_whole_store_is_extended_by_nothing() -> None:
    output = StringIO()
    before = contents()
    call_command("memory_store_extend", stdout=output)
    assert output.getvalue() == "The store has all its tables; nothing was changed.\n"
    assert contents() == before

"""The broker on files: whole messages, in order, each taken once; bad files put aside."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from queue import Empty

import pytest
from kombu import Connection

from memoryapp.broker import Channel, Transport


@pytest.fixture
def channel(tmp_path: Path) -> Iterator[Channel]:
    with Connection(transport=Transport, transport_options={"folder": str(tmp_path)}) as broker:
        yield broker.channel()


def test_messages_come_in_the_order_they_were_put_and_once(channel: Channel) -> None:
    for number in range(20):
        channel._put("celery", {"body": number})
    assert [channel._get("celery")["body"] for _ in range(20)] == list(range(20))
    with pytest.raises(Empty):
        channel._get("celery")


def test_a_queue_does_not_see_the_messages_of_another(channel: Channel) -> None:
    channel._put("celery.other", {"body": 1})
    with pytest.raises(Empty):
        channel._get("celery")
    assert channel._get("celery.other") == {"body": 1}


@pytest.mark.parametrize(
    "content", [b"", b'{"body": ', b"\x80\x04\xff", b"[1]", b"null", b'{"headers": {}}']
)
def test_bad_file_is_put_aside_and_the_next_message_comes(
    channel: Channel, tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    messages = Path(channel.data_folder_in)
    (messages / "0_bad.celery.msg").write_bytes(content)
    channel._put("celery", {"body": "good"})
    assert channel._get("celery") == {"body": "good"}
    assert list(messages.iterdir()) == []
    (aside,) = (tmp_path / "taken").iterdir()
    assert aside.read_bytes() == content
    assert "put aside a broker file" in caplog.text


def test_draft_of_a_message_is_never_taken(channel: Channel) -> None:
    (Path(channel.data_folder_in) / ".1_a.celery.msg.tmp").write_text('{"body": 1}')
    (Path(channel.data_folder_in) / ".1_a.celery.msg").write_text('{"body": 1}')
    with pytest.raises(Empty):
        channel._get("celery")


def test_torn_exchange_file_is_declared_anew(channel: Channel, tmp_path: Path) -> None:
    (Path(channel.control_folder) / "celery.exchange").write_text('[["cel')
    channel._queue_bind("celery", "celery", "", "celery")
    assert [row.queue for row in channel.get_table("celery")] == ["celery"]


def test_files_and_folders_are_private(channel: Channel, tmp_path: Path) -> None:
    channel._put("celery", {"body": 1})
    (message,) = Path(channel.data_folder_in).iterdir()
    assert stat.S_IMODE(message.stat().st_mode) == 0o600
    assert stat.S_IMODE(message.parent.stat().st_mode) == 0o700

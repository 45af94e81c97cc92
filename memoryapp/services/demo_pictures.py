"""The demo's images: sketches of the flights that dialogues are about, drawn from their goals."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from oracleagentmemory.apis.memorystore import PendingRecordBatch
from oracleagentmemory.apis.message import ImageContent, ImageMimeType

SERVICE = "Flights_3"
_SIZE = (640, 320)
_SHADES = ("#2a55d4", "#0b6a6e", "#6a3bc0", "#8a4b00")
_MIME_TYPE = ImageMimeType.PNG


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """A drawing of one flight, which belongs to the thread of its dialogue."""

    id: str
    thread_id: str
    user_id: str | None
    agent_id: str | None
    dialogue_id: str
    timestamp: str | None
    description: str
    data: bytes

    def as_part(self) -> ImageContent:
        """The drawing as a part of a message."""
        return ImageContent(
            self.data, _MIME_TYPE, self.description, id=self.id, timestamp=self.timestamp
        )


def description_of(goals: Mapping[str, str]) -> str:
    """Say what a drawing of a flight's goals shows."""
    said = [f"Sketch of a flight from {goals['origin_city']} to {goals['destination_city']}"]
    return ", ".join(said + _details(goals))


def draw(goals: Mapping[str, str], number: int) -> bytes:
    """Draw a flight as a PNG file; the number chooses its colour."""
    image = Image.new("RGB", _SIZE, "white")
    canvas = ImageDraw.Draw(image)
    shade = _SHADES[number % len(_SHADES)]
    canvas.rectangle((0, 0, _SIZE[0], 12), fill=shade)
    large, small = ImageFont.load_default(34), ImageFont.load_default(20)
    canvas.text((40, 30), goals["origin_city"], fill="#14181f", font=large)
    canvas.text((600, 190), goals["destination_city"], fill="#14181f", font=large, anchor="ra")
    canvas.arc((70, 80, 570, 300), 200, 340, fill=shade, width=4)
    for place in ((82, 146), (558, 146)):
        canvas.circle(place, 9, fill=shade)
    for row, words in enumerate(_details(goals)[:3]):
        canvas.text((40, 190 + 30 * row), words, fill="#555e6c", font=small)
    file = io.BytesIO()
    image.quantize(32).save(file, "PNG", optimize=True)
    return file.getvalue()


def _details(goals: Mapping[str, str]) -> list[str]:
    """What else is known of a flight."""
    days = [goals[name] for name in ("departure_date", "return_date") if name in goals]
    # The annotators' word for "any value will do" is no detail.
    rest = [goals.get(name, "dontcare") for name in ("airlines", "flight_class")]
    return [" to ".join(days), *(one for one in rest if one != "dontcare")]


def batch(sketches: list[Sketch]) -> PendingRecordBatch:
    """Images of their threads, by themselves."""
    return PendingRecordBatch(
        contents=[one.data for one in sketches],
        record_type="image",
        record_ids=[one.id for one in sketches],
        index_texts=[one.description for one in sketches],
        thread_ids=[one.thread_id for one in sketches],
        user_ids=[one.user_id for one in sketches],
        agent_ids=[one.agent_id for one in sketches],
        timestamps=[one.timestamp for one in sketches],
        metadata=[_metadata(one) for one in sketches],
    )


def _metadata(sketch: Sketch) -> dict[str, Any]:
    return {
        "dialogue_id": sketch.dialogue_id,
        "service": SERVICE,
        "image_mime_type": _MIME_TYPE.value,
    }

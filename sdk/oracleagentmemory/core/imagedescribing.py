"""Adding and changing images, whose description a caller may leave to a model."""

from __future__ import annotations

import functools
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from oracleagentmemory._notset import Maybe, given
from oracleagentmemory.apis.llms.llm import ILlm
from oracleagentmemory.apis.message import ImageMimeType, get_or_generate_id
from oracleagentmemory.apis.records import ImageRecord, MetadataValue
from oracleagentmemory.core.extractors.jobs import ExtractionJob
from oracleagentmemory.core.imageinput import (
    Picture,
    check_description,
    check_image,
    check_replacement,
    image_metadata,
    refuse_own_expiry,
)
from oracleagentmemory.core.images import describe_image
from oracleagentmemory.core.memoryinput import check_ids, only_given
from oracleagentmemory.core.threadsettings import ThreadSettings
from oracleagentmemory.errors import InvalidInputError, NotFoundError
from oracleagentmemory.storage.engine import WriteTransaction
from oracleagentmemory.storage.writes import Prepared, in_order

if TYPE_CHECKING:
    from oracleagentmemory.core.backgroundwork import BackgroundWork
    from oracleagentmemory.core.oraclememorystore import OracleMemoryStore

P = ParamSpec("P")
T = TypeVar("T")

Owners = Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ImageChange:
    """A change of one image, which gives its id, and the job that is to describe it afterwards."""

    prepared: Prepared[str]
    settings: ThreadSettings
    job: ExtractionJob | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageInput:
    """What a caller says of an image, new or changed.

    Attributes:
        fields: Time, expiry and the store's own options, only those that are given.
    """

    image: Maybe[Any]
    description: Maybe[str | None]
    mime_type: Maybe[ImageMimeType]
    metadata: Maybe[MetadataValue]
    fields: Mapping[str, Any]


class ImageDescribing:
    """What clients and threads do alike with the images that they store.

    A model is asked before anything is written (INLINE), or by a job that is accepted in the
    transaction that stores the image (BACKGROUND).
    """

    _store: OracleMemoryStore
    _work: BackgroundWork
    _llm: ILlm | None

    if TYPE_CHECKING:

        def write(self, prepared: Prepared[T]) -> T:
            """Apply a change and return its result, as clients and threads do."""

    def _image_addition(
        self, new: ImageInput, image_id: Maybe[str], settings: ThreadSettings, owners: Owners
    ) -> ImageChange:
        """Check a new image and see to its description.

        Args:
            owners: ``thread_id``, ``user_id`` and ``agent_id``, where they are given.
        """
        check_ids(image_id=image_id)
        new_id = get_or_generate_id(given(image_id, None))
        data, mime_type = picture = check_image(new.image, new.mime_type, settings.image_limits)
        metadata = image_metadata(new.metadata, mime_type)

        def addition(text: str) -> Prepared[str]:
            added = self._store.prepare_add(
                [data],
                "image",
                record_ids=[new_id],
                index_texts=[text],
                metadata=[metadata],
                **{f"{name}s": owner for name, owner in owners.items()},
                **new.fields,
            )
            return added.map(lambda ids: ids[0])

        description, job = given(check_description(new.description), None), None
        # Made before a model is asked, too: it says what is wrong with the image and all else.
        prepared = addition(description or "")
        if description is None:
            due = self._job(new_id, settings, owners, "add_image")
            text, job = self._described(due, settings, lambda: picture)
            prepared = prepared if text is None else addition(text)
        return ImageChange(self._with_job(prepared, job), settings, job)

    def _image_update(
        self,
        stored: ImageRecord,
        new: ImageInput,
        settings: ThreadSettings,
        if_fingerprint: str | None,
        **where: str,
    ) -> ImageChange:
        """Check a change of a stored image and see to its description, if a new one is asked for.

        Args:
            where: ``thread_id``, if the image must still belong to it when it is written.
        """
        refuse_own_expiry(stored, new.fields)
        picture = check_replacement(new.image, new.mime_type, settings.image_limits)
        description, job = check_description(new.description), None
        if description is None and picture is None:
            # What a model says is true of the bytes that it sees, so they must not change.
            if_fingerprint = if_fingerprint or self._store.fingerprint("image", stored.id)

        def update(text: Maybe[str]) -> Prepared[str]:
            return self._prepared_update(
                stored.id, new, picture, text, if_fingerprint=if_fingerprint, **where
            )

        # Made before a model is asked, too: it says what is wrong with all else.
        prepared = update("" if description is None else description)
        if description is None:
            owners = {name: getattr(stored, name) for name in ("thread_id", "user_id", "agent_id")}
            due = self._job(stored.id, settings, owners, "update_image")
            seen = functools.partial(self._stored_image, stored.id, picture)
            text, job = self._described(due, settings, seen)
            if text is None and picture is None:
                text = stored.content
            prepared = update(text) if text else prepared
        return ImageChange(self._with_job(prepared, job), settings, job)

    def _prepared_update(
        self,
        image_id: str,
        new: ImageInput,
        picture: Picture | None,
        description: Maybe[str],
        **conditions: Any,
    ) -> Prepared[str]:
        """Return the change of an image's columns.

        Raises:
            NotFoundError: When it is written and there is no such image any more.
        """
        changes = {**new.fields, **only_given(index_text=description, metadata=new.metadata)}
        clears = False
        if picture is not None:
            data, mime_type = picture
            # A store keeps the metadata that is there when nothing but the format is named.
            named = image_metadata(new.metadata, mime_type)
            clears = "metadata" in changes and len(named) == 1
            changes |= {"content": data, "metadata": named}

        def found(count: int) -> str:
            if not count:
                raise no_image(image_id)
            return image_id

        update = functools.partial(self._store.prepare_update, "image", image_id)
        prepared = update(**changes, **conditions, visible_only=True).map(found)
        if not clears:
            return prepared
        return in_order([prepared, update(metadata=None)]).map(lambda results: str(results[0]))

    # -- describing ---------------------------------------------------------------------------

    def _described(
        self,
        due: ExtractionJob,
        settings: ThreadSettings,
        picture: Callable[[], Picture],
    ) -> tuple[str | None, ExtractionJob | None]:
        """Return what a model says of an image, or else the job that is to ask one.

        Raises:
            InvalidInputError: If there is no model.
            StateError: If the client is closed, or a write transaction is open on this thread.
            Exception: What the model raises.
        """
        if self._llm is None:
            raise InvalidInputError(
                "there is no model to describe the image: give a description, or give the client "
                "or the thread an llm"
            )
        self._work.require_open()
        if not due.is_inline:
            return None, due
        self._store.refuse_in_transaction("describing an image")
        return describe_image(self._llm, *picture(), settings.image_limits), None

    def _stored_image(self, image_id: str, new: Picture | None) -> Picture:
        """Return the new bytes of an image, or else those that are stored."""
        if new is not None:
            return new
        image = self._store.get("image", image_id, include_bytes=True)
        if not isinstance(image, ImageRecord) or image.bytes is None:
            raise no_image(image_id)
        return image.bytes, image.mime_type

    def _job(
        self, image_id: str, settings: ThreadSettings, owners: Owners, reason: str
    ) -> ExtractionJob:
        return ExtractionJob(
            job_id=str(uuid.uuid4()),
            kind="image",
            image_id=image_id,
            settings=settings.to_json(),
            reason=reason,
            thread_id=owners.get("thread_id"),
            user_id=owners.get("user_id"),
            agent_id=owners.get("agent_id"),
        )

    def _with_job(self, prepared: Prepared[str], job: ExtractionJob | None) -> Prepared[str]:
        """Return the same change, with the record of its job in its transaction."""
        if job is None:
            return prepared

        def apply(transaction: WriteTransaction) -> str:
            image_id = prepared.apply(transaction)
            self._work.accept([job], transaction)
            return image_id

        return replace(prepared, apply=apply)


def no_image(image_id: str) -> NotFoundError:
    """Return the error of an image that is not there, or not visible from here."""
    return NotFoundError(f"there is no image with the id {image_id!r}")


S = TypeVar("S", bound=ImageDescribing)
_Changing = Callable[Concatenate[S, P], ImageChange]


def described(
    change: _Changing[S, P],
) -> tuple[Callable[Concatenate[S, P], Prepared[str]], Callable[Concatenate[S, P], str]]:
    """Return the methods ``prepare_x`` and ``x`` of a ``_change_by_x``.

    ``prepare_x`` leaves a job that is due to the scheduler to find where it is recorded; ``x``
    also starts it once the image is stored.
    """

    def prepared(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Prepared[str]:
        return change(self, *args, **kwargs).prepared

    def method(self: S, /, *args: P.args, **kwargs: P.kwargs) -> str:
        changing = change(self, *args, **kwargs)
        if changing.job is not None:
            self._work.refuse_in_transaction(changing.settings, "describing an image")
        image_id = self.write(changing.prepared)
        if changing.job is not None:
            self._work.start(changing.job, self._llm)
        return image_id

    name = change.__name__.removeprefix("_prepare_")
    for function, function_name in ((prepared, f"prepare_{name}"), (method, name)):
        functools.update_wrapper(function, change)
        function.__name__ = function_name
        function.__qualname__ = f"{change.__qualname__.rpartition('.')[0]}.{function_name}"
    return prepared, method

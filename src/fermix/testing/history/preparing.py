"""How a history prepares what came with a message: begun, fetched and made, each a step of its own."""

from collections import deque
from collections.abc import Awaitable, Callable

from fermix.application.ports.admissions import Command
from fermix.application.ports.media_queue import MediaQueue, WaitingMedia
from fermix.application.ports.turns import PreparedMedia
from fermix.domain.blob import BlobRef
from fermix.domain.ids import TurnId
from fermix.domain.incoming_media import (
    MAX_ATTEMPTS,
    FileKept,
    MediaFailed,
    MediaProblem,
    MediaResult,
    PictureReady,
    Transcribed,
)
from fermix.domain.message import AttachmentKind
from fermix.domain.picture import Picture
from fermix.testing.history.admitting import heard_in
from fermix.testing.history.events import Ask, Begun, Heard, Made, Prepared
from fermix.testing.history.turns import Mortal
from fermix.testing.history.world import World

_CONTENT = BlobRef(digest="ab" * 32, size_bytes=7)
_GIVEN_UP = MediaFailed(problem=MediaProblem.NOT_FETCHED, kind=AttachmentKind.FILE)
_RESULTS: tuple[MediaResult, ...] = (
    Transcribed(text="words"),
    PictureReady(picture=Picture(content=_CONTENT, mime_type="image/png", width=2, height=1)),
    FileKept(content=_CONTENT),
    MediaFailed(problem=MediaProblem.NOT_A_PICTURE, kind=AttachmentKind.IMAGE),
)


class PreparationScript:
    """An attachment on its way to being ready. Work that fails leaves it waiting, to be taken up again."""

    def __init__(
        self,
        *,
        media: WaitingMedia,
        queue: MediaQueue,
        world: World,
        process: Mortal,
        says: Callable[[Command], Awaitable[None]],
    ) -> None:
        """Plan one attempt.

        Args:
            says: admits a command that was heard in a recording.
        """
        self._media = media
        self._queue = queue
        self._world = world
        self._process = process
        self._says = says
        self._steps = deque((self._begin, self._fetch, self._make))

    @property
    def turn(self) -> TurnId:
        """Waits for it."""
        return self._media.turn

    @property
    def over(self) -> bool:
        """Whether this attempt has ended."""
        return not self._steps

    async def go_on(self) -> None:
        """Take the next step."""
        await self._steps.popleft()()

    async def _begin(self) -> None:
        media = self._media
        if media.attempts >= MAX_ATTEMPTS:
            await self._record(_GIVEN_UP)
        elif await self._process.do(lambda: self._queue.begin(media.place)):
            self._world.events.append(Begun(key=media.message.key, position=media.place.position))
        else:
            self._steps.clear()

    async def _fetch(self) -> None:
        self._process.die_perhaps(peril=2)
        if self._media.fetched is not None:
            return
        if self._world.chance.random() < 0.1:
            self._steps.clear()
            return
        await self._process.do(lambda: self._queue.fetched(self._media.place, _CONTENT))

    async def _make(self) -> None:
        self._process.die_perhaps(peril=2)
        luck = self._world.chance.random()
        if luck < 0.1:
            self._steps.clear()
        elif luck < 0.2:
            command = heard_in(self._media, self._world.chance.choice((Ask.STOP, Ask.NEW)))
            self._world.events.append(Heard(turn=self.turn, key=command.message.key))
            await self._says(command)
        else:
            await self._record(self._world.chance.choice(_RESULTS))

    async def _record(self, result: MediaResult) -> None:
        """What is known to be recorded is said after the commit: a death in it leaves nobody knowing."""
        self._steps.clear()
        place = self._media.place
        key = self._media.message.key
        self._world.events.append(Made(key=key, position=place.position, result=result))
        prepared = PreparedMedia(position=place.position, result=result)
        await self._process.do(lambda: self._queue.prepared(place.row, prepared))
        self._world.events.append(Prepared(key=key, position=place.position))

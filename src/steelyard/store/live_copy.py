"""Parts that a worker sends -> a folder here of the run that is under way on another machine.

    copies = LiveCopies(place, Path("runs"))     one thread for all runs that are expected
    copies.expect(key)                           before the task starts; `logs -f`, `study status` and the viewer read the folder
    copies.take(key)                             the task is over: the caller decides what becomes of the copy

The copy has no seal, no grading and no report. While this process expects more of it, it holds the folder, so that the run is shown as
`running`; afterwards the run is `interrupted`, unless its sealed folder took the place of the copy.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from steelyard.errors import InfraFault
from steelyard.evidence.folder.folder import EVENTS, RunFolder
from steelyard.evidence.in_use import InUse
from steelyard.filesystem.remove import remove_tree
from steelyard.store.live_part import (
    HEADER_BYTES,
    LIVE,
    LIVE_BYTES,
    LIVE_FILES,
    PART_BYTES,
    Part,
    Piece,
    part_name,
    read_part,
)
from steelyard.store.place import StoreFolder, Unreachable

LOOK_S = 3.0  # between two looks for new parts of all runs; a worker sends no more often
_PARTS_A_LOOK = 20  # of one run, so that no worker keeps the thread from the others
_MOST = PART_BYTES + HEADER_BYTES + 1
LEAST_PART = 1 << 10  # bytes that a part counts at least: a run has a bounded number of them


class LiveCopy:
    """What has arrived of one run. `run` is its name, as soon as that is known."""

    def __init__(self, place: StoreFolder, key: str, root: Path) -> None:
        self.run: str | None = None
        self._place, self._key, self._root = place, key, root
        self._folder: RunFolder | None = None
        self._in_use: InUse | None = None
        self._next, self._bytes = 1, 0
        self._names: set[str] = set()
        self._is_over = False
        self._lock = threading.Lock()

    def advance(self) -> bool:
        """Add the next part; False where it has not come. Raises InfraFault where the store fails, or a part cannot be believed."""
        with self._lock:
            if self._is_over:
                return False
            number = self._next
        data = self._place.read(part_name(self._key, number), _MOST)
        with self._lock:
            if data is None or self._is_over or number != self._next:
                return False
            try:
                part = read_part(data)
                if part is not None:
                    self._add(part)
                    self._next += 1
            except InfraFault:
                self._is_over = True  # what follows cannot be believed either
                raise
        return part is not None

    def read_all(self) -> None:
        """Add every part that is there. A worker that sends nonsense costs the view of its run and nothing else."""
        while self.read_some():
            pass

    def read_some(self) -> bool:
        """The same with a few parts; False where there are no more."""
        try:
            return all(self.advance() for _ in range(_PARTS_A_LOOK))
        except Unreachable:
            raise
        except InfraFault:
            return False

    def end(self) -> None:
        """Nothing is added any more: a sealed folder may take the place of the copy."""
        with self._lock:
            self._is_over = True

    def release(self) -> None:
        """What is here stays, and is not shown as running."""
        self.end()
        if self._in_use is not None:
            self._in_use.release()

    def discard(self) -> None:
        """Of a run that its worker removed, because nothing was tried."""
        self.release()
        if self._folder is not None and self._folder.state != "sealed":
            remove_tree(self._folder.path)

    def _add(self, part: Part) -> None:
        if self.run is None:
            self.run = part.run
        if part.run != self.run:
            raise InfraFault(f"{self._key} has parts of {self.run} and of {part.run}")
        if not part.pieces:
            if self._next > 1:
                raise InfraFault(f"{self.run} sends parts without bytes")
            return
        if self._folder is None:
            # A folder of that name is another run's: a worker writes to no folder but its own.
            self._folder = RunFolder.create(self._root, part.run)
            self._in_use = _hold(self._folder)
        self._bytes += max(LEAST_PART, sum(len(one.data) for one in part.pieces))
        if self._bytes > LIVE_BYTES:
            raise InfraFault(f"{self.run} sends more than {LIVE_BYTES >> 20} MB before its end")
        for piece in part.pieces:
            self._check(piece)
            _write(self._folder.file(piece.name), piece)

    def _check(self, piece: Piece) -> None:
        if piece.name == EVENTS and piece.at == 0 and EVENTS in self._names:
            raise InfraFault(f"{self.run} sends its log anew; a log only grows")
        self._names.add(piece.name)
        if len(self._names) > LIVE_FILES:
            raise InfraFault(f"{self.run} sends more than {LIVE_FILES} files before its end")


def _hold(folder: RunFolder) -> InUse:
    try:
        return InUse(folder.path)
    except OSError as error:  # too many open files
        raise InfraFault(f"{folder.path} could not be held: {error.strerror}") from error


def _write(path: Path, piece: Piece) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with path.open("ab" if piece.at else "wb") as stream:
            if stream.tell() != piece.at:
                raise InfraFault(
                    f"{piece.name} has {stream.tell()} bytes, and the next are to follow {piece.at}"
                )
            stream.write(piece.data)
    except OSError as error:
        raise InfraFault(f"{path} could not be written: {error.strerror}") from error


class LiveCopies:
    """The runs that tasks of this process make, followed by one thread."""

    def __init__(self, place: StoreFolder, root: Path, look_s: float = LOOK_S) -> None:
        self._place, self._root, self._look_s = place, root, look_s
        self._copies: dict[str, LiveCopy] = {}
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="steelyard-follow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """What has arrived stays; nothing of it is shown as running."""
        self._ended.set()
        with self._lock:
            copies = list(self._copies.values())
            self._copies.clear()
        for copy in copies:
            copy.release()

    def expect(self, key: str) -> None:
        with self._lock:
            self._copies[key] = LiveCopy(self._place, key, self._root)

    def take(self, key: str) -> LiveCopy:
        with self._lock:
            return self._copies.pop(key)

    def _follow(self) -> None:
        while not self._ended.wait(self._look_s):
            with self._lock:
                copies = list(self._copies.values())
            for copy in copies:
                with suppress(Unreachable):  # the next look finds what this one missed
                    copy.read_some()
                if self._ended.is_set():
                    return


def forget_parts(place: StoreFolder, key: str) -> None:
    """The run is here, sealed: its parts are not needed any more. A store that fails keeps them."""
    with suppress(InfraFault):
        place.remove(f"{LIVE}/{key}")

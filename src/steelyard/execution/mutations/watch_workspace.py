"""A sandbox's workspace -> its changes as events, in near-real time, from outside the sandbox.

    upper of the overlay   says which directories were touched; each of them is then watched, in the upper and in the merged view
    merged view            says what was written, and is what is read
    no upper               every directory of the workspace is watched from the beginning

A thread reads the kernel's notices, waits a moment for more of them, and looks at each path that was named. Before a tool
call begins or ends, the thread that logs it takes what the kernel has queued by then: those paths belong to the call in
flight until now. The agent is hostile: it can flood the queue or this thread, never block it. What is missed is found when
the workspace is captured, and makes the trace incomplete.
"""

from __future__ import annotations

import errno
import os
import select
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from steelyard.deferred.named_tuple import NamedTuple
from steelyard.errors import InfraFault
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.change.change import ChangeEntry
from steelyard.evidence.change.import_limits import Caps
from steelyard.evidence.folder.blobs import Blobs
from steelyard.evidence.trace.chain import Event
from steelyard.evidence.trace.events import EventLog
from steelyard.execution.mutations.in_flight import CallsInFlight
from steelyard.execution.mutations.inotify import (
    EVERYTHING,
    IGNORED,
    IS_DIR,
    MOVED_FROM,
    OVERFLOW,
    STRUCTURE,
    Inotify,
    Notice,
)
from steelyard.execution.mutations.mutation_log import MutationLog, Views
from steelyard.execution.mutations.running_tree import RunningTree
from steelyard.filesystem.patterns import match_any
from steelyard.filesystem.tree import prefixes

NOT_SHOWN = "this sandbox does not show its workspace while an agent works"
PAUSE_S = 0.05  # for more notices to come, before paths are looked at
SPACING_S = 0.5  # between two events of one path
MOST_PENDING = 50_000  # paths
MOST_WATCHES = 16_000  # directories
MOST_NAMES = 20_000  # of one directory
MOST_DEPTH = Caps().depth  # deeper trees are not imported, and each level takes as long as the way to it
_BATCH = 256  # paths between two looks at the queue
_NICE = 10  # the agent's processes go first
_FEW_WATCHES = 2000
_ROUNDS = 1000  # each looks at everything that is known by then, so a few do
_GIT = ".git"


class _Folder(NamedTuple):
    path: str
    is_upper: bool


class WorkspaceWatch:
    """Watches one workspace from `start` to `close`. `mode` is `inotify`, or `none` with the reason in `why`."""

    def __init__(
        self, tree: CapturedTree, events: EventLog, blobs: Blobs, generated: Sequence[str] = ()
    ) -> None:
        self._upper = None if tree.touched is None else RunningTree(tree.touched, all_modes=True)
        self._workspace = RunningTree(tree.workspace, all_modes=tree.is_system)
        self._baseline = RunningTree(tree.baseline, all_modes=tree.is_system)
        self._redirects = tree.redirects
        self._skips_git = not tree.is_system
        self._mounted = tree.mounted
        self._generated = match_any(tuple(generated))
        self._log = MutationLog(Views(self._workspace, self._baseline), events, blobs, self._generated)
        self._calls = CallsInFlight()
        self._unsubscribe: Callable[[], None] = events.subscribe(self._on_event)
        self._queue = threading.Lock()  # of the kernel's notices and of `_pending`; held for moments only
        self._looking = threading.Lock()  # of `_log` and of the watches
        self._folders: dict[int, _Folder] = {}
        self._watches: dict[_Folder, int] = {}
        self._pending: dict[str, int | None] = {}
        self._recent: dict[str, float] = {}
        self._overflowed = False
        self._whole: set[str] = set()  # directories whose upper does not list everything that changed
        self._ended = threading.Event()
        self._idle = threading.Event()  # the thread looks at nothing any more
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self.missed = 0  # times at which notices were lost
        self.ignored = 0  # notices of generated paths
        self.why = ""
        try:
            self._inotify: Inotify | None = Inotify()
            self._watch_all()
        except OSError as error:
            self.why = f"the kernel refused to watch it: {error.strerror}"
            self._inotify = None
        self._thread = threading.Thread(
            target=self._serve, args=(self._inotify,), name="steelyard-watch", daemon=True
        )

    @property
    def mode(self) -> str:
        return "none" if self._inotify is None else "inotify"

    @property
    def counts(self) -> dict[str, object]:
        """For the event that ends the capture."""
        return {
            "mode": self.mode,
            "why": self.why or None,
            "events": self._log.count,
            "suppressed": self._log.suppressed,
            "missed": self.missed,
            "ignored": self.ignored,
        }

    def start(self) -> None:
        if self._inotify is not None:
            self._thread.start()

    def finish(self) -> None:
        """Once nothing of the agent's runs: everything that is known of is an event when this returns."""
        if self._inotify is None:
            return
        self._take()
        with self._looking:
            for _ in range(_ROUNDS):
                if not self._look(every=True):
                    break
                self._take()
            self._log.flush()

    def covers(self, entry: ChangeEntry) -> bool:
        return self._log.covers(entry)

    def close(self) -> None:
        """Idempotent. Nothing is looked at afterwards; the thread closes the kernel's queue, which takes many milliseconds."""
        if self._ended.is_set():
            return
        self._unsubscribe()
        with self._queue:
            inotify, self._inotify = self._inotify, None
        if inotify is not None:
            self.why = "the watch has ended"
        if self._thread.ident is None:
            self._ended.set()
            self._close_queue(inotify)
            return
        os.eventfd_write(self._wake, 1)  # first: the thread closes the descriptor once the watch has ended
        self._ended.set()
        self._idle.wait()

    def await_end(self) -> None:
        """After `close`: until nothing of the watch is left in this process."""
        if self._thread.ident is not None:
            self._thread.join()

    def _on_event(self, event: Event) -> None:
        """In the thread that logs. What was written before a call begins or ends is not of the time after it."""
        if event.type in {"tool.call", "tool.result"}:
            self._take()
            self._calls.add(event)

    def _close_queue(self, inotify: Inotify | None) -> None:
        if inotify is not None:
            inotify.close()
        os.close(self._wake)

    def _serve(self, inotify: Inotify | None) -> None:
        try:
            if inotify is not None:
                self._follow(inotify)
        finally:
            self._idle.set()
            self._ended.wait()  # another thread may read the queue until then
            self._close_queue(inotify)

    def _follow(self, inotify: Inotify) -> None:
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        queued = select.poll()
        queued.register(inotify.fd, select.POLLIN)
        queued.register(self._wake, select.POLLIN)
        with suppress(InfraFault, OSError):  # the log cannot be written: the run says so
            while not self._ended.is_set():
                queued.poll(1000 * SPACING_S if self._pending else None)
                if self._ended.wait(PAUSE_S):
                    return
                self._take()
                with self._looking:
                    self._look(every=False)
                    self._log.flush()

    def _take(self) -> None:
        """Take what the kernel has queued; quick, from any thread."""
        with self._queue:
            inotify, call = self._inotify, self._calls.current
            if inotify is None:
                return
            with suppress(OSError):
                while notices := inotify.read():
                    for notice in notices:
                        self._note(notice, call)

    def _note(self, notice: Notice, call: int | None) -> None:
        if notice.mask & OVERFLOW:
            self.missed += 1
            self._overflowed = True
            return
        folder = self._folders.get(notice.watch)
        if notice.mask & IGNORED:  # the directory is gone, and its watch
            if folder is not None and self._watches.get(folder) == notice.watch:
                del self._watches[folder], self._folders[notice.watch]
            return
        if folder is None or not notice.name:
            return
        name = os.fsdecode(notice.name)
        path = f"{folder.path}/{name}" if folder.path else name
        if notice.mask & MOVED_FROM and notice.mask & IS_DIR:
            self._drop_watches(path)
        self._add_pending(path, call)

    def _add_pending(self, path: str, call: int | None) -> None:
        if self._is_skipped(path):
            return
        if len(self._pending) >= MOST_PENDING and path not in self._pending:
            self.missed += 1
            self._overflowed = True
            return
        self._pending[path] = call

    def _is_skipped(self, path: str) -> bool:
        name = path.rpartition("/")[2]
        if (self._skips_git and name == _GIT) or path in self._mounted:
            return True
        if path.count("/") > MOST_DEPTH:
            self.missed += 1
            return True
        if self._generated(path):
            self.ignored += 1
            return True
        return False

    def _drop_watches(self, path: str) -> None:
        """A directory got another name: its notices would be taken for those of the old one."""
        gone = [
            one
            for one in (_Folder(path, is_upper=False), _Folder(path, is_upper=True))
            if one in self._watches
        ]
        # Otherwise a loop of renames would cost us more than the agent
        if len(self._watches) <= _FEW_WATCHES:
            gone += [one for one in self._watches if one.path.startswith(f"{path}/")]
        for folder in gone:
            watch = self._watches.pop(folder)
            if self._folders.get(watch) == folder:
                del self._folders[watch]
                if self._inotify is not None:
                    self._inotify.remove(watch)

    def _look(self, *, every: bool) -> bool:
        """Look at the pending paths that are due; whether any was."""
        if self._overflowed:
            self._overflowed = False
            self._rescan()
        looked = False
        while due := self._due(every=every):
            looked = True
            for path, call in due:
                entry = self._log.record(path, call)
                if entry is not None and entry.kind == "dir":
                    self._watch_below(path, call)
            self._release()
            if not every:
                self._take()  # the kernel's queue must not fill up while we work
        return looked

    def _release(self) -> None:
        for view in (self._workspace, self._baseline):
            view.release()

    def _due(self, *, every: bool) -> list[tuple[str, int | None]]:
        now = time.monotonic()
        with self._queue:
            due = []
            for path in self._pending:
                if every or now - self._recent.get(path, -SPACING_S) >= SPACING_S:
                    due.append(path)
                if len(due) >= _BATCH:
                    break
            if len(self._recent) > MOST_PENDING:
                self._recent.clear()
            self._recent.update(dict.fromkeys(due, now))
            return [(path, self._pending.pop(path)) for path in due]

    def _rescan(self) -> None:
        """Notices were lost: every directory that is watched is looked through, and what is new below it."""
        with self._queue:
            folders = sorted({folder.path for folder in self._watches})
        while folders:
            path = folders.pop()
            for name in sorted(self._touched_names(path), key=os.fsencode):
                inner = f"{path}/{name}" if path else name
                if self._is_skipped(inner):
                    continue
                entry = self._log.record(inner, None)
                is_folder = entry is not None and entry.kind == "dir" and not self._is_skipped(f"{inner}/")
                if is_folder and self._add_watch(inner):
                    folders.append(inner)
            self._release()

    def _watch_all(self) -> None:
        """Before the agent starts: every directory of the upper, or of the workspace where there is no upper."""
        view, folders = self._upper or self._workspace, [""]
        while folders:
            path = folders.pop()
            self._add_watch(path)
            if len(self._watches) >= MOST_WATCHES:
                raise OSError(errno.ENOSPC, "it has too many directories")
            inner = [f"{path}/{name}" if path else name for name in view.names(path, MOST_NAMES)]
            folders += [one for one in inner if not self._is_skipped(one) and view.is_folder(one)]

    def _watch_below(self, path: str, call: int | None) -> None:
        """Watch a directory and, once it is watched, take what it holds by now; so nothing falls between the two."""
        if path and self._is_skipped(f"{path}/"):
            return
        if self._add_watch(path):
            self._scan(path, call)

    def _add_watch(self, path: str) -> bool:
        """Whether it was not watched before."""
        merged, upper = _Folder(path, is_upper=False), _Folder(path, is_upper=True)
        if self._folders.get(self._watches.get(merged, -1)) == merged:
            return False
        if len(self._watches) >= 2 * MOST_WATCHES:
            self.missed += 1
            return True
        views = [(merged, self._workspace, EVERYTHING)]
        if self._upper is not None:
            views.append((upper, self._upper, STRUCTURE))
        for folder, view, mask in views:
            self._add_one(folder, view, mask)
        return True

    def _add_one(self, folder: _Folder, view: RunningTree, mask: int) -> None:
        inotify = self._inotify
        if inotify is None:
            return
        try:
            opened = view.open_folder(folder.path)
        except OSError:
            return  # gone again, or locked: the capture will see it
        try:
            with self._queue:
                watch = inotify.add(opened, mask)
                self._folders[watch] = folder
                self._watches[folder] = watch
        except OSError:
            if not folder.path:
                raise
            self.missed += 1
        finally:
            os.close(opened)

    def _scan(self, path: str, call: int | None) -> None:
        """Whatever may have changed in a directory is pending; below it, directories are found one by one."""
        names = self._touched_names(path)
        with self._queue:
            for name in names:
                inner = f"{path}/{name}" if path else name
                if inner not in self._pending:
                    self._add_pending(inner, call)

    def _touched_names(self, path: str) -> set[str]:
        """What may differ from the baseline in a directory."""
        here, before = self._workspace.names(path, MOST_NAMES), self._baseline.names(path, MOST_NAMES)
        if len(here) >= MOST_NAMES:
            self.missed += 1
        if self._upper is None or self._is_whole(path):
            return {*here, *before}
        return {*self._upper.names(path, MOST_NAMES), *(set(before) - set(here))}

    def _is_whole(self, path: str) -> bool:
        """Whether the upper does not list all that is new here: the directory has come from another place."""
        if self._upper is None or any(place in self._whole for place in prefixes(path)):
            return True
        try:
            folder = self._upper.open_folder(path)
        except OSError:
            return True
        try:
            if not self._redirects:
                return False
            os.getxattr(folder, self._redirects)
        except OSError:
            return False
        finally:
            os.close(folder)
        self._whole.add(path)
        return True

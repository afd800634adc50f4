"""The agent's own sandbox as the bench (`bench: live`): nothing of the agent runs in it, everything it left is there.

For work that is no file of the workspace: a database below HOME, a package that was installed. Whatever the agent planted
stays in force, so the label of such a verdict says `tree live`. What a check brings is written by commands in that sandbox;
what cannot be written there is the agent's doing.
"""

from __future__ import annotations

from dataclasses import replace

from steelyard.deferred.data_class import dataclass
from steelyard.errors import AgentFault, InfraFault
from steelyard.sandboxes.base import Command, CommandResult, FileOverlay, Mount, Sandbox

LAY_S = 60.0
OWN_PATH = {"PATH": "/usr/bin:/bin"}
_PUT = 'mkdir -p -- "${1%/*}" && rm -rf -- "$1" && cat > "$1" && chmod -- "$2" "$1"'
_LINK = 'mkdir -p -- "${1%/*}" && rm -rf -- "$1" && ln -s -- "$2" "$1"'
_FOLDER = 'mkdir -p -- "$1"'
_GONE = 'rm -rf -- "$1"'
_EMPTY = 'chmod -R u+rwX -- "$1"; rm -rf -- "$1"/* "$1"/.[!.]* "$1"/..?*; [ -z "$(ls -A -- "$1")" ]'


@dataclass(frozen=True, slots=True)
class LiveTree:
    """A sandbox whose agent has ended, settled and captured."""

    sandbox: Sandbox

    def write(self, overlays: tuple[FileOverlay, ...], extra_mounts: tuple[Mount, ...]) -> None:
        """Hidden files over the workspace, and the folders of a verifier, emptied first."""
        for mount in extra_mounts:
            self._write(_EMPTY, mount.path)
            for piece in mount.overlays:
                self._piece(replace(piece, path=f"{mount.path}/{piece.path}"))
        for piece in overlays:
            self._piece(replace(piece, path=f"./{piece.path}"))

    def _piece(self, piece: FileOverlay) -> None:
        if piece.kind == "read_only":
            return  # the agent is the owner of this sandbox
        if piece.kind == "file":
            content = piece.source.read_bytes() if piece.source is not None else b""
            self._write(_PUT, piece.path, piece.mode, content=content)
        elif piece.kind == "symlink":
            self._write(_LINK, piece.path, piece.target)
        else:
            self._write(_FOLDER if piece.kind == "dir" else _GONE, piece.path)

    def _write(self, script: str, *words: str, content: bytes = b"") -> None:
        argv = ("/bin/sh", "-c", f"umask 022; {script}", "write", *words)
        done: CommandResult = self.sandbox.run(Command(argv, env=OWN_PATH, stdin=content, timeout_s=LAY_S))
        if done.lost and not self.sandbox.stop().oom_kills:  # what the agent left in it takes up room
            raise InfraFault(f"the sandbox died while {words[0]} was written into it")
        if done.exit_code != 0:
            how = "timed out" if done.timed_out else f"exit code {done.exit_code}"
            why = done.stderr.text.strip()[-200:] or done.not_started or how
            raise AgentFault(f"{words[0]} could not be written into the agent's sandbox: {why}")

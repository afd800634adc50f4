"""Where commands run: a `SandboxSpec` describes it, a `Sandbox` is one that is alive.

A backend mounts `spec.layers` copy-on-write at /workspace, writes `spec.overlays` over it as data, and starts
steelyard's init as process 1. From then on every command goes through init. `stop` kills everything and
proves it; only then does `captured_tree` hand out the workspace, as descriptors to be read as data.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Literal, Protocol, Self

from steelyard import sandbox_paths
from steelyard.deferred.data_class import dataclass
from steelyard.deferred.named_tuple import NamedTuple
from steelyard.evidence.change.captured_tree import CapturedTree
from steelyard.evidence.redact import NO_SECRETS, Secrets
from steelyard.sandboxes.file_overlay import FileOverlay as FileOverlay  # noqa: PLC0414  # a part of `SandboxSpec`, known from here
from steelyard.sandboxes.init.attempts import OnAttempt
from steelyard.sandboxes.init.feed import Feed
from steelyard.sandboxes.process_tree import ProcessTree

WORKSPACE = sandbox_paths.WORKSPACE
HOME = sandbox_paths.HOME
ROOT_HOME = "/root"  # of the user that a whole system is given to
HOSTNAME = sandbox_paths.HOSTNAME

Scope = Literal["workspace", "system"]
Isolation = Literal["none", "bubblewrap", "container", "vm"]
Enforced = Literal["cgroup", "rlimit", "tmpfs", "quota", "polled", "none"]


@dataclass(frozen=True, slots=True)
class Limits:
    cpu: float = 2.0
    memory_mb: int = 4096
    guaranteed_mb: int = 1024  # of memory_mb: what is set aside before a sandbox may start
    disk_mb: int = 2048  # workspace and HOME together
    tmp_mb: int = 256  # /tmp and /dev/shm, each
    processes: int = 512


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder beside the workspace, on the same disk quota: `/tests` with files written in it, an empty `/logs`."""

    path: str  # absolute, inside the sandbox
    overlays: tuple[FileOverlay, ...] = ()
    read_only: bool = False


class HostFolder(NamedTuple):
    """A folder of this machine, mounted read-only: no copy of it is made, and it takes nothing of the disk quota."""

    path: str  # absolute, inside the sandbox
    source: Path


class AllowedHost(NamedTuple):
    """What may be reached from a sandbox that has no network: one port of one host, by its name."""

    host: str
    port: int

    @classmethod
    def of(cls, text: str) -> AllowedHost:
        host, _, port = text.rpartition(":")
        return cls(host, int(port))

    @classmethod
    def each(cls, network: str | tuple[str, ...]) -> tuple[AllowedHost, ...]:
        """Those of a contract's key; one that says `none` or `host` names none."""
        return () if isinstance(network, str) else tuple(cls.of(text) for text in network)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Connection:
    """One connection to an allowed host; or all connections after the first thousand, added up."""

    to: str
    opened: int  # on the clock of time.monotonic_ns
    out_bytes: int
    in_bytes: int
    failed: str | None = None  # why, if it did not come to an end of its own
    count: int = 1
    refused: int = 0  # connections refused because too many were open; known when the listener is closed


OnConnection = Callable[[Connection], None]


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """Everything that makes one sandbox; nothing of the host gets in unless it is named here."""

    layers: tuple[Path, ...]  # read-only trees of /workspace, topmost first
    home_layers: tuple[Path, ...] = ()
    overlays: tuple[FileOverlay, ...] = ()
    extra_mounts: tuple[Mount, ...] = ()
    folders: tuple[HostFolder, ...] = ()
    limits: Limits = Limits()
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Secrets = NO_SECRETS  # values that no captured output of a command shows
    toolchains: tuple[Path, ...] = ()  # host prefixes, bound read-only at their own paths
    links: Mapping[str, Path] = field(default_factory=dict)  # names in /run/steelyard/bin, first on PATH
    network: Literal["none", "host"] = "none"
    allowed_hosts: tuple[AllowedHost, ...] = ()  # of a network that is `none`
    on_connection: OnConnection | None = None  # called by any thread with each connection that ended
    on_attempt: OnAttempt | None = None  # called by any thread with system calls that were refused
    host_files: Mapping[str, Path] = field(default_factory=dict)  # path inside -> host file, read-only
    # `full`: folders of the layers can be renamed, if need be by a copy
    rename: Literal["auto", "full"] = "auto"
    keep: Path | None = None  # a folder on disk that receives the uppers (a setup layer), not a tmpfs
    key: str = ""  # names the content of all layers: layers whose key was seen are not examined again
    image: str = ""  # docker: the id of the image under everything
    image_env: Mapping[str, str] = field(default_factory=dict)
    # Another name for /workspace, and where commands start; of a whole system only the latter
    workdir: str = ""
    # `system` (docker): the agent is root of the image, and all of that is the workspace
    scope: Scope = "workspace"
    user: str = ""  # of a whole system: who runs commands in it, instead of root
    owner: str = ""  # of a whole system: whose files are written in it
    write_switch: bool = False  # docker: prepare the workspace for `set_workspace_writable`
    # docker: nothing but workspace, HOME, places and temporary folders can be written
    read_only: bool = False


def with_allowed_hosts(
    spec: SandboxSpec, network: str | tuple[str, ...], on_connection: OnConnection | None = None
) -> SandboxSpec:
    """The same with what a contract's key lets it reach."""
    return replace(spec, allowed_hosts=AllowedHost.each(network), on_connection=on_connection)


def addresses(allowed_hosts: tuple[AllowedHost, ...]) -> dict[str, str]:
    """Host -> its address in the sandbox, on the loopback device."""
    hosts = dict.fromkeys(allowed_host.host for allowed_host in allowed_hosts)
    return {host: f"127.0.1.{number}" for number, host in enumerate(hosts, start=1)}


@dataclass(frozen=True, slots=True)
class Command:
    argv: tuple[str, ...]
    cwd: str = ""  # relative to the workspace, or absolute inside the sandbox
    env: Mapping[str, str] = field(default_factory=dict)  # on top of the sandbox's
    stdin: bytes | Feed = b""  # a feed is filled while the command runs
    timeout_s: float | None = None
    keep_bytes: int = 1 << 20  # of each stream, in memory: half from the head, half from the tail
    whole_bytes: int = 0  # of a stream longer than that, from its beginning, on disk
    ends_all: bool = False  # every other process of the sandbox is killed before this one ends
    # With `ends_all`, where the machine can: before this command opens one of these files for writing, processes that it has lost, and
    # those of code that it tests, are killed.
    guarded: tuple[str, ...] = ()
    writers: tuple[str, ...] = ()  # programs of the command that may write those files; a folder ends with /

    def folder(self, workspace: str = WORKSPACE) -> str:
        """Where it runs: `cwd` inside the workspace, or wherever it says."""
        return (
            self.cwd if self.cwd.startswith("/") else f"{workspace.rstrip('/')}/{self.cwd}".rstrip("/") or "/"
        )


class SpoolFile(Protocol):
    """The beginning of a long stream, on disk: a descriptor (-1: none could be had) and how much it holds."""

    fd: int
    size: int


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """A bounded view of an unbounded stream."""

    head: bytes = b""
    tail: bytes = b""
    size: int = 0
    sha256: str = hashlib.sha256().hexdigest()  # of the whole stream, kept or not
    spool: SpoolFile | None = field(
        default=None, compare=False, repr=False
    )  # its beginning, where it is long

    @property
    def view(self) -> bytes:
        """Head and tail; a mark says what is left out between them."""
        cut = self.size - len(self.head) - len(self.tail)
        middle = f"\n... {cut} bytes left out ...\n" if cut > 0 else ""
        return self.head + middle.encode() + self.tail

    @property
    def text(self) -> str:
        return self.view.decode(errors="replace")

    def chunks(self) -> Iterator[bytes]:
        """Everything that was kept from the beginning on, or else head and tail."""
        if self.spool is None or self.spool.fd < 0:
            yield from (part for part in (self.head, self.tail) if part)
            return
        at = 0
        while data := os.pread(self.spool.fd, 1 << 18, at):
            at += len(data)
            yield data


class GuardedFile(NamedTuple):
    """Who wrote a guarded file, as far as init saw."""

    path: str
    # misled: the command, after a program of its own had loaded what others left in place of a library
    writer: Literal["unseen", "command", "others", "misled"]
    # Of others: the programs from the command down to the first that is not its own, as a digest
    chain: int = 0
    argv: str = ""  # of others: as the process shows it


@dataclass(frozen=True, slots=True)
class CommandResult:
    """How a command ended. Exactly one of: `exit_code`, `signal`, `timed_out`, `not_started`, `lost`."""

    exit_code: int | None
    signal: int | None = None
    timed_out: bool = False
    not_started: str = ""  # why exec failed
    lost: bool = False  # the sandbox died under it
    wall_ns: int = 0
    cpu_ns: int = 0
    stdout: CapturedOutput = CapturedOutput()
    stderr: CapturedOutput = CapturedOutput()
    guarded: tuple[GuardedFile, ...] = ()  # empty where files could not be guarded


@dataclass(frozen=True, slots=True)
class ExitStats:
    """What the sandbox said on its way out."""

    oom_kills: int = 0
    peak_memory_bytes: int | None = None
    processes_refused: int = 0
    disk_full: bool = False


@dataclass(frozen=True, slots=True)
class Facts:
    """What this sandbox really enforces; goes into the manifest and the assurance label."""

    kind: str  # bubblewrap | docker | local
    isolation: Isolation
    materialise: Literal["overlay", "copy"]
    overlay: Literal["root", "userxattr", ""]
    network: Literal["none", "allow_list", "host"]
    run_uid: int | None  # None: of a user that the image gives its number
    limits: Mapping[str, Enforced]  # cpu, memory, disk, processes
    write_switch: bool = False  # whether the workspace can be made read-only while commands run
    kernel_evidence: tuple[str, ...] = ()  # refused system calls that are seen
    no_kernel_evidence: str = "not asked for"  # why none are seen


def network_of(spec: SandboxSpec) -> Literal["none", "allow_list", "host"]:
    return "allow_list" if spec.allowed_hosts else spec.network


OnOutput = Callable[[Literal["stdout", "stderr"], bytes], None]


class Sandbox(Protocol):
    @property
    def facts(self) -> Facts: ...

    def run(self, command: Command, on_output: OnOutput | None = None) -> CommandResult:
        """Run one command to its end; a timeout kills everything that the command started."""

    def kill_processes(self) -> None:
        """Kill every process and wait until all are dead, but live on: what is there now may be read as `captured_tree`.

        Until the next command. Raises InfraFault when the sandbox died before.
        """

    def set_workspace_writable(self, *, writable: bool) -> bool:
        """Let commands write to the workspace, or not; from any thread, while commands run.

        False: a process has a file of the workspace open for writing, so it stays writable for now.
        Raises InfraFault where the sandbox has no such switch (`facts.write_switch`) or is dead.
        """

    def process_tree(self) -> ProcessTree | None:
        """Its processes as this machine sees them; None where they run elsewhere, or there are none."""

    def hold_deadlines(self, *, hold: bool) -> None:
        """Let the time limits of running commands stand still, or run on; for a pause."""

    def attempts(self) -> dict[str, int]:
        """How often each watched system call was refused or left for another machine; empty where none are watched."""

    def forget_hosts(self, kept: tuple[AllowedHost, ...]) -> None:
        """After `kill_processes`: commands that follow reach only `kept`."""

    def stop(self) -> ExitStats:
        """Kill every process, wait until all are dead, and say what happened. Idempotent."""

    def captured_tree(self) -> CapturedTree:
        """The workspace in which nothing lives, after `stop` or `kill_processes`; the descriptors live until `close`."""

    def open_folder(self, path: str) -> int | None:
        """A descriptor of a folder inside, which the caller closes; None where this machine cannot see it."""

    def running_tree(self) -> CapturedTree | None:
        """The workspace while commands may run in it, for who watches it; None where this machine cannot see it.

        The descriptors live until `close`.
        """

    def close(self) -> None:
        """Stop, and give everything back to the host. Idempotent."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc: object) -> None: ...


class Backend(Protocol):
    """A way to make sandboxes; the catalogue in `sandboxes/__init__.py` names them."""

    def facts(self, spec: SandboxSpec) -> Facts:
        """What a sandbox of this spec would enforce here. Raises InfraFault when this machine cannot."""

    def start(self, spec: SandboxSpec) -> Sandbox: ...

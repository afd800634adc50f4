"""An agent that tries what its sandbox denies, and then the one who watches: its calls stay denied, and each is seen.

Init answers the system calls of an agent from a thread of its own (seccomp user notification). An agent may flood it, hide its memory,
change its words after the call, look for the listener, or be killed in the middle of a call.
"""

from __future__ import annotations

import errno
import platform

import pytest
from sandbox_stage import Stage, bubblewrap_only, each_sandbox  # noqa: F401

from steelyard.sandboxes.init.watch_calls import why_not_watched
from steelyard.sandboxes.seccomp import TABLES

pytestmark = pytest.mark.skipif(
    bool(why_not_watched()), reason="this machine gives no listener for system calls"
)
TABLE = TABLES.get(platform.machine())
LIBC = "import ctypes, os, socket, sys\nlibc = ctypes.CDLL(None, use_errno=True)\n"
TRY = LIBC + "def tried(*words):\n    libc.syscall(*words)\n    return ctypes.get_errno()\n"


def seen(stage: Stage, kind: str) -> list[tuple[str, str]]:
    return [(one.call, one.target) for one in stage.attempts if one.kind == kind]


def test_every_denied_call_stays_denied_and_is_seen() -> None:
    """The agent goes through the whole list: whatever init does with the notification, no call is made."""
    assert TABLE is not None
    code = TRY + f"print({{tried(number, 0, 0, 0, 0, 0, 0) for number in {[*TABLE.denied.values()]}}})"
    with Stage() as stage:
        assert stage.python(code).stdout.text == f"{{{errno.EPERM}}}\n"
        assert {call for call, _ in seen(stage, "call")} == set(TABLE.denied)
        assert set(stage.sandbox.attempts()) == set(TABLE.denied)


def test_namespaces_terminals_and_other_address_families_stay_denied() -> None:
    assert TABLE is not None
    code = TRY + (
        f"print([tried({TABLE.clone}, flag | 17, 0, 0, 0, 0) for flag in (0x10000000, 0x20000, 0x40000000)],"
        f" tried({TABLE.ioctl}, 0, 0x5412, 0), tried({TABLE.ioctl}, 0, (1 << 32) | 0x541C, 0),"
        f" tried({TABLE.socket}, 40, 1, 0), tried({TABLE.clone3}, 0, 0))"
    )
    with Stage() as stage:
        shown = stage.python(code).stdout.text
    assert shown == f"[1, 1, 1] 1 1 {errno.EAFNOSUPPORT} {errno.ENOSYS}\n"


def test_a_connection_is_seen_though_nothing_can_be_reached() -> None:
    """No route leads out of the sandbox; that the agent tried is known all the same."""
    code = LIBC + (
        "def tried(one, to):\n    try: one.connect(to)\n    except OSError as error: return error.errno\n"
        "print(tried(socket.socket(), ('198.18.0.7', 443)), tried(socket.socket(2, 2), ('198.18.0.9', 22)))\n"
        "try: socket.socket(2, 2).sendto(b'x', ('198.18.0.8', 53))\nexcept OSError: pass\n"
    )
    with Stage() as stage:
        stage.python(code)
    assert seen(stage, "connect") == [
        ("connect", "198.18.0.7:443"),
        ("connect", "198.18.0.9:22"),
        ("sendto", "198.18.0.8:53"),
    ]


def test_connections_inside_the_sandbox_are_no_attempts() -> None:
    code = LIBC + (
        "a = socket.socket(); a.bind(('127.0.0.1', 0)); a.listen()\n"
        "b = socket.socket(); b.connect(a.getsockname()); b.send(b'x')\n"
        "c, d = socket.socketpair(); c.send(b'x')\n"
        "e = socket.socket(1); e.bind('/tmp/e'); e.listen(); f = socket.socket(1); f.connect('/tmp/e'); print('fine')"
    )
    with Stage() as stage:
        assert stage.python(code).stdout.text == "fine\n"
        assert stage.sandbox.attempts() == {}


def test_a_refused_write_is_seen_with_its_whole_path() -> None:
    script = "cd /; echo x > etc/passwd; echo x >> /etc/hosts; echo x > /tmp/mine; cd /tmp; echo x > mine"
    with Stage() as stage:
        stage.sh(f"({script}) 2>/dev/null")
    assert [path for _, path in seen(stage, "open")] == ["/etc/passwd", "/etc/hosts"]


def test_a_refused_read_is_seen_with_the_path_that_links_lead_to() -> None:
    """The agent reads what it may not and prints nothing: by its name, from its folder, through a link, through a descriptor."""
    code = LIBC + (
        "def tried(path, flags=os.O_RDONLY, **how):\n"
        "    try: os.close(os.open(path, flags, **how))\n    except OSError: pass\n"
        "for name in 'abcd': os.mkdir(f'/tmp/{name}'); open(f'/tmp/{name}/key', 'w').close(); os.chmod(f'/tmp/{name}/key', 0)\n"
        "tried('/tmp/a/key'); os.chdir('/tmp/b'); tried('key')\n"
        "os.symlink('/tmp/c/key', '/tmp/link'); tried('/tmp/link')\n"
        "handle = os.open('/tmp/d/key', os.O_PATH); tried(f'/proc/self/fd/{handle}')\n"
        "os.mkdir('/tmp/e', 0); tried('/tmp/e', os.O_RDONLY | os.O_DIRECTORY)\n"
    )
    with Stage() as stage:
        assert stage.python(code).exit_code == 0
    assert [path for _, path in seen(stage, "read")] == [f"/tmp/{name}/key" for name in "abcd"]
    assert [path for _, path in seen(stage, "list")] == ["/tmp/e"]


def test_process_1_keeps_its_environment_and_the_attempt_is_seen() -> None:
    with Stage() as stage:
        done = stage.sh("cat /proc/1/environ /proc/1/maps /proc/1/mem")
        assert (done.exit_code, done.stdout.text) == (1, "")
    assert [path for _, path in seen(stage, "read")] == ["/proc/1/environ", "/proc/1/maps", "/proc/1/mem"]


def test_what_a_process_reads_of_itself_is_no_attempt() -> None:
    """Init has a /proc/self of its own, which is closed to others."""
    script = "cat /proc/self/environ /proc/self/maps /proc/thread-self/auxv; cd /proc; cat self/environ; cat < /dev/stdin"
    with Stage() as stage:
        assert stage.sh(f"({script}) > /dev/null < /etc/passwd").exit_code == 0
        assert stage.sandbox.attempts() == {}


def test_files_that_are_missing_and_addresses_that_lead_nowhere_are_no_attempts() -> None:
    assert TABLE is not None
    openat = TABLE.watched["openat"]
    code = TRY + (
        f"print(tried({openat}, -100, b'/etc/missing', 0), tried({openat}, -100, 1, 0), tried({openat}, 99, b'x', 0))"
    )
    with Stage() as stage:
        assert stage.python(code).stdout.text == f"{errno.ENOENT} {errno.EFAULT} {errno.EBADF}\n"
        assert stage.sandbox.attempts() == {}


def test_many_threads_and_processes_that_read_are_all_answered() -> None:
    """The watcher opens files itself, the memory of the caller for one: it must not wait for its own answer."""
    code = LIBC + (
        "import threading\n"
        "open('/tmp/key', 'w').close(); os.chmod('/tmp/key', 0)\n"
        "def work():\n"
        "    for _ in range(100):\n"
        "        open('/etc/passwd').close(); os.listdir('/etc')\n"
        "        try: open('/tmp/key')\n        except PermissionError: pass\n"
        "for _ in range(3): os.fork()\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[one.start() for one in threads]; [one.join() for one in threads]\n"
        "while True:\n    try: os.wait()\n    except ChildProcessError: break\n"
    )
    with Stage() as stage:
        assert stage.python(code).exit_code == 0
        assert stage.sandbox.attempts() == {"openat": 8 * 3 * 100}
    assert seen(stage, "read") == [("openat", "/tmp/key")]


def test_a_process_that_is_killed_in_the_middle_of_its_reads_holds_up_nothing() -> None:
    with Stage() as stage:
        assert stage.sh("while :; do cat /etc/passwd; done > /dev/null", timeout_s=1).timed_out
        stage.sh("(while :; do read x < /etc/passwd; done) & sleep 0.2; kill -9 $!; kill -9 -1")
        assert stage.sh("echo alive").stdout.text == "alive\n"


def test_a_refused_change_of_a_folder_is_seen() -> None:
    """Only what the kernel refuses: a folder that is there already and a file that is missing are no attempts."""
    script = (
        "cd /usr; mkdir own; mkdir -p /usr/bin; rm -f lib/missing; mkdir /tmp/own; rmdir /tmp/own; rm -f bin/true; "
        "mv /usr/bin/false /tmp/false; echo x > /tmp/a; mv /tmp/a /tmp/b; mv -T /tmp/b /usr/bin/../b; rm /tmp/b"
    )
    with Stage() as stage:
        stage.sh(f"({script}) 2>/dev/null")
    changed = {path for call, path in seen(stage, "open") if not call.startswith(("open", "creat"))}
    assert changed == {"/usr/own", "/usr/bin/true", "/usr/bin/false", "/usr/b"}


def test_a_refused_link_cut_or_change_of_modes_is_seen() -> None:
    """Only what the kernel refuses: the same in /tmp, and a link that is there already, are no attempts."""
    code = LIBC + (
        "def tried(change, *words):\n    try: change(*words)\n    except OSError: pass\n"
        "for top in ('/tmp/', '/usr/'):\n"
        "    if top == '/tmp/': open('/tmp/file', 'w').close(); os.chmod('/tmp/file', 0o444)\n"
        "    tried(os.symlink, '/etc', top + 'symlink'); tried(os.link, '/tmp/file', top + 'link')\n"
        "    tried(os.chmod, top + 'file' if top == '/tmp/' else '/usr/bin', 0o700)\n"
        "    tried(os.truncate, '/tmp/file' if top == '/tmp/' else '/etc/passwd', 0)\n"
        "tried(os.symlink, '/etc', '/usr/bin')\n"
    )
    with Stage() as stage:
        assert stage.python(code).exit_code == 0
    assert [path for _, path in seen(stage, "open")] == [
        "/usr/symlink",
        "/usr/link",
        "/usr/bin",
        "/etc/passwd",
    ]


@bubblewrap_only
def test_each_change_of_a_read_only_workspace_is_seen() -> None:
    """The files are the agent's own, and only the mount refuses."""
    script = "chmod 700 readme; ln -s readme a; ln readme b; truncate -s 0 readme; mkdir c; rm -f readme; mv readme d"
    with Stage() as stage:
        assert stage.sandbox.set_workspace_writable(writable=False)
        stage.sh(f"cd /workspace; ({script}) 2>/dev/null")
    found = {one.call.removesuffix("at2").removesuffix("at"): one.error for one in stage.attempts}
    assert set(found.values()) == {"EROFS"}
    assert {"symlink", "link", "open", "mkdir", "unlink", "rename"} <= found.keys()
    assert found.keys() & {"chmod", "fchmod"}


def test_an_open_for_writing_by_openat2_is_seen() -> None:
    code = TRY + (
        "for path, flags in ((b'/etc/hosts', os.O_RDONLY), (b'/etc/passwd', os.O_WRONLY), (b'/tmp/new', os.O_RDWR | os.O_CREAT)):\n"
        "    how = (ctypes.c_uint64 * 3)(flags, 0o600 if flags & os.O_CREAT else 0, 0)\n"
        "    libc.syscall(437, -100, path, ctypes.byref(how), 24)\n"
    )
    with Stage() as stage:
        stage.python(code)
    assert ("openat2", "/etc/passwd") in seen(stage, "open")
    assert "/etc/hosts" not in {path for _, path in seen(stage, "open")}


def test_a_message_to_another_machine_is_seen() -> None:
    code = LIBC + (
        "one = socket.socket(2, 2)\ntry: one.sendmsg([b'x'], [], 0, ('198.18.0.8', 53))\nexcept OSError: pass\n"
        "a, b = socket.socketpair(); a.sendmsg([b'x']); print(b.recv(1))\n"
    )
    with Stage() as stage:
        assert stage.python(code).stdout.text == "b'x'\n"
    assert seen(stage, "connect") == [("sendmsg", "198.18.0.8:53")]


def test_a_file_that_may_not_be_executed_is_seen() -> None:
    with Stage() as stage:
        stage.sh("cp /bin/true /tmp/plain; chmod 600 /tmp/plain; /tmp/plain; /bin/true")
    assert seen(stage, "exec") == [("execve", "/tmp/plain")]  # inside the sandbox


def test_a_flood_of_denied_calls_is_counted_and_reported_once() -> None:
    """The agent wants a log without end, or an init that has no time for anything else."""
    assert TABLE is not None
    flood = TRY + f"for _ in range(3000): tried({TABLE.denied['ptrace']}, 0, 0, 0, 0)\n"
    with Stage() as stage:
        assert stage.python(flood).exit_code == 0
        assert len(stage.attempts) == 1
        assert stage.sandbox.attempts() == {"ptrace": 3000}


def test_a_flood_of_different_attempts_ends_at_a_bound() -> None:
    flood = LIBC + (
        "for n in range(1000):\n    try: socket.socket(2, 2).connect((f'198.18.{n // 250}.{n % 250}', 9))\n"
        "    except OSError: pass\n"
    )
    with Stage() as stage:
        assert stage.python(flood).exit_code == 0
        assert stage.sh("echo alive").stdout.text == "alive\n"
        assert len(stage.attempts) <= 256
        assert stage.sandbox.attempts() == {"connect": 1000}


def test_many_threads_and_processes_at_once_are_all_answered() -> None:
    assert TABLE is not None
    code = TRY + (
        "import threading\n"
        f"def work():\n    for _ in range(50): tried({TABLE.denied['bpf']}, 0, 0, 0)\n"
        "for _ in range(3): os.fork()\n"
        "threads = [threading.Thread(target=work) for _ in range(3)]\n"
        "[one.start() for one in threads]; [one.join() for one in threads]\n"
        "while True:\n    try: os.wait()\n    except ChildProcessError: break\n"
    )
    with Stage() as stage:
        assert stage.python(code).exit_code == 0
        assert stage.sandbox.attempts() == {"bpf": 8 * 3 * 50}


def test_a_command_that_is_killed_in_the_middle_of_its_calls_holds_up_nothing() -> None:
    assert TABLE is not None
    loop = TRY + f"while True: tried({TABLE.denied['mount']}, 0, 0, 0, 0, 0)\n"
    with Stage() as stage:
        for _ in range(3):
            assert stage.python(loop, timeout_s=1).timed_out
        assert stage.sh("echo alive").stdout.text == "alive\n"


def test_signals_neither_allow_nor_hang_a_watched_call() -> None:
    """A call that a signal interrupts before init has read it ends with EINTR, or is made again by the kernel."""
    assert TABLE is not None
    code = TRY + (
        "import signal\nsignal.signal(signal.SIGALRM, lambda *_: None)\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)\n"
        f"print({{tried({TABLE.denied['keyctl']}, 0, 0, 0) for _ in range(2000)}})"
    )
    with Stage() as stage:
        shown = stage.python(code).stdout.text
    assert shown in {f"{{{errno.EPERM}}}\n", f"{{{errno.EPERM}, {errno.EINTR}}}\n"}


def test_a_process_that_hides_its_memory_hides_only_the_address() -> None:
    """In a process of its own: init may still have the memory of the caller before open."""
    code = LIBC + (
        "libc.prctl(4, 0, 0, 0, 0)\n"
        "if os.fork(): os.wait()\n"
        "else:\n    try: socket.socket().connect(('198.18.0.7', 443))\n    except OSError: os._exit(0)\n"
    )
    with Stage() as stage:
        stage.python(code)
    hidden = [(one.call, one.target, one.is_hidden) for one in stage.attempts if one.kind == "connect"]
    assert hidden == [("connect", "", True)]


def test_a_process_that_hides_its_memory_and_reads_is_seen() -> None:
    """What it reads is not known, and that is an attempt of its own: once, however often it reads."""
    code = LIBC + (
        "libc.prctl(4, 0, 0, 0, 0)\n"
        "if os.fork(): os.wait(); os._exit(0)\n"
        "for _ in range(100): open('/etc/passwd').close()\nos._exit(0)\n"
    )
    with Stage() as stage:
        stage.python(code)
    assert [(one.target, one.is_hidden) for one in stage.attempts if one.kind == "read"] == [("", True)]


def test_an_address_that_is_changed_after_the_call_decides_nothing() -> None:
    """Between the notification and the call, another thread changes the address: the kernel decides by what it reads itself."""
    assert TABLE is not None
    code = TRY + (
        "import struct, threading\n"
        "near = struct.pack('<H', 2) + (9).to_bytes(2, 'big') + bytes([127, 0, 0, 1]) + bytes(8)\n"
        "far = struct.pack('<H', 2) + (9).to_bytes(2, 'big') + bytes([198, 18, 0, 7]) + bytes(8)\n"
        "room = ctypes.create_string_buffer(near, 16)\n"
        "ended = threading.Event()\n"
        "def swap():\n    while not ended.is_set(): room.raw = far; room.raw = near\n"
        "thread = threading.Thread(target=swap); thread.start()\n"
        f"found = {{tried({TABLE.watched['connect']}, socket.socket().fileno(), room, 16) for _ in range(300)}}\n"
        "ended.set(); thread.join(); print(0 in found)"
    )
    with Stage() as stage:
        assert stage.python(code).stdout.text == "False\n"


def test_no_listener_is_among_the_descriptors_of_a_command() -> None:
    with Stage() as stage:
        shown = stage.sh("ls -l /proc/self/fd /proc/$$/fd").stdout.text
    assert "seccomp" not in shown


def test_a_second_listener_cannot_be_had() -> None:
    """The agent loads a filter with a listener of its own, to answer its own calls before init does."""
    code = TRY + (
        "import struct\nstep = ctypes.create_string_buffer(struct.pack('<HBBI', 6, 0, 0, 0x7FC00000), 8)\n"
        "program = struct.pack('<HxxxxxxQ', 1, ctypes.addressof(step))\n"
        f"print(tried({317 if platform.machine() == 'x86_64' else 277}, 1, 8, program))"
    )
    with Stage() as stage:
        assert stage.python(code).stdout.text == f"{errno.EBUSY}\n"


def test_what_watches_cannot_be_killed_or_stopped() -> None:
    assert TABLE is not None
    code = TRY + f"print(tried({TABLE.denied['unshare']}, 0x10000000))"
    with Stage() as stage:
        stage.sh(
            "for n in 1 2 3 4 5 6; do kill -9 $n; kill -STOP $n; done; for t in /proc/1/task/*; do kill -9 ${t##*/}; done"
        )
        stage.sh("kill -9 -1")
        assert stage.python(code).stdout.text == f"{errno.EPERM}\n"
        assert ("unshare", "") in seen(stage, "call")

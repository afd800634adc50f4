"""Runs inside the sandbox: forks the process that runs tests, reads its records, and observes how it ends.

This program arrives over stdin with its configuration. No other process gets its stdout, the channel to the controller. The nonce that makes
its report believable waits in stdin until every process of the tests has been forked, so no copy of this memory has
it; no process may trace or read this one. The tests' process reports in records over a socket:

    own name  |  part name     of a module: the tree is, or is part of, its own runner
    absent name                of the runner
    ready                      from now on code of the tree may run, and none of the above is believed
    plan   id  file  [title]   once for each test, in order
    planned                    no more of them
    start  number              one test at a time
    raised number              it raised something: from now on it is no pass
    finish number outcome detail
    problem text  |  tampering text
    end    exit code           the last word; then the process ends with that code

Words of a record are separated by NUL, so that no patched JSON encoder is between a result and its record.
"""

import ctypes
import json
import os
import select
import signal
import socket
import struct
import sys
import time

MAX_RECORD = 16384
MAX_RECORD_BYTES = 256 << 20
MAX_TESTS = 100000
MAX_TEXT = 500
MAX_NOTES = 50
EARLY = ("own", "part", "absent")
OUTCOMES = ("passed", "failed", "error", "skipped")
CREDENTIALS = struct.Struct("3i")
CUT = int(socket.MSG_TRUNC | socket.MSG_CTRUNC)  # two flags of an enumeration take longer than a record
SET_DUMPABLE = 4


class Story:
    """The records of one process, as far as their order is valid."""

    def __init__(self):
        self.ready = False
        self.plan = []
        self.planned = False
        self.running = None
        self.raised = set()
        self.results = {}
        self.notes = {"problem": [], "tampering": [], "absent": [], "own": [], "part": []}
        self.end = None
        self.exit = None
        self.signal = None
        self.records = {
            ("ready", 0): self.is_ready,
            ("plan", 2): self.plans,
            ("plan", 3): self.plans,
            ("planned", 0): self.plans_no_more,
            ("start", 1): self.starts,
            ("raised", 1): self.raises,
            ("finish", 3): self.finishes,
            ("end", 1): self.ends,
        }

    def hear(self, kind, words):
        """None, or what is wrong with it."""
        if self.end is not None:
            return "the test process sent a record after its end"
        if kind in EARLY and self.ready:
            self.notes["tampering"].append("the code under test sent a record in the runner's name: " + kind)
            return "the test process sent `" + kind + "` when code of the tree could already run"
        if kind in self.notes and len(words) == 1:
            self.notes[kind].extend(words if len(self.notes[kind]) < MAX_NOTES else [])
            return None
        hear = self.records.get((kind, len(words)))
        if hear is not None and hear(*words):
            return None
        return "the test process sent a record out of order: " + kind[:40]

    def is_ready(self):
        before, self.ready = self.ready, True
        return not before

    def plans(self, name, file, title=""):
        self.plan.append((name, file, title[:MAX_TEXT]))
        return self.ready and not self.planned and len(self.plan) <= MAX_TESTS

    def plans_no_more(self):
        before, self.planned = self.planned, True
        return self.ready and not before

    def starts(self, word):
        before, self.running = self.running, number(word)
        new = 0 <= self.running < len(self.plan) and self.running not in self.results
        return self.planned and before is None and new

    def raises(self, word):
        self.raised.add(number(word))
        return self.running is not None and self.running == number(word)

    def finishes(self, word, outcome, detail):
        before, self.running = self.running, None
        if outcome == "passed" and number(word) in self.raised:
            self.notes["tampering"].append("a test raised an exception and was reported as passed")
            outcome, detail = "failed", "it raised an exception"
        self.results[number(word)] = (outcome, detail[:MAX_TEXT])
        return before == number(word) and outcome in OUTCOMES

    def ends(self, word):
        self.end = number(word)
        return self.running is None

    def to_dict(self):
        return {
            "plan": self.plan,
            "results": [(test, outcome, detail) for test, (outcome, detail) in self.results.items()],
            "problems": self.notes["problem"],
            "tampering": self.notes["tampering"],
            "absent": self.notes["absent"],
            "part": self.notes["part"],
            "end": self.end,
            "exit": self.exit,
            "signal": self.signal,
        }


def number(word):
    return int(word) if word.isdigit() and len(word) < 10 else -1


def supervise(config, parts):
    prctl(SET_DUMPABLE, 0)
    here = os.getcwd()
    config["root"] = here[: -len(config["cwd"]) - 1] if config["cwd"] else here
    began, wake, share = time.time(), watch_children(), {}
    config["began"] = began
    if config["isolation"] == "process":
        stories = each_alone(config, parts, wake, share)
    else:
        stories = [in_a_process(config, parts, wake, share)]
    if stories[0].notes["own"] and not stories[0].ready:
        stories = [own_command(config, wake)]
    else:
        stories[0].notes["tampering"] += files_changed_since(began, stories[0].plan, config["root"])
    report = {"stories": [one if isinstance(one, dict) else one.to_dict() for one in stories]}
    # Only now: from here on nothing is forked that could have a copy of it.
    report["nonce"] = read_all(0, 200).decode("ascii", "replace")
    write_all(1, json.dumps(report).encode("ascii"))


def files_changed_since(began, plan, root):
    """Tests, and the conftest files above them, that were written to; a process cannot set back the clock of a file's status."""
    files = {file for _, file, _ in plan if file}
    folders = {
        "/".join(parts[:end]) for parts in (file.split("/") for file in files) for end in range(len(parts))
    }
    files |= {(folder + "/conftest.py").lstrip("/") for folder in folders}
    changed = [file for file in sorted(files) if changed_at(os.path.join(root, file)) > began]
    return ["`" + file[:200] + "` was changed while the tests ran" for file in changed[:MAX_NOTES]]


def changed_at(path):
    try:
        return os.lstat(path).st_ctime
    except OSError:
        return 0 if path.endswith("/conftest.py") else float("inf")


def each_alone(config, parts, wake, share):
    """One process that only collects, then one for each test it found."""
    execute("suite_process", parts, share)
    share["prepare"](config)
    first = in_a_process(dict(config, only="collect"), parts, wake, share)
    stories, seen = [first], {}
    for name, _, _ in first.plan:
        seen[name] = seen.get(name, -1) + 1
        stories.append(in_a_process(dict(config, only=[name, seen[name]]), parts, wake, share))
    return stories


def in_a_process(config, parts, wake, share):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    child = os.fork()
    if not child:
        try:
            ours.close()
            become_tests_process(wake)
            if not share:
                execute("suite_process", parts, share)
                share["prepare"](config)
            share["drive"](config, parts, theirs.detach())
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(70)
    theirs.close()
    story = Story()
    listen(story, ours, child, wake)
    ours.close()
    return story


def execute(name, parts, share):
    exec(compile(parts[name], "<" + name + ">", "exec"), share)


def become_tests_process(wake):
    """No way to the controller, and readable again: /proc/self is for honest tests too."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for descriptor in wake:
        os.close(descriptor)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    if null > 2:
        os.close(null)
    prctl(SET_DUMPABLE, 1)


def listen(story, ours, child, wake):
    """Read until the child is dead, even if another process holds the descriptor open."""
    budget = [MAX_RECORD_BYTES]
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    poll.register(wake[0], select.POLLIN)
    while True:
        ready = dict(poll.poll())
        if ready.get(ours.fileno(), 0) & select.POLLIN:
            take(story, ours, child, budget)
        elif ours.fileno() in ready:
            poll.unregister(ours)
        if wake[0] in ready:
            os.read(wake[0], 512)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                break
    for _ in range(4096):  # more than a socket holds; others may go on writing for ever
        if not select.select([ours], [], [], 0)[0] or not take(story, ours, child, budget):
            break
    if os.WIFSIGNALED(status):
        story.signal = os.WTERMSIG(status)
    else:
        story.exit = os.WEXITSTATUS(status)


def take(story, ours, child, budget):
    data, extra, flags, _ = ours.recvmsg(MAX_RECORD, socket.CMSG_SPACE(CREDENTIALS.size), socket.MSG_DONTWAIT)
    if not data:
        return False
    pids = [CREDENTIALS.unpack(blob)[0] for _, kind, blob in extra if kind == socket.SCM_CREDENTIALS]
    if pids != [child]:
        return True  # a process that the tests started; it has nothing to say
    budget[0] -= len(data)
    wrong = "the test process sent too much data" if budget[0] < 0 else None
    if wrong is None and flags & CUT:
        wrong = "the test process sent a record that is too long"
    if wrong is None:
        words = data.decode("utf-8", "replace").split("\0")
        wrong = story.hear(words[0], words[1:])
    if wrong is not None:
        story.notes["problem"].insert(0, wrong)
        os.kill(child, signal.SIGKILL)
        return False
    return True


def own_command(config, wake):
    """The tree is (part of) its own runner: run its command, and read the report that it leaves."""
    folder = "/tmp/" + os.urandom(8).hex()
    os.mkdir(folder, 0o700)
    report = folder + "/report.xml"
    child = os.fork()
    if not child:
        try:
            become_tests_process(wake)
            os.environ.update({name: value for name, value in config["env"].items() if value})
            # The older family has the file of each test.
            words = ["--junitxml=" + report, "-o", "junit_family=xunit1"]
            os.execvp(config["own"][0], config["own"] + words)
        finally:
            os._exit(70)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    return {
        "junit": read_report(report),
        "exit": None if killed else os.WEXITSTATUS(status),
        "signal": os.WTERMSIG(status) if killed else None,
    }


def read_report(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        return read_all(descriptor, 32 << 20).decode("latin-1")
    except OSError:
        return None


def prctl(what, value):
    if ctypes.CDLL(None, use_errno=True).prctl(what, value, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def watch_children():
    receiving, sending = os.pipe()
    os.set_blocking(sending, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(sending)
    return receiving, sending


def read_all(descriptor, most):
    pieces = []
    while most > 0:
        piece = os.read(descriptor, min(most, 1 << 16))
        if not piece:
            break
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view[: 1 << 16]) :]

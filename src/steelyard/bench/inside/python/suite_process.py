"""Runs inside the sandbox, forked off by the supervisor: the process in which tests run beside the candidate's code.

prepare    site-packages without sitecustomize; the trusted tools are imported before the tree is on the path
drive      the driver of pytest or unittest, which speaks through a `voice`, and an end that no atexit delays
"""

import contextlib
import fcntl
import gc
import importlib
import importlib.machinery
import os
import site
import sys
import traceback

_exit = os._exit
# What an interpreter has loaded before it looks into any tree.
ALWAYS_STANDARD = frozenset(sys.builtin_module_names) | {
    *("abc", "codecs", "encodings", "genericpath", "io", "os", "posixpath", "site", "stat", "zipimport"),
}


def prepare(config):
    """What `site` does at a normal start, without the files that exist to run code at start."""
    set_variables(config)
    add_site_packages()
    tree = [entry for entry in sys.path if is_within(entry, config["root"])]
    # An editable install has put the tree on the path: the runner must not find its own parts there.
    sys.path[:] = [entry for entry in sys.path if entry not in tree or "site-packages" in entry]
    with kept_for_ever():
        absent, share["missing"] = preload(config["runner"])
    share["own"] = parts_of_the_runner(config) + [name for name in config["own_modules"] if name == absent]
    sys.path.extend(entry for entry in tree if entry not in sys.path)
    if config["isolation"] == "process":
        strangers = [name for name, module in sys.modules.items() if is_of_the_tree(module, config["root"])]
        if strangers:
            raise SystemExit("modules of the tree were imported too early: " + ", ".join(strangers))


def set_variables(config):
    for name, value in config["env"].items():
        os.environ[name] = value
        if not value:
            del os.environ[name]


def add_site_packages():
    known = site.venv(site.removeduppaths())
    isolated = sys.prefix != sys.base_prefix
    user = site.getusersitepackages()
    if not isolated and os.path.isdir(user):  # HOME on the bench is what setup made of it
        site.addsitedir(user, known)
    site.addsitepackages(known)
    site.setquit()
    site.sethelper()


@contextlib.contextmanager
def kept_for_ever():
    """No collection looks at what is made in here: a sixth of a short run would go into that."""
    gc.disable()
    try:
        yield
    finally:
        if hasattr(gc, "freeze"):
            gc.freeze()
        gc.enable()


def preload(runner):
    """The module that was not found, and what to say about it."""
    try:
        __import__(runner)
        if runner == "pytest":
            __import__("_pytest.assertion.rewrite")
            __import__("_pytest.unittest")
    except ImportError as error:
        absent = (error.name or "").partition(".")[0]
        return absent, runner if absent == runner else str(error)
    except Exception as error:  # a version that does not know this Python
        traceback.print_exc()
        return "", "%s cannot be imported: %s: %s" % (runner, type(error).__name__, error)
    return "", ""


def parts_of_the_runner(config):
    """Modules that the tree provides, and that the runner has loaded from elsewhere: it cannot test with those."""
    loaded = [(name, getattr(sys.modules.get(name), "__file__", None)) for name in config["own_modules"]]
    return [name for name, file in loaded if file and is_installed(file)]


def is_installed(file):
    return "/site-packages/" in file or "/dist-packages/" in file


def is_of_the_tree(module, root):
    found = getattr(module, "__file__", None) or ""
    return is_within(found, root) and "site-packages" not in found


def is_within(path, root):
    return path == root or path.startswith(root + "/")


class PinnedStandardLibrary:
    """Names of the standard library come from it, unless the tree had a module of that name to begin with."""

    def __init__(self, own):
        self.everything = frozenset(getattr(sys, "stdlib_module_names", None) or _guessed_names()) - {"test"}
        self.names = self.everything.difference(own)
        self.path = [entry for entry in sys.path if entry in _standard_path()]

    def find_spec(self, name, path=None, target=None):
        if path is not None or name not in self.names:
            return None
        return importlib.machinery.PathFinder.find_spec(name, self.path)


def _standard_path():
    folder = os.path.dirname(os.__file__)
    version = "python%d%d.zip" % sys.version_info[:2]
    return {folder, os.path.join(folder, "lib-dynload"), os.path.join(os.path.dirname(folder), version)} | {
        entry for entry in sys.path if os.path.basename(entry) == "lib-dynload"
    }


def _guessed_names():
    folder = os.path.dirname(os.__file__)
    found = {name.partition(".")[0] for name in os.listdir(folder)}
    return found - {"site-packages", "dist-packages", "__pycache__"}


def put_the_tree_on_the_path(config):
    """Where `python -m` puts it: in front. Standard names are safe from it."""
    standard = PinnedStandardLibrary(config["own_modules"])
    for name in standard.everything.intersection(config["own_modules"]).difference(ALWAYS_STANDARD):
        sys.modules.pop(name, None)  # loaded too early, for a tool of the harness
    sys.meta_path.insert(0, standard)
    sys.path[:0] = entries_of_the_tree(config)
    importlib.invalidate_caches()


def entries_of_the_tree(config):
    named = [os.path.abspath(entry) for entry in config["pythonpath"].split(":") if config["pythonpath"]]
    return ([os.getcwd()] if config["cwd_on_path"] else []) + named


def voice(descriptor):
    """Records for the supervisor. A fork of this process sends none, and the supervisor would ignore it.

    What it is made of are values of parameters: they are in no attribute, cell or dictionary that other code could
    rebind, and giving a function other values is detected (`watch_functions`).
    """

    def say(kind, first=None, second=None, third=None, parts=None):
        own, getpid, write, text, descriptor = parts
        if getpid() == own:
            words = [kind] + [text(word) for word in (first, second, third) if word is not None]
            record = "\0".join([word.replace("\0", " ")[:2000] for word in words])
            write(descriptor, record.encode("utf-8", "backslashreplace"))

    give(say, parts=(os.getpid(), os.getpid, os.write, str, descriptor))
    return say


def give(function, **values):
    """A function with these values of its parameters; or a class, to each of whose methods they are given."""
    for one in vars(function).values() if isinstance(function, type) else [function]:
        code, defaults = getattr(one, "__code__", None), getattr(one, "__defaults__", None)
        if code is not None and defaults:
            names = code.co_varnames[: code.co_argcount][-len(defaults) :]
            one.__defaults__ = tuple(map(values.get, names, defaults))


def out_of_the_way(descriptor):
    """A high number: tests count on the low ones, and some close them."""
    try:
        high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 700)
    except OSError:
        return descriptor
    os.close(descriptor)
    return high


def drive(config, parts, descriptor, leave=_exit):
    say = voice(out_of_the_way(descriptor))
    if share["own"]:
        say("own", share["own"][0])
        leave(0)
    if share["missing"]:
        say("absent", share["missing"])
        say("end", 69)
        leave(69)
    ours = [
        compile(parts[part], "<" + part + ">", "exec")
        for part in ("origins", "tripwire", "globals", config["runner"] + "_runner")
    ]
    for code in ours:
        exec(code, share)
    origins = share["Origins"](config)
    origins.ours.update(*map(share["every_code"], ours))
    try:
        code = share["run_tests"](config, say, origins)
    except BaseException as error:
        traceback.print_exc()
        say("problem", config["runner"] + " crashed: " + share["text_of"](error))
        leave(70)
    for stream in (sys.__stdout__, sys.__stderr__):
        with contextlib.suppress(Exception):
            stream.flush()
    say("end", code)
    leave(code)


share = globals()

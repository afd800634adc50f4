"""Try an overlay as this user, by doing -> "" when it works, else why not.

The trial is the one operation that fails where only half of it works: make a directory again that a lower
layer had. It needs an opaque mark, and before Linux 6.6 a tmpfs could not hold the ordinary user's.
"""

from __future__ import annotations

import os
from pathlib import Path

from steelyard.sandboxes.bubblewrap import mounts
from steelyard.sandboxes.bubblewrap.mount_plan import BASE
from steelyard.sandboxes.bubblewrap.mounts import MS_NODEV, MS_NOSUID

NO_NAMESPACES = "no namespaces: "  # then there is no sandbox at all, not only no overlay


def overlay_works() -> str:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _try()
        except BaseException as error:  # noqa: BLE001  # the answer, not a failure
            os.write(writing, (str(error) or repr(error)).encode()[:4000])
        os._exit(0)
    os.close(writing)
    why = b""
    while part := os.read(reading, 4096):
        why += part
    os.close(reading)
    os.waitpid(pid, 0)
    return why.decode(errors="replace")


def _try() -> None:
    root = os.geteuid() == 0
    try:
        mounts.enter_private_mounts(os.geteuid(), os.getegid())
        mounts.mount("tmpfs", BASE, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=755")
    except OSError as error:
        raise OSError(f"{NO_NAMESPACES}{error}") from error
    for name in ("lower/folder", "upper", "work", "merged"):
        Path(BASE, name).mkdir(parents=True)
    mode = "redirect_dir=on,index=off,metacopy=off" if root else "userxattr"
    folders = f"lowerdir={BASE}/lower,upperdir={BASE}/upper,workdir={BASE}/work"
    mounts.mount("overlay", f"{BASE}/merged", "overlay", MS_NOSUID | MS_NODEV, f"{folders},{mode}")
    folder = Path(BASE, "merged/folder")
    folder.rmdir()
    folder.mkdir()
    if any(folder.iterdir()):
        raise OSError("a directory made again is not empty")

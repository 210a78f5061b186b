"""The frame of every attempt: how it is written down, how it is run, and what it may say at its end.

An attempt is a function that tries one way out of the sandbox. It ends in one of four ways:
  refused   the kernel (or the proxy) said no, in one of the ways that count as a no
  escaped   it got what it wanted
  done      it did all it could, and only a look from outside can tell whether that was an escape
  untried   this machine has not what the attempt needs
Anything else is a mistake in the attempt itself, and fails the test: a typing error must never pass for a wall.
"""

import ctypes
import errno
import json
import os
import platform
import sys

NO = (errno.EPERM, errno.EACCES, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.ENOSYS, errno.EAFNOSUPPORT)
DONE = object()
ATTEMPTS = {}

libc = ctypes.CDLL(None, use_errno=True)


class Untried(Exception):
    """This machine has not what the attempt needs."""


class Refused(Exception):
    """Said no by something other than an error of the kernel."""


def attempt(lack=None, also=(), proved=True, who="anyone", policy="usual", alone=False):
    """Writes an attempt down.

    lack    what the report must name as missing where this attempt gets through
    also    further errors that count as a no, because what is looked for is hidden or elsewhere
    proved  whether it is shown to work where there are no walls: canaries alone are touched there
    who     "anyone", or "ordinary" where it means nothing for root
    policy  what it finds
    alone   whether it would be in the way of others in the same sandbox
    """

    def written(function):
        ATTEMPTS[function.__name__] = {
            "run": function,
            "also": also,
            "table": {
                "name": function.__name__,
                "what": function.__doc__,
                "lack": lack,
                "proved": proved,
                "who": who,
                "policy": policy,
                "alone": alone or policy != "usual",
                "group": function.__module__,
            },
        }
        return function

    return written


class Ground:
    """Where things are. The working directory is the project; everything else must stay as it is."""

    def __init__(self, folder, name):
        with open(os.path.join(folder, "facts.json")) as file:
            self.facts = json.load(file)
        self.folder = folder
        self.home = os.path.join(folder, "home")
        self.project = os.path.join(folder, "project")
        self.scratch = os.path.join(self.project, "scratch", name)
        self.outside = os.path.join(folder, "outside")
        self.canary = os.path.join(self.outside, "canary")
        self.secret = os.path.join(folder, "secret", "token")
        self.denied = os.path.join(self.project, "private", "denied", "key")

    def first(self):
        """The first process inside. Where processes are the host's, that one is nobody's to try."""
        if not self.facts["own_processes"]:
            raise Untried("the first process is the host's own")
        return 1

    def socket(self, name):
        """A socket of a server of the host."""
        return os.path.join(self.facts["sockets"], name)

    def runner(self):
        """The process that runs the sandbox, as the host numbers it."""
        with open(os.path.join(self.folder, "runner.pid")) as file:
            return int(file.read())


def check(result):
    """The result of a call of the C library, or its error."""
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


NUMBERS = {
    "x86_64": {
        "socket": 41, "ptrace": 101, "syslog": 103, "capset": 126, "personality": 135, "pivot_root": 155, "chroot": 161,
        "acct": 163, "mount": 165, "umount2": 166, "swapon": 167, "reboot": 169, "sethostname": 170, "iopl": 172,
        "init_module": 175, "quotactl": 179, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
        "unshare": 272, "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303,
        "open_by_handle_at": 304, "clock_settime": 227, "setns": 308, "process_vm_readv": 310,
        "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "bpf": 321, "userfaultfd": 323, "clone": 56,
    },
    "aarch64": {
        "socket": 198, "ptrace": 117, "syslog": 116, "capset": 91, "personality": 92, "pivot_root": 41, "chroot": 51,
        "acct": 89, "mount": 40, "umount2": 39, "swapon": 224, "reboot": 142, "sethostname": 161,
        "init_module": 105, "quotactl": 60, "kexec_load": 104, "add_key": 217, "request_key": 218, "keyctl": 219,
        "unshare": 97, "perf_event_open": 241, "fanotify_init": 262, "name_to_handle_at": 264,
        "open_by_handle_at": 265, "clock_settime": 112, "setns": 268, "process_vm_readv": 270,
        "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "bpf": 280, "userfaultfd": 282, "clone": 220,
    },
}.get(platform.machine(), {})
NUMBERS.update({
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "clone3": 435, "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442,
})


def system(name, *words):
    """A system call by its name, past the C library."""
    if name not in NUMBERS:
        raise Untried(f"{name} is not known on {platform.machine()}")
    words = [word if isinstance(word, (bytes, ctypes.Array, ctypes.Structure)) or word is None else ctypes.c_long(word)
             for word in words]
    return check(libc.syscall(ctypes.c_long(NUMBERS[name]), *words))


def reaches_the_kernel(name, *words):
    """A call with words that mean nothing: an error about those words shows that nobody stood in its way."""
    try:
        system(name, *words)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.EAFNOSUPPORT):
            raise


def overwrite(path):
    """Writes over a file that is there. Never makes one: a file in a private folder is no escape."""
    descriptor = os.open(path, os.O_WRONLY | os.O_TRUNC)
    os.write(descriptor, b"taken over")


def tried(name, folder):
    """How an attempt ends."""
    entry = ATTEMPTS[name]
    ground = Ground(folder, name)
    os.mkdir(ground.scratch)
    try:
        return "done" if entry["run"](ground) is DONE else "escaped"
    except Untried as why:
        return f"untried: {why}"
    except Refused as why:
        return f"refused: {why}"
    except OSError as error:
        if error.errno not in NO and error.errno not in entry["also"]:
            raise
        return f"refused: {errno.errorcode[error.errno]}"


def main():
    """Each attempt in a process of its own, one after the other; a line about each."""
    words = sys.argv[1:]
    if words == ["--list"]:
        print(json.dumps([entry["table"] for entry in ATTEMPTS.values()]))
        return
    folder, *names = words
    for name in names:
        child = os.fork()
        if child == 0:
            print(name, tried(name, folder), flush=True)
            os._exit(0)
        os.waitpid(child, 0)

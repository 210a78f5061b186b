"""Parts of the kernel that no command needs. Each call has words that mean nothing: the question is only who answers."""

import ctypes
import errno
import mmap
import platform

from frame import NUMBERS, Refused, Untried, attempt, check, libc, reaches_the_kernel


@attempt(proved=False)
def use_the_keyring(ground):
    """Keys belong to the user, not to the sandbox."""
    reaches_the_kernel("keyctl", 0, -3, 0, 0, 0)


@attempt(proved=False)
def add_a_key(ground):
    """Puts a key on the ring."""
    reaches_the_kernel("add_key", b"user", b"mayi-escape", None, 0, -1)


@attempt(proved=False)
def request_a_key(ground):
    """Asks for a key, which can start a program of the host."""
    reaches_the_kernel("request_key", b"user", b"mayi-escape", None, 0)


@attempt(proved=False)
def load_a_program_into_the_kernel(ground):
    """bpf."""
    reaches_the_kernel("bpf", 99, None, 0)


@attempt(proved=False)
def register_with_io_uring(ground):
    """The other calls of io_uring."""
    for name in ("io_uring_enter", "io_uring_register"):
        reaches_the_kernel(name, -1, 0, 0, 0, 0)


@attempt(proved=False)
def handle_page_faults(ground):
    """userfaultfd, the friend of those who win races."""
    reaches_the_kernel("userfaultfd", 0x7FFF)


@attempt(proved=False)
def watch_performance(ground):
    """perf_event_open."""
    reaches_the_kernel("perf_event_open", None, 0, 0, 0, 0)


@attempt(proved=False)
def watch_every_file(ground):
    """fanotify."""
    reaches_the_kernel("fanotify_init", 0x7FFFFFFF, 0)


@attempt(proved=False)
def compare_processes(ground):
    """kcmp, which tells addresses of the kernel apart."""
    reaches_the_kernel("kcmp", 1, 1, 99, 0, 0)


@attempt(proved=False)
def load_a_module(ground):
    """Modules."""
    reaches_the_kernel("init_module", None, 0, None)


@attempt(proved=False)
def load_a_module_from_a_file(ground):
    """Modules from files."""
    reaches_the_kernel("finit_module", -1, b"", 0)


@attempt(proved=False)
def load_another_kernel(ground):
    """kexec."""
    reaches_the_kernel("kexec_load", 0, 99999, None, 0xFFFF0000)


@attempt(proved=False)
def restart_the_machine(ground):
    """reboot, with numbers that it does not take."""
    reaches_the_kernel("reboot", 0, 0, 0, None)


@attempt(proved=False)
def set_the_clock(ground):
    """The clock, to no time at all."""
    reaches_the_kernel("clock_settime", 0, None)


@attempt(proved=False)
def account_for_processes(ground):
    """acct."""
    reaches_the_kernel("acct", b"/nowhere")


@attempt(proved=False)
def swap_to_a_file(ground):
    """swapon."""
    reaches_the_kernel("swapon", b"/nowhere", 0)


@attempt(proved=False)
def set_quotas(ground):
    """quotactl."""
    reaches_the_kernel("quotactl", 0, None, 0, None)


@attempt(proved=False)
def read_the_log_of_the_kernel(ground):
    """syslog."""
    reaches_the_kernel("syslog", 10, None, 0)


@attempt(proved=False)
def reach_the_ports_of_the_machine(ground):
    """iopl."""
    reaches_the_kernel("iopl", 99)


@attempt(proved=False)
def rename_the_machine(ground):
    """sethostname, to the name it has."""
    name = platform.node().encode()
    reaches_the_kernel("sethostname", name, len(name))


@attempt(proved=False)
def take_an_old_personality(ground):
    """A personality in which all that can be read can be executed."""
    reaches_the_kernel("personality", 0x0400000)


@attempt(proved=False)
def open_a_file_system(ground):
    """The newer calls for mounting."""
    for name in ("fsopen", "fspick", "fsmount", "fsconfig", "open_tree", "move_mount"):
        reaches_the_kernel(name, -1, None, -1, None, 0)


@attempt(proved=False)
def call_by_the_second_numbering(ground):
    """The numbers of x32, which a filter for 64 bits may not know."""
    if platform.machine() != "x86_64":
        raise Untried("there is no second numbering here")
    for name in ("ptrace", "mount", "unshare", "keyctl", "socket"):
        try:
            check(libc.syscall(ctypes.c_long(0x40000000 | NUMBERS[name]), 0, 0, 0, 0, 0))
            return
        except OSError as error:
            if error.errno not in (errno.ENOSYS, errno.EPERM):
                return
            last = error
    raise last


@attempt(proved=False)
def call_as_a_program_of_32_bits(ground):
    """The gate of 32-bit programs, whose numbers mean other calls."""
    if platform.machine() != "x86_64":
        raise Untried("there is no such gate here")
    # push rbx; mov eax, NUMBER; xor ebx,ebx; xor ecx,ecx; xor edx,edx; int 0x80; pop rbx; ret
    for number in (26, 21, 310, 288, 102, 20):
        code = b"\x53\xb8" + number.to_bytes(4, "little") + b"\x31\xdb\x31\xc9\x31\xd2\xcd\x80\x5b\xc3"
        memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        answer = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
        if -answer not in (errno.ENOSYS, errno.EPERM):
            return
    raise Refused("no such call")

"""Reaching other processes, other rights, and living on after the end."""

import array
import ctypes
import errno
import fcntl
import os
import resource
import signal
import stat
import struct
import subprocess

from frame import DONE, Refused, attempt, check, libc, reaches_the_kernel, system

NOBODY = (errno.ESRCH,)
PTRACE_SEIZE = 0x4206
TIOCSTI, TIOCLINUX = 0x5412, 0x541C


@attempt(lack="processes", also=NOBODY, alone=True)
def kill_a_process_of_the_host(ground):
    """Ends a process of the host."""
    os.kill(ground.facts["victim"], signal.SIGKILL)


@attempt(also=NOBODY, proved=False, alone=True)
def kill_the_runner(ground):
    """Ends the program that runs the sandbox."""
    os.kill(ground.runner(), signal.SIGKILL)


@attempt(proved=False, alone=True)
def kill_the_first_process(ground):
    """Ends the first process inside, which would end the run without its cleaning up."""
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV, signal.SIGTERM):
        os.kill(ground.first(), number)
    return DONE


@attempt(proved=False, alone=True)
def kill_the_parent(ground):
    """Ends the command that it is a part of: whatever is left must end with the run."""
    # The run may be over before another word.
    print("kill_the_parent done", flush=True)
    os.kill(os.getppid(), signal.SIGKILL)
    return DONE


@attempt(lack="processes", also=NOBODY, alone=True)
def kill_by_descriptor(ground):
    """Ends a process of the host by a descriptor of it."""
    descriptor = system("pidfd_open", ground.facts["victim"], 0)
    system("pidfd_send_signal", descriptor, int(signal.SIGKILL), None, 0)


@attempt(lack="processes", also=(errno.ESRCH, errno.ENOENT), proved=False)
def take_a_descriptor_of_the_runner(ground):
    """Copies a descriptor out of the program that runs the sandbox."""
    system("pidfd_getfd", system("pidfd_open", ground.runner(), 0), 1, 0)


@attempt(lack="processes", also=NOBODY)
def limit_a_process_of_the_host(ground):
    """Takes a process of the host its descriptors."""
    resource.prlimit(ground.facts["victim"], resource.RLIMIT_CORE, (0, 0))


@attempt(lack="processes", also=NOBODY)
def slow_a_process_of_the_host(ground):
    """Gives a process of the host less time."""
    os.setpriority(os.PRIO_PROCESS, ground.facts["victim"], 19)


@attempt(also=NOBODY, proved=False)
def trace_the_runner(ground):
    """Traces the program that runs the sandbox."""
    system("ptrace", PTRACE_SEIZE, ground.runner(), 0, 0)


@attempt(also=NOBODY, proved=False)
def trace_the_first_process(ground):
    """Traces the first process inside, which has seen the outside."""
    system("ptrace", PTRACE_SEIZE, ground.first(), 0, 0)


@attempt(also=NOBODY)
def trace_a_process_of_the_host(ground):
    """Traces a process of the host."""
    system("ptrace", PTRACE_SEIZE, ground.facts["victim"], 0, 0)


@attempt(also=NOBODY, proved=False)
def write_into_the_memory_of_the_first_process(ground):
    """Writes into the memory of the first process inside."""
    here = ctypes.create_string_buffer(8)
    part = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(here), 8), 16)
    system("process_vm_writev", ground.first(), part, 1, part, 1, 0)


@attempt(proved=False)
def type_into_the_terminal(ground):
    """Puts a command into the input of the terminal outside."""
    try:
        fcntl.ioctl(0, TIOCSTI, b"x")
    except OSError as error:
        # Anything but this shows that the call was looked at.
        if error.errno == errno.EPERM:
            raise


@attempt(proved=False)
def type_into_the_terminal_with_a_longer_number(ground):
    """The same with bits set that the kernel does not look at and a careless filter does."""
    ioctl = libc.ioctl
    ioctl.argtypes = [ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p]
    try:
        check(ioctl(0, TIOCSTI | 1 << 32, b"x"))
    except OSError as error:
        if error.errno == errno.EPERM:
            raise


@attempt(proved=False)
def paste_into_the_console(ground):
    """Pastes into a console of the machine."""
    try:
        fcntl.ioctl(0, TIOCLINUX, array.array("b", [3]))
    except OSError as error:
        if error.errno == errno.EPERM:
            raise


@attempt(proved=False, alone=True)
def live_on_as_a_daemon(ground):
    """Forks twice, leaves the session, ignores signals and stays."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            for descriptor in (0, 1, 2):
                os.close(descriptor)
            signal.pause()
        os._exit(0)
    return DONE


@attempt(proved=False, alone=True)
def live_on_in_the_background(ground):
    """Leaves a program behind with nohup."""
    subprocess.Popen(["/bin/sh", "-c", "nohup sleep 600 >/dev/null 2>&1 &"])
    return DONE


@attempt(lack="nesting", proved=False)
def become_root_of_a_new_namespace(ground):
    """A user namespace, in which one has every right."""
    system("unshare", 0x10000000)


@attempt(lack="nesting", proved=False)
def become_root_of_a_new_namespace_by_clone(ground):
    """The same by clone."""
    child = system("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


@attempt(lack="nesting", proved=False)
def become_root_of_a_new_namespace_by_clone3(ground):
    """The same by the call whose flags a filter cannot see."""
    words = ctypes.create_string_buffer(struct.pack("8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
    child = system("clone3", words, 64)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


@attempt(lack="nesting", proved=False)
def make_other_namespaces(ground):
    """Mounts, network, processes, names, queues, groups and clocks of its own."""
    for flag in (0x20000, 0x40000000, 0x20000000, 0x4000000, 0x8000000, 0x2000000, 0x80):
        try:
            system("unshare", flag)
            return
        except OSError as error:
            last = error
    raise last


@attempt(proved=False, also=(errno.ENOENT,))
def enter_a_namespace_of_the_host(ground):
    """Joins the mounts of the program that runs the sandbox."""
    system("setns", os.open(f"/proc/{ground.runner()}/ns/mnt", os.O_RDONLY), 0x20000)


@attempt(proved=False, who="ordinary")
def run_a_program_with_its_owners_rights(ground):
    """Executes a program that would run as root."""
    run = subprocess.run([ground.facts["setuid"], "-u"], stdout=subprocess.PIPE, check=False)
    if run.stdout.strip() != b"0":
        raise Refused(f"runs as {run.stdout.strip().decode()}")


@attempt(proved=False, who="ordinary", also=(errno.EINVAL,))
def become_root(ground):
    """Asks to be root."""
    os.setuid(0)


@attempt(proved=False)
def take_capabilities_back(ground):
    """Asks for every capability."""
    header = ctypes.create_string_buffer(struct.pack("Ii", 0x20080522, 0), 8)
    all_of_them = ctypes.create_string_buffer(struct.pack("6I", *[0xFFFFFFFF] * 6), 24)
    system("capset", header, all_of_them)


@attempt(proved=False)
def keep_any_capability(ground):
    """Looks whether any capability is left, to have or to gain."""
    with open("/proc/self/status") as file:
        sets = [line.split() for line in file if line.startswith("Cap")]
    left = [name for name, value in sets if int(value, 16)]
    if not left:
        raise Refused("none is left")
    # The bounding set of an ordinary user means nothing without new privileges.
    if left == ["CapBnd:"] and os.getuid() != 0 and "NoNewPrivs:\t1" in open("/proc/self/status").read():
        raise Refused("none can be gained")


@attempt(proved=False)
def allow_new_privileges_again(ground):
    """Takes the promise back that no program gains rights."""
    if libc.prctl(39, 0, 0, 0, 0) == 1 and libc.prctl(38, 0, 0, 0, 0) != 0:
        raise Refused("the promise holds")


@attempt(proved=False)
def take_the_filter_off(ground):
    """Asks to run without a filter of calls."""
    libc.prctl(22, 0, 0, 0, 0)
    reaches_the_kernel("keyctl", 0, -3, 0, 0, 0)


@attempt(proved=False)
def look_at_the_descriptors_of_the_first_process(ground):
    """Opens the descriptors of the first process inside, which has seen the outside."""
    folder = f"/proc/{ground.first()}/fd"
    for number in os.listdir(folder):
        seen = os.stat(os.path.join(folder, number))
        if stat.S_ISREG(seen.st_mode) or stat.S_ISDIR(seen.st_mode):
            return
    raise Refused("there is no file and no folder among them")


@attempt(proved=False, alone=True)
def start_without_end(ground):
    """Starts processes until it may not: whatever is left must end with the run."""
    for _ in range(200):
        if os.fork() == 0:
            signal.pause()
    return DONE

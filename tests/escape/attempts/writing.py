"""Writing outside what is writable."""

import ctypes
import errno
import fcntl
import os
import socket
import stat
import struct
import threading
import time

from frame import DONE, attempt, check, libc, overwrite, system

MS_REMOUNT, MS_BIND = 32, 4096


@attempt()
def write_by_path(ground):
    """Opens a file outside by its path."""
    overwrite(ground.canary)


@attempt()
def write_by_dots(ground):
    """Climbs out of the project with `..`."""
    overwrite("../outside/canary")


@attempt()
def write_from_the_descriptor_of_the_parent(ground):
    """Opens the parent folder, and the file from there."""
    parent = os.open("..", os.O_PATH)
    os.write(os.open("outside/canary", os.O_WRONLY, dir_fd=parent), b"taken over")


@attempt()
def write_by_symbolic_link(ground):
    """Makes a link to a file outside and writes through it."""
    link = os.path.join(ground.scratch, "link")
    os.symlink(ground.canary, link)
    overwrite(link)


@attempt()
def write_by_link_to_a_folder(ground):
    """Makes a link to a folder outside and makes a file in it."""
    link = os.path.join(ground.scratch, "link")
    os.symlink(ground.outside, link)
    open(os.path.join(link, "new"), "w").close()


@attempt()
def write_by_link_that_was_there(ground):
    """Writes through a link that the project had before."""
    overwrite(os.path.join(ground.project, "elsewhere", "canary"))


@attempt()
def write_by_chain_of_links(ground):
    """Links to links to links, the last one out."""
    last = ground.canary
    for number in range(30):
        link = os.path.join(ground.scratch, f"link{number}")
        os.symlink(last, link)
        last = link
    overwrite(last)


@attempt()
def write_by_hard_link(ground):
    """Gives a file outside a second name inside."""
    link = os.path.join(ground.scratch, "hard")
    os.link(ground.canary, link)
    overwrite(link)


@attempt()
def write_by_hard_link_of_a_descriptor(ground):
    """The same by a descriptor of the file."""
    descriptor = os.open(ground.canary, os.O_RDONLY)
    link = os.path.join(ground.scratch, "hard")
    check(libc.linkat(-100, f"/proc/self/fd/{descriptor}".encode(), -100, link.encode(), 0x400))
    overwrite(link)


@attempt()
def write_by_proc_self_root(ground):
    """The root of the process itself, as /proc shows it."""
    overwrite("/proc/self/root" + ground.canary)


@attempt()
def write_by_proc_one_root(ground):
    """The root of the first process."""
    overwrite("/proc/1/root" + ground.canary)


@attempt()
def write_by_proc_self_cwd(ground):
    """The working directory as /proc shows it, and up."""
    overwrite("/proc/self/cwd/../outside/canary")


@attempt(also=(errno.ENOENT,))
def write_by_the_folder_of_another_process(ground):
    """The working directory of a process of the host."""
    overwrite(f"/proc/{ground.facts['victim']}/cwd/canary")


@attempt(also=(errno.ENOENT,), proved=False)
def write_by_the_root_of_the_runner(ground):
    """The root of the program that runs the sandbox."""
    overwrite(f"/proc/{ground.runner()}/root{ground.canary}")


@attempt(also=(errno.ENOENT,))
def write_by_the_descriptors_of_another_process(ground):
    """A descriptor that a process of the host holds."""
    overwrite(f"/proc/{ground.facts['victim']}/fd/7")


@attempt()
def write_by_opening_a_descriptor_again(ground):
    """Opens for reading, then opens the descriptor for writing."""
    descriptor = os.open(ground.canary, os.O_RDONLY)
    overwrite(f"/proc/self/fd/{descriptor}")


@attempt()
def write_by_opening_a_path_descriptor_again(ground):
    """The same with a descriptor that stands for the place alone."""
    descriptor = os.open(ground.canary, os.O_PATH)
    overwrite(f"/proc/self/fd/{descriptor}")


@attempt(also=(errno.EBADF,))
def write_by_inherited_descriptor(ground):
    """A descriptor of the file that whoever started the run left open."""
    for number in range(3, 1024):
        try:
            os.pwrite(number, b"taken over", 0)
            return
        except OSError as error:
            last = error
    raise last


@attempt(also=(errno.EBADF, errno.ENOENT))
def write_by_inherited_folder(ground):
    """A descriptor of the folder that whoever started the run left open."""
    for number in range(3, 1024):
        try:
            os.write(os.open("canary", os.O_WRONLY, dir_fd=number), b"taken over")
            return
        except OSError as error:
            last = error
    raise last


@attempt()
def write_by_a_program_without_a_file(ground):
    """Executes a program that exists in memory alone."""
    descriptor = os.memfd_create("program", 0)
    os.write(descriptor, b"#!/bin/sh\necho taken over > \"$1\"\n")
    child = os.fork()
    if child == 0:
        os.close(2)
        os.execv(f"/proc/self/fd/{descriptor}", ["program", ground.canary])
    if os.waitpid(child, 0)[1] != 0:
        raise OSError(errno.EACCES, "the program failed")


@attempt(proved=False)
def write_by_handle(ground):
    """Opens a file by its number, past every folder."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.create_string_buffer(4)
    check(libc.name_to_handle_at(-100, ground.canary.encode(), handle, mount, 0))
    place = os.open(ground.outside, os.O_RDONLY)
    os.write(system("open_by_handle_at", place, handle, os.O_WRONLY), b"taken over")


@attempt()
def truncate_outside(ground):
    """Empties a file outside without opening it."""
    os.truncate(ground.canary, 0)


@attempt(lack="attributes")
def change_mode_outside(ground):
    """Makes a file outside executable."""
    os.chmod(ground.canary, 0o777)


@attempt(lack="attributes")
def change_mode_outside_by_descriptor(ground):
    """The same by a descriptor that was opened for reading."""
    os.fchmod(os.open(ground.canary, os.O_RDONLY), 0o777)


@attempt(lack="attributes")
def change_owner_outside(ground):
    """Gives a file outside to its owner once more, which takes its special bits away."""
    os.chown(ground.canary, os.getuid(), os.getgid())


@attempt(lack="attributes")
def change_times_outside(ground):
    """Sets the times of a file outside."""
    os.utime(ground.canary, (1, 1))


@attempt(lack="attributes", also=(errno.ENOTSUP,))
def add_an_attribute_outside(ground):
    """Gives a file outside an extended attribute."""
    os.setxattr(ground.canary, "user.mayi", b"taken over")


@attempt(lack="attributes", also=(errno.ENOTTY, errno.EOPNOTSUPP), proved=False)
def set_flags_outside(ground):
    """Sets a file's flags through a descriptor that was opened for reading."""
    descriptor = os.open(ground.canary, os.O_RDONLY)
    nodump = struct.pack("l", 0x40)
    fcntl.ioctl(descriptor, 0x40086602, nodump)


@attempt()
def remove_outside(ground):
    """Removes a file outside."""
    os.unlink(ground.canary)


@attempt()
def make_a_folder_outside(ground):
    """Makes a folder outside."""
    os.mkdir(os.path.join(ground.outside, "new"))


@attempt()
def remove_a_folder_outside(ground):
    """Removes a folder outside."""
    os.rmdir(os.path.join(ground.outside, "empty"))


@attempt()
def move_a_file_in(ground):
    """Moves a file from outside into the project."""
    os.rename(ground.canary, os.path.join(ground.scratch, "canary"))


@attempt()
def move_a_file_over(ground):
    """Moves a file of the project over one outside."""
    path = os.path.join(ground.scratch, "mine")
    open(path, "w").close()
    os.rename(path, ground.canary)


@attempt()
def move_the_folder_above(ground):
    """Renames the folder that holds what is outside."""
    os.rename(ground.outside, ground.outside + "2")


@attempt()
def move_the_project(ground):
    """Renames the working directory itself."""
    os.rename(ground.project, ground.project + "2")


@attempt()
def write_while_a_link_is_swapped(ground):
    """Writes through a name that is now a folder of the project, now a link to the outside."""
    inner, swap = os.path.join(ground.scratch, "inner"), os.path.join(ground.scratch, "swap")
    os.mkdir(inner)
    open(os.path.join(inner, "canary"), "w").close()
    ending = time.monotonic() + 0.3

    def swapping():
        turn = 0
        while time.monotonic() < ending:
            turn += 1
            other = f"{swap}{turn}"
            os.symlink(ground.outside if turn % 2 else inner, other)
            os.rename(other, swap)

    thread = threading.Thread(target=swapping)
    thread.start()
    while time.monotonic() < ending:
        try:
            overwrite(os.path.join(swap, "canary"))
        except OSError:
            pass
    thread.join()
    return DONE


@attempt()
def write_under_odd_names(ground):
    """Spells the way out oddly: doubled slashes, dots, a detour through what is long."""
    long = "./" * 1500
    for spelling in (f"//{ground.canary}", f"{ground.scratch}/.//../../..//../outside/./canary", f"{long}../outside/canary"):
        try:
            overwrite(spelling)
            return
        except OSError as error:
            last = error
    raise last


@attempt(proved=False)
def mount_the_outside_inside(ground):
    """Binds the folder outside to a place in the project."""
    system("mount", ground.outside.encode(), ground.scratch.encode(), None, MS_BIND, None)
    overwrite(os.path.join(ground.scratch, "canary"))


@attempt(proved=False)
def mount_a_copy_of_the_tree(ground):
    """The same with the newer calls."""
    tree = system("open_tree", -100, ground.outside.encode(), 1)
    system("move_mount", tree, b"", -100, ground.scratch.encode(), 4)
    overwrite(os.path.join(ground.scratch, "canary"))


@attempt(proved=False)
def make_the_root_writable_again(ground):
    """Mounts the root once more, writable."""
    system("mount", None, b"/", None, MS_REMOUNT | MS_BIND, None)
    overwrite(ground.canary)


@attempt(proved=False)
def clear_the_read_only_flag(ground):
    """Takes the flag away from every mount."""
    wanted = ctypes.create_string_buffer(struct.pack("QQQQ", 0, 1, 0, 0), 32)
    system("mount_setattr", -100, b"/", 0x8000, wanted, 32)
    overwrite(ground.canary)


@attempt(proved=False)
def unmount_a_protection(ground):
    """Takes the mount away that keeps the hooks read-only."""
    hooks = os.path.join(ground.project, ".git", "hooks")
    system("umount2", hooks.encode(), 2)
    open(os.path.join(hooks, "post-commit"), "w").close()


@attempt(proved=False)
def change_the_root(ground):
    """A root of its own, and out of it with an open descriptor."""
    outer = os.open("/", os.O_RDONLY)
    system("chroot", ground.scratch.encode())
    os.fchdir(outer)
    overwrite("." + ground.canary)


@attempt(proved=False)
def turn_the_root_around(ground):
    """Another root by pivot_root."""
    system("pivot_root", b".", b".")
    overwrite(ground.canary)


@attempt(proved=False)
def make_a_node_of_memory(ground):
    """Makes a device node of the machine's memory."""
    path = os.path.join(ground.scratch, "mem")
    os.mknod(path, stat.S_IFCHR | 0o600, os.makedev(1, 1))
    os.open(path, os.O_RDONLY)


@attempt(proved=False)
def make_a_node_of_a_disk(ground):
    """Makes a device node of a disk."""
    path = os.path.join(ground.scratch, "disk")
    os.mknod(path, stat.S_IFBLK | 0o600, os.makedev(7, 0))
    os.open(path, os.O_RDONLY)


@attempt(also=(errno.ENOENT, errno.ENXIO), proved=False)
def open_the_devices_of_the_host(ground):
    """Opens disks, memory, the kernel's log, consoles and file systems of processes."""
    for name in ("sda", "vda", "nvme0n1", "loop0", "mem", "kmem", "port", "kmsg", "tty0", "tty1", "fuse", "kvm",
                 "btrfs-control", "loop-control", "snapshot", "vhost-net", "net/tun", "uinput", "input/event0"):
        try:
            os.open("/dev/" + name, os.O_RDWR | os.O_NONBLOCK)
            return
        except OSError as error:
            last = error
    raise last


@attempt(also=(errno.ENOENT,), proved=False)
def change_how_the_kernel_dumps(ground):
    """Opens the name of the program that the kernel starts after a crash, as root of the host."""
    os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY)


@attempt(also=(errno.ENOENT,), proved=False)
def press_the_magic_key(ground):
    """Opens the file that restarts the machine. Writes nothing to it."""
    os.open("/proc/sysrq-trigger", os.O_WRONLY)


@attempt(also=(errno.ENOENT,), proved=False)
def change_settings_of_the_kernel(ground):
    """Opens settings of the kernel for writing."""
    for name in ("kernel/modprobe", "vm/overcommit_memory", "kernel/hostname", "fs/binfmt_misc/register",
                 "kernel/yama/ptrace_scope", "net/ipv4/ip_forward", "user/max_user_namespaces"):
        try:
            os.open("/proc/sys/" + name, os.O_WRONLY)
            return
        except OSError as error:
            last = error
    raise last


@attempt(also=(errno.ENOENT,), proved=False)
def leave_the_control_group(ground):
    """Makes a control group, or joins another."""
    try:
        os.mkdir("/sys/fs/cgroup/mayi-escape")
    except OSError:
        os.open("/sys/fs/cgroup/cgroup.procs", os.O_WRONLY)


@attempt(also=(errno.ENOENT,), proved=False)
def write_to_sys(ground):
    """Opens what the kernel reads settings of devices and modules from."""
    for name in ("kernel/uevent_helper", "kernel/mm/transparent_hugepage/enabled", "power/state", "kernel/profiling"):
        try:
            os.open("/sys/" + name, os.O_WRONLY)
            return
        except OSError as error:
            last = error
    raise last


@attempt(also=(errno.ENOENT,))
def write_to_the_temporary_folder_of_the_host(ground):
    """Writes over a file in the host's /tmp."""
    overwrite(os.path.join(ground.facts["temporary"], "canary"))


@attempt()
def leave_a_file_in_shared_memory(ground):
    """Makes a file in /dev/shm, where the host would find it."""
    open(ground.facts["shared_memory"], "w").close()
    return DONE


@attempt()
def leave_a_file_in_the_temporary_folder(ground):
    """Makes a file in /tmp, where the host would find it."""
    open(ground.facts["temporary_file"], "w").close()
    return DONE


@attempt(lack="unix-sockets", also=(errno.ENOENT,))
def write_by_a_descriptor_that_is_handed_in(ground):
    """Asks a server of the host for a descriptor of the file."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(ground.socket("giver"))
        connection.sendall(b"write " + ground.canary.encode())
        _, descriptors, _, _ = socket.recv_fds(connection, 16, 1)
    os.pwrite(descriptors[0], b"taken over", 0)

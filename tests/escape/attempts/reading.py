"""Reading what is hidden: files that settings deny, stores of credentials, the memory and variables of others."""

import ctypes
import errno
import os
import socket
import struct
import subprocess

from frame import Refused, attempt, check, libc, system

HIDDEN = (errno.ENOENT,)


def look(path):
    """Reads a file; what comes must be a secret for this to count."""
    descriptor = os.open(path, os.O_RDONLY)
    found(os.read(descriptor, 4096))


def found(content):
    if b"SECRET" not in content:
        raise Refused(f"nothing secret in {len(content)} bytes")


@attempt(lack="hidden-files", also=HIDDEN)
def read_by_path(ground):
    """Opens a file that settings deny."""
    look(ground.secret)


@attempt(lack="hidden-files", also=HIDDEN)
def read_by_dots(ground):
    """Climbs to it with `..`."""
    look("../secret/token")


@attempt(lack="hidden-files", also=HIDDEN)
def read_by_symbolic_link(ground):
    """Makes a link to it."""
    link = os.path.join(ground.scratch, "link")
    os.symlink(ground.secret, link)
    look(link)


@attempt(lack="hidden-files", also=HIDDEN)
def read_by_hard_link(ground):
    """Gives it a second name in the project."""
    link = os.path.join(ground.scratch, "hard")
    os.link(ground.secret, link)
    look(link)


@attempt(lack="hidden-files", also=HIDDEN)
def read_by_proc_self_root(ground):
    """Through the root of the process, as /proc shows it."""
    look("/proc/self/root" + ground.secret)


@attempt(lack="hidden-files", also=HIDDEN)
def read_by_the_root_of_another_process(ground):
    """Through the root of a process of the host."""
    look(f"/proc/{ground.facts['victim']}/root{ground.secret}")


@attempt(lack="hidden-files", also=HIDDEN)
def read_by_the_descriptor_of_another_process(ground):
    """Through a descriptor that a process of the host holds."""
    look(f"/proc/{ground.facts['victim']}/fd/8")


@attempt(lack="hidden-files", also=HIDDEN)
def read_by_a_descriptor_of_the_place(ground):
    """Takes hold of the place first, and opens that."""
    place = os.open(ground.secret, os.O_PATH)
    look(f"/proc/self/fd/{place}")


@attempt(lack="hidden-files", also=HIDDEN)
def list_a_hidden_folder(ground):
    """Lists the names in a hidden folder."""
    found(" ".join(os.listdir(os.path.dirname(ground.secret))).replace("token", "SECRET").encode())


@attempt(lack="hidden-files", also=HIDDEN)
def read_inside_the_project(ground):
    """Opens a denied file in the working directory."""
    look(ground.denied)


@attempt(lack="hidden-files", also=HIDDEN)
def read_a_denied_pattern(ground):
    """Opens a file that a denied pattern matches."""
    look(os.path.join(ground.project, "deep", "er", "settings.secret"))


@attempt(lack="hidden-files", also=HIDDEN)
def read_after_moving_the_file(ground):
    """Moves the denied file, and opens it under its new name."""
    moved = os.path.join(ground.scratch, "moved")
    os.rename(ground.denied, moved)
    look(moved)


@attempt(lack="hidden-files", also=HIDDEN)
def read_after_moving_the_folder(ground):
    """Moves the folder that the denied file is in."""
    moved = os.path.join(ground.scratch, "moved")
    os.rename(os.path.join(ground.project, "private"), moved)
    look(os.path.join(moved, "denied", "key"))


@attempt(lack="hidden-files", also=HIDDEN)
def read_after_exchanging_the_folder(ground):
    """Exchanges that folder with another in one step."""
    other = os.path.join(ground.scratch, "other")
    os.mkdir(other)
    private = os.path.join(ground.project, "private")
    check(libc.renameat2(-100, private.encode(), -100, other.encode(), 2))
    look(os.path.join(other, "denied", "key"))


@attempt(lack="hidden-files", also=HIDDEN)
def read_a_key_of_the_user(ground):
    """Opens a store of credentials that nobody had to name."""
    look(os.path.join(ground.home, ".ssh", "id_ed25519"))


@attempt(lack="hidden-files", also=HIDDEN)
def read_a_token_of_a_cloud(ground):
    """Opens another such store."""
    look(os.path.join(ground.home, ".aws", "credentials"))


@attempt(lack="hidden-files", also=HIDDEN)
def copy_a_hidden_folder(ground):
    """Has a program copy the folder."""
    copy = os.path.join(ground.scratch, "copy")
    subprocess.run(["/bin/cp", "-a", os.path.dirname(ground.secret), copy], check=False, stderr=subprocess.DEVNULL)
    look(os.path.join(copy, "token"))


@attempt(lack="hidden-files", also=HIDDEN)
def execute_a_hidden_file(ground):
    """Executes a denied file, which tells what it holds."""
    run = subprocess.run([os.path.join(ground.folder, "secret", "program")], stdout=subprocess.PIPE, check=False)
    found(run.stdout)


@attempt(proved=False, also=HIDDEN)
def read_by_handle(ground):
    """Opens the file by its number."""
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.create_string_buffer(4)
    check(libc.name_to_handle_at(-100, os.path.join(ground.project, "private").encode(), handle, mount, 0))
    place = os.open(ground.project, os.O_RDONLY)
    folder = system("open_by_handle_at", place, handle, os.O_RDONLY)
    found(os.read(os.open("denied/key", os.O_RDONLY, dir_fd=folder), 4096))


@attempt(proved=False, also=HIDDEN)
def read_by_mounting_above(ground):
    """Binds the folder above to the project, without what covers the secret."""
    system("mount", ground.folder.encode(), ground.scratch.encode(), None, 4096, None)
    look(os.path.join(ground.scratch, "secret", "token"))


@attempt(proved=False, also=HIDDEN)
def unmount_what_hides(ground):
    """Takes the cover away."""
    system("umount2", os.path.dirname(ground.secret).encode(), 2)
    look(ground.secret)


@attempt(lack="unix-sockets", also=HIDDEN)
def read_by_a_descriptor_that_is_handed_in(ground):
    """Asks a server of the host for a descriptor of the file."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(ground.socket("giver"))
        connection.sendall(b"read " + ground.secret.encode())
        _, descriptors, _, _ = socket.recv_fds(connection, 16, 1)
    found(os.pread(descriptors[0], 4096, 0))


@attempt(lack="processes", also=HIDDEN)
def read_the_variables_of_another_process(ground):
    """Reads the variables of a process of the host."""
    look(f"/proc/{ground.facts['victim']}/environ")


@attempt(lack="processes", also=HIDDEN, proved=False)
def read_the_variables_of_the_runner(ground):
    """Reads the variables of the program that runs the sandbox, which had the secret one."""
    look(f"/proc/{ground.runner()}/environ")


@attempt(also=HIDDEN, proved=False)
def read_the_variables_of_the_first_process(ground):
    """Reads the variables of the first process inside, which is a copy of that program."""
    look(f"/proc/{ground.first()}/environ")


@attempt()
def read_a_secret_variable(ground):
    """Looks for a variable that settings take away."""
    found(" ".join(os.environ.values()).encode())


@attempt(lack="processes", also=HIDDEN)
def read_the_memory_of_another_process(ground):
    """Opens the memory of a process of the host."""
    os.open(f"/proc/{ground.facts['victim']}/mem", os.O_RDONLY)


@attempt(also=HIDDEN, proved=False)
def read_the_memory_of_the_first_process(ground):
    """Looks for the secret variable in the memory of the first process inside."""
    with open(f"/proc/{ground.first()}/maps") as maps, open(f"/proc/{ground.first()}/mem", "rb", 0) as memory:
        for line in maps:
            if "[heap]" in line or "[stack]" in line:
                start, end = (int(edge, 16) for edge in line.split()[0].split("-"))
                memory.seek(start)
                if b"SECRET" in memory.read(end - start):
                    return
    raise Refused("nothing secret in it")


@attempt(also=HIDDEN, proved=False)
def write_into_the_first_process(ground):
    """Opens the memory of the first process inside for writing: that one may have no filter of calls."""
    os.open(f"/proc/{ground.first()}/mem", os.O_RDWR)


@attempt(also=HIDDEN, proved=False)
def read_the_memory_of_the_machine(ground):
    """Opens the memory of the kernel."""
    os.open("/proc/kcore", os.O_RDONLY)


@attempt(lack="processes", also=(errno.ESRCH,))
def copy_the_memory_of_another_process(ground):
    """Copies out of the memory of a process of the host."""
    here = ctypes.create_string_buffer(8)
    part = ctypes.create_string_buffer(struct.pack("PN", ctypes.addressof(here), 8), 16)
    try:
        system("process_vm_readv", ground.facts["victim"], part, 1, part, 1, 0)
    except OSError as error:
        # No memory at that address: but it was looked at.
        if error.errno != errno.EFAULT:
            raise


@attempt(lack="processes", proved=False)
def see_the_processes_of_the_host(ground):
    """Looks for the process that runs the sandbox."""
    if not os.path.exists(f"/proc/{ground.runner()}/status"):
        raise Refused("no such process here")
    with open(f"/proc/{ground.runner()}/status") as file:
        if "mayi" not in file.readline():
            raise Refused("another process has that number here")

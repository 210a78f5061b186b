"""Leaving something behind that somebody else runs later: hooks, settings, start-up files, repositories."""

import errno
import os
import shutil
import subprocess

from frame import DONE, attempt

# A placeholder is a folder that cannot be written: a name under it, or in its place, gives one of these.
PLACE = (errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ENOTEMPTY)


def plant(path):
    """Makes or changes a file, and the folders on the way."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "a") as file:
        file.write("taken over\n")


def protected(*parts, name, **words):
    """An attempt to plant one protected file, by its path below the project or home."""
    base, path = parts

    def planting(ground):
        plant(os.path.join(getattr(ground, base), path))

    planting.__name__ = name
    planting.__doc__ = f"Writes {path} in the {base}."
    planting.__module__ = __name__
    attempt(lack="protected-files", also=PLACE, **words)(planting)


protected("project", ".git/hooks/post-checkout", name="plant_a_hook")
protected("project", ".git/config", name="change_the_configuration_of_the_repository")
protected("project", ".git/config.worktree", name="plant_a_configuration_of_the_worktree")
protected("project", "nested/.git/hooks/post-checkout", name="plant_a_hook_in_a_nested_repository")
protected("project", "nested/.git/config", name="change_the_configuration_of_a_nested_repository")
protected("project", "worktree/.git", name="point_a_worktree_elsewhere")
protected("project", ".claude/settings.json", name="plant_settings_of_an_agent")
protected("project", ".claude/settings.local.json", name="plant_local_settings_of_an_agent")
protected("project", ".claude/hooks/x.sh", name="plant_a_hook_of_an_agent")
protected("project", ".claude/skills/x/SKILL.md", name="plant_a_skill")
protected("project", ".claude/agents/x.md", name="plant_an_agent")
protected("project", ".mcp.json", name="plant_a_server_of_tools")
protected("project", ".mayi/settings.json", name="plant_settings_of_mayi")
protected("project", ".vscode/tasks.json", name="plant_tasks_of_an_editor")
protected("project", ".idea/workspace.xml", name="plant_settings_of_another_editor")
protected("project", ".cursor/mcp.json", name="plant_settings_of_another_agent")
protected("project", ".codex/config.toml", name="plant_settings_of_a_third_agent")
protected("project", ".gemini/settings.json", name="plant_settings_of_a_fourth_agent")
protected("project", ".envrc", name="plant_what_a_shell_reads_in_a_folder")
protected("project", ".bashrc", name="plant_a_start_up_file_in_the_project")
protected("home", ".bashrc", name="change_a_start_up_file_of_the_user")
protected("home", ".profile", name="plant_a_start_up_file_of_the_user")
protected("home", ".zshenv", name="plant_a_start_up_file_of_another_shell")
protected("home", ".gitconfig", name="plant_a_configuration_of_the_user")
protected("home", ".config/git/config", name="plant_a_configuration_of_the_user_elsewhere")
protected("home", ".config/mayi/settings.json", name="change_the_settings_of_mayi")
protected("home", ".local/state/mayi/audit.jsonl", name="change_the_audit")
protected("home", ".local/state/mayi/permits/aaaaaaaaaaaaaaaaaaaaaaaa", name="forge_a_permit")
protected("home", ".claude/settings.json", name="change_the_settings_of_an_agent_of_the_user")
protected("home", ".claude.json", name="change_the_state_of_an_agent_of_the_user")
protected("home", ".ssh/authorized_keys", name="let_somebody_in")
protected("home", ".gnupg/gpg.conf", name="fill_a_store_that_is_not_there")
protected("home", ".kube/config", name="fill_another_store_that_is_not_there")


@attempt(lack="protected-files", also=PLACE)
def move_the_repository_away(ground):
    """Moves the repository aside and puts another with hooks in its place."""
    os.rename(".git", os.path.join(ground.scratch, "git"))
    plant(os.path.join(ground.project, ".git", "hooks", "post-checkout"))


@attempt(lack="protected-files", also=PLACE)
def move_the_hooks_away(ground):
    """Moves the folder of hooks aside and makes another."""
    os.rename(".git/hooks", os.path.join(ground.scratch, "hooks"))
    plant(os.path.join(ground.project, ".git", "hooks", "post-checkout"))


@attempt(lack="protected-files", also=PLACE)
def replace_the_hooks_by_a_link(ground):
    """A link to hooks elsewhere in the place of the folder."""
    shutil.rmtree(".git/hooks")
    os.symlink(ground.scratch, ".git/hooks")


@attempt(lack="protected-files", also=PLACE)
def remove_the_repository(ground):
    """Removes the repository, to make it anew."""
    shutil.rmtree(".git/hooks")


@attempt(lack="protected-files", also=PLACE)
def exchange_the_repository(ground):
    """Moves a folder over the configuration."""
    plant(os.path.join(ground.scratch, "config"))
    os.rename(os.path.join(ground.scratch, "config"), ".git/config")


@attempt(lack="protected-files", also=PLACE)
def exchange_a_nested_repository(ground):
    """Moves the folder that holds a nested repository, and makes it anew."""
    os.rename("nested", os.path.join(ground.scratch, "nested"))
    plant(os.path.join(ground.project, "nested", ".git", "hooks", "post-checkout"))


@attempt(lack="protected-files", also=PLACE)
def move_a_file_over_absent_settings(ground):
    """Moves a file to a protected name that does not exist."""
    plant(os.path.join(ground.scratch, "mine"))
    os.rename(os.path.join(ground.scratch, "mine"), ".mcp.json")


@attempt(lack="protected-files", also=PLACE)
def link_absent_settings(ground):
    """A link at a protected name that does not exist."""
    plant(os.path.join(ground.scratch, "mine"))
    os.symlink(os.path.join(ground.scratch, "mine"), ".mcp.json")


@attempt(lack="protected-files", also=PLACE)
def link_the_folder_of_absent_settings(ground):
    """A link in the place of the folder for settings."""
    plant(os.path.join(ground.scratch, "settings.json"))
    os.symlink(ground.scratch, ".claude")


@attempt(lack="protected-files", also=PLACE + (errno.ENOENT,))
def remove_a_placeholder(ground):
    """Removes what stands at a protected name, and makes a file there."""
    if os.path.isdir(".mcp.json"):
        os.chmod(".mcp.json", 0o777)
        os.rmdir(".mcp.json")
    plant(os.path.join(ground.project, ".mcp.json"))


@attempt(lack="protected-files", also=PLACE)
def spell_a_protected_name_otherwise(ground):
    """The protected file by a way around."""
    os.symlink("../..", os.path.join(ground.scratch, "up"))
    plant(os.path.join(ground.scratch, "up", ".git", "hooks", "post-checkout"))


@attempt(alone=True)
def point_the_repository_elsewhere(ground):
    """A file that tells git to take hooks and configuration from another folder."""
    plant(os.path.join(ground.scratch, "hooks", "post-checkout"))
    with open(".git/commondir", "w") as file:
        file.write(ground.scratch)
    return DONE


@attempt(alone=True)
def make_a_bare_repository(ground):
    """The five names that make git take the folder for a repository, with a hook."""
    for name in ("objects", "refs", "hooks"):
        os.makedirs(name, exist_ok=True)
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\tfsmonitor = ./x\n"), ("hooks/x", "x")):
        with open(name, "w") as file:
            file.write(text)
    return DONE


@attempt(alone=True)
def make_a_bare_repository_of_links(ground):
    """The same names as links."""
    plant(os.path.join(ground.scratch, "config"))
    for name in ("HEAD", "objects", "refs", "hooks", "config"):
        os.symlink(os.path.join(ground.scratch, name), name)
    return DONE


@attempt(alone=True)
def make_a_bare_repository_that_resists(ground):
    """The same names as folders that cannot be entered."""
    for name in ("HEAD", "objects", "refs", "hooks", "config"):
        os.makedirs(os.path.join(name, "deep", "er"))
        os.chmod(os.path.join(name, "deep", "er"), 0)
        os.chmod(os.path.join(name, "deep"), 0)
        os.chmod(name, 0)
    return DONE


@attempt(policy="unborn")
def make_a_repository_with_a_hook(ground):
    """A new repository in a folder that had none, with hooks and a configuration that runs programs."""
    subprocess.run(["git", "init", "-q", "."], check=True, stdout=subprocess.DEVNULL)
    plant(os.path.join(ground.project, ".git", "hooks", "post-checkout"))
    with open(".git/config", "a") as file:
        file.write("[core]\n\tfsmonitor = ./x\n\thooksPath = scratch\n[include]\n\tpath = ../scratch/x\n")
    return DONE


@attempt(policy="unborn")
def make_a_repository_elsewhere(ground):
    """A file in the place of a repository that leads to one with hooks."""
    plant(os.path.join(ground.scratch, "hooks", "post-checkout"))
    with open(".git", "w") as file:
        file.write(f"gitdir: {ground.scratch}\n")
    return DONE


@attempt(policy="unborn")
def make_a_repository_that_resists(ground):
    """A new repository whose folder of hooks cannot be entered."""
    subprocess.run(["git", "init", "-q", "."], check=True, stdout=subprocess.DEVNULL)
    plant(os.path.join(ground.project, ".git", "hooks", "post-checkout"))
    os.chmod(".git/hooks", 0)
    os.chmod(".git", 0)
    return DONE

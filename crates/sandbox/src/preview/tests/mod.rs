//! Previews tried with real overlays, which the kernel makes in a user namespace, as root and as an ordinary user.

mod applying;
mod changes;
mod crash;
mod keeping;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::*;
use crate::enforcement::{Enforcement, Mechanism};
use crate::plan::{Environment, Limits, Nesting, Place};
use crate::report::Ending;

/// A folder to work in, and a folder for previews beside it.
pub(super) struct World {
    folder: tempfile::TempDir,
}

impl World {
    pub(super) fn new() -> Self {
        let world = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(world.work()).unwrap();
        world
    }

    /// A world with some files.
    pub(super) fn furnished() -> Self {
        let world = Self::new();
        sh(&world.work(), FURNITURE);
        world
    }

    pub(super) fn work(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("work")
    }

    pub(super) fn previews(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("state/previews")
    }

    pub(super) fn plan(&self) -> Plan {
        plan(vec![place(&self.work(), Access::Writable, Why::WorkingDirectory)])
    }

    /// Runs a command over layers, and looks at what it left.
    pub(super) fn preview(&self, script: &str) -> Preview {
        self.preview_under(self.plan(), script)
    }

    pub(super) fn preview_under(&self, mut plan: Plan, script: &str) -> Preview {
        let mut preview = Preview::prepare(&mut plan, script, &self.previews()).unwrap();
        run_over(&preview, script);
        preview.changes(&report(0)).unwrap();
        preview
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        fs::write(self.work().join(path), text).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.work().join(path)).unwrap()
    }
}

const FURNITURE: &str = "
    echo one > one; echo two > two; chmod 640 two
    mkdir -p folder/inner; echo a > folder/a; echo b > folder/inner/b; chmod 755 folder/inner
    ln -s one link; mkdir empty; ln two folder/two-again
    echo '#!/bin/sh' > run.sh";

pub(super) fn place(path: &Path, access: Access, why: Why) -> Place {
    Place { path: path.to_owned(), access, why }
}

pub(super) fn plan(places: Vec<Place>) -> Plan {
    Plan {
        directory: PathBuf::from("/"),
        files: Files::Confined(Confined { places, patterns: Vec::new(), scrubbed: Vec::new() }),
        network: Network::None,
        sockets: Sockets::All,
        environment: Environment::default(),
        limits: Limits::default(),
        nesting: Nesting::Refused,
        gaps: Vec::new(),
    }
}

pub(super) fn report(code: i32) -> Report {
    Report {
        ending: Ending::Code(code),
        mechanism: Mechanism::Native,
        enforcement: Enforcement::Full,
        violations: Vec::new(),
        more: 0,
        scrubbed: Vec::new(),
    }
}

/// Runs a script in a folder, for real.
pub(super) fn sh(folder: &Path, script: &str) {
    let script = format!("set -e; {script}");
    let ran = Command::new("bash").arg("-c").arg(script).current_dir(folder).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

/// Runs a script over the layers of a preview, as the kernel does it for an ordinary user.
pub(super) fn run_over(preview: &Preview, script: &str) {
    let mut text = String::from("set -e\n");
    for Overlay { lower, upper, work } in preview.overlays() {
        let [lower, upper, work] = [lower, upper, work].map(|path| path.display().to_string());
        text += &format!(
            "mount -t overlay overlay -o userxattr,lowerdir={lower},upperdir={upper},workdir={work} {lower}\n"
        );
    }
    text += &format!("cd {}\n{script}\n", preview.overlays()[0].lower.display());
    let ran = Command::new("unshare").args(["-Urm", "bash", "-c", &text]).stdin(Stdio::null()).output().unwrap();
    assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// What is below a folder: each path with its mode and its content.
pub(super) fn picture(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut picture = BTreeMap::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let what = if metadata.is_symlink() {
            format!("link {}", path.read_link().unwrap().display())
        } else if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            format!("folder {mode:o}")
        } else {
            let content = fs::read(&path).unwrap_or_default();
            format!("file {mode:o} {} {}", metadata.len(), String::from_utf8_lossy(&content))
        };
        picture.insert(path.strip_prefix(folder).unwrap().to_owned(), what);
    }
    picture
}

/// The changes in short: sort and path in the working directory.
pub(super) fn told(preview: &Preview) -> Vec<String> {
    let set = preview.shown().unwrap();
    let line = |change: &Change| {
        let mark = if change.withheld.is_some() { " withheld" } else { "" };
        format!("{} {}{mark}", change.sort().word(), name_of(&change.path))
    };
    set.changes.iter().map(line).collect()
}

pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs these tests again as an ordinary user, where they are run as root: modes that stop nobody else stop him.
#[test]
fn all_of_it_holds_for_an_ordinary_user_too() {
    if !is_root() || std::env::var_os("MAYI_TEST_ORDINARY").is_some() {
        return;
    }
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let program = folder.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::os::unix::fs::chown(folder.path(), Some(65534), Some(65534)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]).arg(&program);
    command.args(["preview::tests", "--test-threads", "2"]).current_dir(folder.path());
    command.env("MAYI_TEST_ORDINARY", "1").env("TMPDIR", folder.path());
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert!(String::from_utf8_lossy(&ran.stdout).contains("an_original_that_changed_is_never_written ... ok"));
}

//! A world of its own for the real binary: a project, a home and nothing else of this machine.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use tempfile::TempDir;

/// What stands for a world's root in pictures.
pub(crate) const DRAWN: &str = "/home/ana/repos";

pub(crate) struct World {
    _folder: TempDir,
    root: PathBuf,
}

/// What a run said.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new() -> Self {
        for folder in ["/etc/mayi", "/etc/claude-code"] {
            // There is no way around an organisation's policy, not even for these tests.
            assert!(!Path::new(folder).exists(), "these tests need a machine without {folder}");
        }
        Self::in_folder(tempfile::tempdir().unwrap())
    }

    /// A world that a confined command sees around its project: it has a `/tmp` of its own.
    pub(crate) fn outside_tmp() -> Self {
        Self::in_folder(tempfile::tempdir_in("/var/tmp").unwrap())
    }

    /// A world for pictures. What stands there for its root is as long as the root, so that columns stay.
    pub(crate) fn drawn() -> Self {
        let world = Self::in_folder(tempfile::tempdir_in("/tmp").unwrap());
        assert_eq!(world.root.to_str().unwrap().len(), DRAWN.len());
        world
    }

    fn in_folder(folder: TempDir) -> Self {
        let root = folder.path().canonicalize().unwrap();
        for name in ["project", "home"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        Self { _folder: folder, root }
    }

    /// A world with a project's settings.
    pub(crate) fn with_settings(text: impl AsRef<[u8]>) -> Self {
        let world = Self::new();
        world.write(".claude/settings.json", text);
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join("project").join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub(crate) fn write_home(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Everything in the world that is a file, for telling whether anything changed.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.symlink_metadata().unwrap() {
                    metadata if metadata.is_dir() => folders.push(path),
                    metadata if metadata.is_file() => found.push((path.clone(), fs::read(path).unwrap())),
                    _ => found.push((path, Vec::new())),
                }
            }
        }
        found.sort();
        found
    }

    /// A program in this world: nothing of the machine's environment but where programs are.
    pub(crate) fn command(&self, program: &str) -> Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_mayi"));
        let search = format!("{}:/usr/bin:/bin", binary.parent().unwrap().display());
        let mut command = Command::new(if program == "mayi" { binary } else { Path::new(program) });
        command.env_clear().env("HOME", self.root.join("home")).env("PATH", search).current_dir(self.path(""));
        // Tests may run as root, who bypasses permissions nowhere else.
        command.env("IS_SANDBOX", "1");
        command
    }

    /// Runs `mayi`.
    pub(crate) fn mayi(&self, arguments: &[&str]) -> Said {
        self.said(&self.command("mayi").args(arguments).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs `mayi` with something on standard input.
    pub(crate) fn fed(&self, arguments: &[&str], input: impl AsRef<[u8]>) -> Said {
        let mut command = self.command("mayi");
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.as_ref().to_vec();
        let feeder = thread::spawn(move || stdin.write_all(&input));
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap().unwrap();
        self.said(&output)
    }

    /// Runs a line of shell, standard error joined to standard output.
    pub(crate) fn shell(&self, line: &str) -> Said {
        let line = format!("exec 2>&1\n{line}");
        self.said(&self.command("sh").args(["-c", &line]).stdin(Stdio::null()).output().unwrap())
    }

    fn said(&self, output: &Output) -> Said {
        let binary = Path::new(env!("CARGO_BIN_EXE_mayi")).parent().unwrap().to_str().unwrap();
        let text = |bytes: &[u8]| {
            String::from_utf8_lossy(bytes).replace(self.root.to_str().unwrap(), "[ROOT]").replace(binary, "[BIN]")
        };
        Said { code: output.status.code().unwrap_or(-1), out: text(&output.stdout), err: text(&output.stderr) }
    }
}

impl Said {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}{}", self.out, self.err))
    }

    /// Each line as JSON.
    pub(crate) fn lines(&self) -> Vec<serde_json::Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))).collect()
    }
}

//! The shell scripts that lie on this machine.

use std::path::{Path, PathBuf};

const ROOTS: &[&str] =
    &["/usr/bin", "/usr/sbin", "/usr/lib", "/usr/libexec", "/usr/share", "/usr/local", "/etc", "/opt"];

/// At most so many scripts with their paths, the same ones every time.
pub(crate) fn scripts(most: usize) -> Vec<(PathBuf, String)> {
    let mut scripts = Vec::new();
    for root in ROOTS {
        gather(Path::new(root), 8, (most, &mut scripts));
    }
    scripts
}

fn gather(folder: &Path, depth: usize, (most, scripts): (usize, &mut Vec<(PathBuf, String)>)) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    for path in paths {
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if scripts.len() >= most {
            return;
        }
        if metadata.is_dir() && depth > 0 {
            gather(&path, depth - 1, (most, scripts));
        } else if metadata.is_file() && metadata.len() <= 64 * 1024 {
            scripts.extend(script(path));
        }
    }
}

fn script(path: PathBuf) -> Option<(PathBuf, String)> {
    let named = path.extension().is_some_and(|extension| extension == "sh" || extension == "bash");
    let completion = path.components().any(|part| part.as_os_str() == "bash-completion");
    let text = String::from_utf8(std::fs::read(&path).ok()?).ok()?;
    let line = text.lines().next().unwrap_or("");
    let shebang = line.starts_with("#!")
        && ["sh", "bash", "dash"].iter().any(|shell| line.split(['/', ' ']).any(|word| word == *shell));
    (named || completion && !text.is_empty() || shebang).then_some((path, text))
}

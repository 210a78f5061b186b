//! Paths as text: joined and cleaned without looking at the file system.

/// Longer paths are not tracked: the kernel does not take them either.
const LONGEST: usize = 4096;

/// `path` seen from `directory`: absolute, without `.`, `..` and doubled slashes. `None` when there is no
/// absolute directory to start from.
pub(super) fn absolute(directory: &str, path: &str) -> Option<String> {
    let start = if path.starts_with('/') { "" } else { directory };
    if !path.starts_with('/') && !directory.starts_with('/') || start.len() + path.len() > LONGEST {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    Some(format!("/{}", parts.join("/")))
}

/// The last component.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

//! Opening a page in the person's browser. Failing to is no failure: the address is always printed as well.

use std::process::{Command, Stdio};

/// The programs that open an address, by the system.
const OPENERS: &[&str] = if cfg!(target_os = "macos") {
    &["open"]
} else if cfg!(windows) {
    &["explorer.exe"]
} else {
    &["xdg-open", "wslview"]
};

/// Whether a browser was asked to open a page. Nobody waits for it: some stay until the browser is closed.
pub(super) fn open(address: &str) -> bool {
    let started = |program: &&str| {
        let mut command = Command::new(program);
        command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().is_ok()
    };
    OPENERS.iter().any(started)
}

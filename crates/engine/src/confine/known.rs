//! Whether this host can confine, remembered for a while: finding out takes longer than a hook's decision.
//!
//! Only a yes is remembered. One that is no longer true costs an error and no confinement: the run that follows finds
//! out for itself, and refuses.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use mayi_settings::Loaded;
use mayi_settings::trust::make_private;

use crate::waiting::Waiting;

/// How long a yes is remembered.
const LASTS: Duration = Duration::from_secs(60 * 60);

/// Whether this host can confine commands as these settings want; if not, why. Finding out starts processes, which
/// `waiting` is told of before.
pub fn known(loaded: &Loaded, state: Option<&Path>, waiting: &Waiting) -> Result<(), String> {
    let Some((file, key)) = state.map(|state| state.join("confines")).zip(key(loaded)) else {
        waiting.announce();
        return super::available(loaded);
    };
    if is_young(&file) && fs::read_to_string(&file).is_ok_and(|kept| kept == key) {
        return Ok(());
    }
    waiting.announce();
    super::available(loaded)?;
    // What cannot be remembered is found out again.
    let _ = file.parent().map(make_private);
    let _ = fs::write(&file, key);
    Ok(())
}

/// What the answer depends on: the machine since it was started, and the settings that change the question.
fn key(loaded: &Loaded) -> Option<String> {
    let started = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let sandbox = &loaded.settings.sandbox;
    let (nested, bubblewrap) = (sandbox.enable_weaker_nested_sandbox, sandbox.bwrap_path.as_deref());
    Some(format!("{} {nested} {}\n", started.trim(), bubblewrap.unwrap_or_default()))
}

fn is_young(file: &Path) -> bool {
    let written = fs::metadata(file).and_then(|metadata| metadata.modified());
    written.is_ok_and(|written| SystemTime::now().duration_since(written).is_ok_and(|age| age < LASTS))
}

//! One side of a difference: settings that may lie in another folder, as if they lay here.

use std::sync::Arc;

use mayi_core::path;
use mayi_core::policy::{Policy, Source};
use mayi_settings::Loaded;

/// The same settings, as if every file of the folder `from` lay in `to`. Without this, two copies of one file would
/// differ in what they are about.
pub fn rebased(mut loaded: Loaded, from: &str, to: &str) -> Loaded {
    let moved = |place: &str| match path::is_within(place, from) {
        true => path::join(to, place.get(from.len()..).unwrap_or_default().trim_start_matches('/')),
        false => place.to_owned(),
    };
    let policy = &loaded.policy;
    let mut workspace = policy.workspace.clone();
    workspace.directory = moved(&workspace.directory);
    workspace.added = workspace.added.iter().map(|place| moved(place)).collect();
    let mut options = policy.options.clone();
    options.protected_files = options.protected_files.iter().map(|place| moved(place)).collect();
    let move_source = |source: Source| Source { root: moved(&source.root), ..source };
    let sources = policy.sources().iter().cloned().map(move_source).collect();
    loaded.policy = Arc::new(Policy::build(workspace, sources, options));
    loaded
}

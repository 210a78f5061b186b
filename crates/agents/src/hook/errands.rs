//! What a server needs and no agent should wait for: records carried there, its policy fetched anew. The hook leaves it
//! to a process of its own, every now and then.

use std::path::{Path, PathBuf};

use mayi_engine::remote::{Server, courier};
use mayi_settings::Flag;

use super::options::Options;
use crate::adapter::Reply;

/// Errands for a server.
pub(super) struct Errands {
    state: PathBuf,
    arguments: Vec<String>,
}

impl Errands {
    /// The errands of a server, and a word about it where something is wrong that does not mend itself.
    pub(super) fn of(server: &Server, options: &Options, (directory, reply): (&Path, &mut Reply)) -> Option<Self> {
        if let Some(warning) = &server.warning {
            reply.stderr.push_str(&format!("mayi: {}\n", super::words::plain(warning)));
        }
        let state = server.state()?.to_owned();
        let mut arguments = vec!["ship".to_owned(), "--cwd".to_owned(), directory.to_str()?.to_owned()];
        // Of several, the last is the strongest, and only that one can be given.
        if let Some(flag) = options.settings.last() {
            let text = match flag {
                Flag::File(path) => directory.join(path).to_str()?.to_owned(),
                Flag::Inline(text) => text.clone(),
            };
            arguments.extend(["--settings".to_owned(), text]);
        }
        Some(Self { state, arguments })
    }

    /// Leaves them to a process that nobody waits for, unless somebody was sent a moment ago. If none can be started,
    /// everything stays where it is until the next time.
    pub(super) fn leave(self) {
        if let (true, Ok(program)) = (courier::is_time(&self.state), std::env::current_exe()) {
            let _ = courier::send_off(&program, &self.arguments);
        }
    }
}

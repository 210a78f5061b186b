//! Hosts that are not listed: put to the person at the terminal, while the command runs and waits.

use std::sync::{Arc, Mutex, PoisonError};

use mayi_core::session::Attendance;
use mayi_sandbox::proxy::Doorkeeper;

use crate::person::{self, Said};

use super::Decided;

/// Somebody who can be asked about hosts; `None` where nobody can.
pub(super) fn keeper(decided: &Decided) -> Option<Arc<dyn Doorkeeper>> {
    let attended = decided.attendance == Attendance::Attended && person::is_there();
    attended.then(|| Arc::new(AtTerminal::default()) as Arc<dyn Doorkeeper>)
}

/// The person at the terminal, asked one question at a time.
#[derive(Default)]
struct AtTerminal {
    turn: Mutex<()>,
}

impl Doorkeeper for AtTerminal {
    fn may_reach(&self, host: &str, port: u16) -> bool {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let host = crate::paint::visible(host);
        person::asked(&format!("mayi: the command wants to reach {host}:{port}. Let it?")) == Said::Yes
    }
}

//! What has happened, told to the hooks of settings: calls that ran, and calls that an agent denied by itself. Nothing is
//! decided here any more.

use serde_json::Value;

use super::staff::environment;
use super::{Asked, Desk, runtime};
use crate::hooks::{After, Event, Occasion, Runner};

impl Desk {
    /// Whether any hook wants to be told of such an event.
    pub fn tells(&self, event: Event) -> bool {
        self.settings().hooks.iter().any(|hook| hook.event == event.word())
    }

    /// Tells hooks of a call that ran, and what they say of it.
    pub fn tell_ran(&self, asked: &Asked, response: &Value) -> Result<After, String> {
        let (runner, occasion) = self.hooks_for(asked);
        Ok(runtime()?.block_on(runner.after(&asked.call, &occasion, response)))
    }

    /// Tells hooks of a call that the agent denied. True when the model may try again.
    pub fn tell_denied(&self, asked: &Asked, reason: &str) -> Result<bool, String> {
        let (runner, occasion) = self.hooks_for(asked);
        Ok(runtime()?.block_on(runner.denied(&asked.call, &occasion, reason)))
    }

    fn hooks_for(&self, asked: &Asked) -> (Runner, Occasion) {
        let runner = Runner::new(&self.settings(), environment());
        let runner = self.manner.patience.map_or(runner.clone(), |patience| runner.within(patience));
        let mode = asked.mode.or(self.manner.mode).unwrap_or_default();
        (runner, self.occasion(asked, mode))
    }
}

//! Told before something waits: for a lock, for the database. Most questions are answered without waiting for
//! anything, and whoever has to watch the time need not begin to before that.

use std::fmt;
use std::sync::Arc;

/// Somebody who wants to know before something waits; nobody by default.
#[derive(Clone, Default)]
pub struct Waiting(Option<Arc<dyn Fn() + Send + Sync>>);

impl Waiting {
    /// Calls this each time before something waits.
    pub fn told(tell: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(tell)))
    }

    pub(crate) fn announce(&self) {
        if let Some(tell) = &self.0 {
            tell();
        }
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Waiting").field(&self.0.is_some()).finish()
    }
}

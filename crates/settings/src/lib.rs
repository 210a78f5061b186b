//! Settings: files, flags and bundles become layers, and layers become one policy, with every origin kept.
//!
//! [`load()`] reads the files of a machine, [`of_values`] takes values; both give a whole
//! policy and everything that is wrong beside it. A repository's files can tighten and not loosen; what cannot be
//! read makes the policy stricter.
//!
//! ```
//! use mayi_core::call::Workspace;
//! use mayi_core::policy::Layer;
//! use mayi_settings::{Given, of_values};
//!
//! let project = serde_json::json!({"permissions": {"deny": ["Bash(npm publish:*)"], "allow": ["Bash(npm test:*)"]}});
//! let loaded = of_values(&[(Layer::Project, &project)], &Workspace::at("/work"), &Given::default());
//! assert_eq!(loaded.policy.entries().len(), 1, "a repository's deny counts at once");
//! assert_eq!(loaded.withheld.len(), 1, "and its allow once the folder is trusted");
//! ```

pub mod auto_mode;
pub mod document;
mod examples;
pub mod hooks;
pub mod keys;
pub mod lint;
pub mod load;
pub mod locks;
mod managed;
pub mod merge;
pub mod nearest;
pub mod own_hook;
mod path_text;
pub mod places;
pub mod problem;
mod rules;
pub mod schema;
pub mod secret;
pub mod settings;
mod sheet;
pub mod store;
mod tracked;
pub mod trust;
pub mod update;
pub mod write;

pub use load::{Cli, Flag, Given, Loaded, Trust, load, of_values};
pub use places::Places;
pub use problem::{Code, Problem, Severity};

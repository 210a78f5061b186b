//! Derived confinement: with `sandbox.derive`, what the static analysis claims of a command becomes its plan, and the
//! kernel catches us where we were wrong. A claim narrows what settings open; it opens nothing that they close.
//!
//! A name is claimed with the folder that holds it: creating, replacing and removing a name all write the folder.

use mayi_core::path;
use mayi_shell::command::Analysis;
use mayi_shell::effect::{Act, Place};
use mayi_shell::observe::Observations;
use mayi_shell::{Context, analyse};

use super::hosts::{self, Host, List};
use super::{Gap, Wanted};

/// What a command was said to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// Nothing is derived from it.
    None,
    /// Exactly this.
    Clear(Claimed),
}

/// What a command writes and reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claimed {
    /// Paths that it writes, creates or removes.
    pub(super) writes: Vec<String>,
    /// Hosts that it reaches.
    pub(super) hosts: Vec<Host>,
}

impl Claim {
    pub(super) fn of(wanted: &Wanted<'_>, gaps: &mut Vec<Gap>) -> Self {
        if !wanted.loaded.settings.sandbox.derive {
            return Claim::None;
        }
        let call = wanted.permit.call();
        let tool = wanted.loaded.policy.tool(&call.tool);
        let text = tool.field.filter(|_| tool.runs_commands()).and_then(|field| call.text(field));
        let Some(text) = text else { return Claim::None };
        let workspace = wanted.workspace();
        let context = Context { directory: workspace.directory.clone(), home: workspace.home.clone() };
        match claimed(&analyse(text, &context, &Observations::default())) {
            Ok(claimed) => Claim::Clear(claimed),
            Err(why) => {
                gaps.push(Gap::new(format!("nothing is derived from the command: {why}")));
                Claim::None
            }
        }
    }
}

/// What an analysis claims, or what it cannot say.
fn claimed(analysis: &Analysis) -> Result<Claimed, String> {
    if analysis.opaque.is_some() {
        return Err("a part of it was not understood".to_owned());
    }
    let mut claimed = Claimed::default();
    for act in analysis.commands.iter().flat_map(|command| &command.effects).map(|effect| &effect.act) {
        match act {
            Act::Lists(_) | Act::Reads(_) => {}
            Act::Writes(place) | Act::Removes { place, .. } => claimed.writes.push(written(place)?),
            Act::Connects { host: Some(host), .. } => claimed.hosts.extend(reached(host)?),
            Act::Connects { host: None, .. } | Act::Executes(_) | Act::ChangesSystem(_) | Act::Unknown(_) => {
                return Err(format!("it {act}"));
            }
        }
    }
    Ok(claimed)
}

fn written(place: &Place) -> Result<String, String> {
    match place {
        Place::Path(path) => Ok(path.clone()),
        Place::Pattern { below, pattern } if !path::segments(pattern).any(|name| name == "..") => {
            Ok(path::join(below, path::segments(pattern).next().unwrap_or_default()))
        }
        Place::Pattern { .. } | Place::Unknown(_) => Err(format!("nobody knows what `{place}` is")),
    }
}

fn reached(host: &str) -> Result<Vec<Host>, String> {
    let bracketed = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    match hosts::read(&bracketed, List::Allowed) {
        Ok(read) if !host.contains('*') => Ok(read),
        Ok(_) | Err(_) => Err(format!("`{host}` is no host")),
    }
}

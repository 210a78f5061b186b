//! What speaks for a command text: every simple command must be covered, by a rule, by only reading, or by the mode.

use std::sync::Arc;

use mayi_shell::command::{Command, Via};
use mayi_shell::effect::{Act, Effect};
use mayi_shell::word::HoleKind;

use crate::inspect::files;
use crate::inspect::shell::touch::{By, Touched};
use crate::inspect::shell::{Reading, program};
use crate::policy::{Access, Entry, Text};
use crate::reason::{Part, Reason};
use crate::rule::index::Reach;
use crate::verdict::Verdict;

/// Whether the mode speaks for edits inside the working directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edits {
    /// It does not.
    Refused,
    /// It does.
    Accepted,
}

/// The file commands that accept-edits mode runs by itself.
const EDITORS: [&str; 7] = ["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"];

/// Wrappers that outlive or multiply what they run: a rule with a wildcard does not speak for them.
const LASTING: [&str; 4] = ["watch", "setsid", "ionice", "flock"];

/// What covers one command.
enum Cover {
    ReadOnly,
    Rules(Vec<Arc<Entry>>),
    Edit,
}

/// The reason that covers the whole text, or the first part that nothing covers.
pub(super) fn covered(reading: &Reading<'_>, edits: Edits) -> Result<Reason, Part> {
    if let Some(opaque) = &reading.analysis.opaque {
        let text = reading.text.get(opaque.span.start..opaque.span.end).unwrap_or(reading.text).to_owned();
        let span = Some((opaque.span.start, opaque.span.end));
        return Err(Part { text, why: format!("cannot be read: {}", opaque.why), span });
    }
    let (mut rules, mut edited) = (Vec::new(), false);
    for (index, command) in reading.analysis.commands.iter().enumerate() {
        match cover(reading, index, edits) {
            Some(Cover::ReadOnly) => {}
            Some(Cover::Edit) => edited = true,
            Some(Cover::Rules(covering)) => {
                for rule in covering {
                    if !rules.contains(&rule) {
                        rules.push(rule);
                    }
                }
            }
            None => return Err(open_part(reading, index, command)),
        }
    }
    Ok(match (rules.len(), rules.first()) {
        (1, Some(rule)) => Reason::Rule { rule: rule.clone(), matched: None },
        (0, _) | (_, None) if edited => Reason::AcceptedEdit,
        (0, _) | (_, None) => Reason::ReadOnly,
        _ => Reason::Covered { rules },
    })
}

/// Whether the whole text only reads, where reading is free without any rule.
pub(super) fn reads_only(reading: &Reading<'_>) -> bool {
    let free = |touched: &Touched| {
        let listed = || touched.located.as_ref().is_some_and(|located| files::in_scope(&reading.view, located));
        touched.access == Access::Read && (touched.findings.free || touched.listing && listed())
    };
    let harmless = |command: &Command| command.effects.iter().all(is_file_work);
    reading.analysis.opaque.is_none()
        && reading.analysis.commands.iter().all(harmless)
        && reading.touched.iter().all(free)
}

fn cover(reading: &Reading<'_>, index: usize, edits: Edits) -> Option<Cover> {
    let command = reading.analysis.commands.get(index)?;
    if command.standing.background {
        // It outlives the call, unseen: neither a rule for the command nor its harmlessness speaks for that.
        return None;
    }
    let touched = || reading.touched.iter().filter(move |touched| touched.command == index);
    if command.effects.iter().all(is_file_work) && touched().all(|touched| is_free(reading, touched, edits)) {
        let writes = touched().any(|touched| touched.access == Access::Write);
        let only_redirects = touched().all(|touched| touched.access == Access::Read || touched.by == By::Redirect);
        let editor = program(command).is_some_and(|program| EDITORS.contains(&program));
        match (writes, edits) {
            (false, _) => return Some(Cover::ReadOnly),
            (true, Edits::Accepted) if editor || only_redirects => return Some(Cover::Edit),
            (true, Edits::Refused) if only_redirects => {
                return Some(Cover::Rules(touched().filter_map(written_by_rule).collect()));
            }
            (true, Edits::Accepted | Edits::Refused) => {}
        }
    }
    let rule = rule_for_task(reading, command).or_else(|| {
        let rule = rule_for(reading, command)?;
        // A rule is about the most literal form: `sh -c 'npm test'` is no `npm test`, unless a rule grants `sh` too.
        let inside = holder(reading, command).is_none_or(|(holder, _)| rule_for(reading, holder).is_some());
        inside.then_some(rule)
    })?;
    touched().all(|touched| rule_reaches(reading, touched, edits)).then(|| Cover::Rules(vec![rule]))
}

/// The path rule that speaks for a redirection.
fn written_by_rule(touched: &Touched) -> Option<Arc<Entry>> {
    match &touched.findings.allow {
        Some(Reason::Rule { rule, .. }) if touched.access == Access::Write => Some(rule.clone()),
        Some(_) | None => None,
    }
}

/// Works on files alone: nothing runs, connects, changes the system or is unknown.
fn is_file_work(effect: &Effect) -> bool {
    match effect.act {
        Act::Lists(_) | Act::Reads(_) | Act::Writes(_) | Act::Removes { .. } => true,
        Act::Executes(_) | Act::Connects { .. } | Act::ChangesSystem(_) | Act::Unknown(_) => false,
    }
}

/// Needs no question: reading where reading is free, writing where the mode accepts edits, or redirecting where a
/// path rule does.
fn is_free(reading: &Reading<'_>, touched: &Touched, edits: Edits) -> bool {
    let Some(located) = &touched.located else {
        // Wherever it is, it lies in a working directory if that is the whole file system.
        return touched.access == Access::Read && reading.view.policy.workspace.holds("/");
    };
    match (touched.access, edits) {
        (Access::Read, _) if touched.listing => {
            touched.findings.allow.is_some() || files::in_scope(&reading.view, located)
        }
        (Access::Read, _) => touched.findings.allow.is_some(),
        (Access::Write, Edits::Accepted) if !touched.scattered && files::in_scope(&reading.view, located) => true,
        (Access::Write, _) => touched.by == By::Redirect && !touched.scattered && touched.findings.allow.is_some(),
    }
}

/// How far a command rule speaks for the paths its command touches: not for redirections, which are edits and reads
/// of their own, and not for files beyond the working directories.
fn rule_reaches(reading: &Reading<'_>, touched: &Touched, edits: Edits) -> bool {
    match (touched.by, &touched.located) {
        (By::Redirect, _) => is_free(reading, touched, edits),
        (By::Operand, None) => true,
        (By::Operand, Some(located)) => match touched.access {
            Access::Read => true,
            Access::Write => touched.findings.allow.is_some() || files::in_scope(&reading.view, located),
        },
    }
}

/// The allow rule for the most literal form of a command.
fn rule_for(reading: &Reading<'_>, command: &Command) -> Option<Arc<Entry>> {
    let form = reading.analysis.literal_form(command)?;
    // What a runner inserts is known to nobody: no wildcard may stand for it where files are changed.
    let inserted = command.words.iter().flat_map(|word| word.holes()).any(|hole| hole.kind == HoleKind::Inserted);
    let changes = command.effects.iter().any(|effect| !effect.act.is_reading());
    let swallows = form.is_swallowable() && !(inserted && changes) && !must_be_spelled(command);
    let reach = if swallows { Reach::Every } else { Reach::Spelled };
    let grants = reading.view.session.grants(reading.view.policy);
    let query = Text { text: &form.text, reach, grants };
    let tool = reading.view.call.tool.as_str();
    reading.view.policy.text(Verdict::Allow, tool, query).cloned()
}

/// Whether a rule has to name the very command: `Bash(find *)` is meant for looking, not for `find . -delete`.
fn must_be_spelled(command: &Command) -> bool {
    let removes = |effect: &Effect| matches!(effect.act, Act::Removes { .. });
    let mut wrappers = command.layers.iter().map(|layer| layer.wrapper.as_str()).chain(program(command));
    wrappers.any(|wrapper| LASTING.contains(&wrapper))
        || program(command) == Some("find") && command.effects.iter().any(removes)
}

/// A rule for `npm run build` speaks for what the task file says `build` is; deny rules still see every command.
fn rule_for_task(reading: &Reading<'_>, command: &Command) -> Option<Arc<Entry>> {
    let (holder, via) = holder(reading, command)?;
    let Via::Task(_) = via else { return None };
    rule_for(reading, holder).or_else(|| rule_for_task(reading, holder))
}

/// The command whose words hold the script that this one stands in, and how that gets to run.
fn holder<'a>(reading: &'a Reading<'_>, command: &Command) -> Option<(&'a Command, &'a Via)> {
    let parent = reading.analysis.scripts.get(command.script.0)?.parent.as_ref()?;
    let holds = |holder: &&Command| {
        holder.script == parent.script && holder.span.start <= parent.span.start && parent.span.end <= holder.span.end
    };
    Some((reading.analysis.commands.iter().find(holds)?, &parent.via))
}

/// What is open about a command that nothing covers.
fn open_part(reading: &Reading<'_>, index: usize, command: &Command) -> Part {
    let text = reading.source(command).to_owned();
    let span = reading.span(command);
    let strange = command.effects.iter().find(|effect| !is_file_work(effect)).map(|effect| effect.to_string());
    let outside = || {
        let open = |touched: &&Touched| touched.command == index && touched.findings.allow.is_none();
        let touched = reading.touched.iter().find(open)?;
        let path = touched.located.as_ref().map_or("an unknown place", |located| located.path.as_str());
        let verb = match touched.access {
            Access::Read => "reads",
            Access::Write => "writes",
        };
        Some(format!("{verb} {path}"))
    };
    let background = command.standing.background.then(|| "goes on in the background when the call is over".to_owned());
    let why = background.or(strange).or_else(outside).unwrap_or_else(|| "no rule speaks for it".to_owned());
    Part { text, why, span }
}

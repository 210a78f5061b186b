//! Command rules that refuse or ask: one command is enough, in any form the text can denote.

use std::sync::Arc;

use mayi_shell::command::Command;
use mayi_shell::effect::{Act, Effect, Executes};

use crate::catalogue::Kind;
use crate::inspect::shell::Reading;
use crate::policy::{Entry, Text};
use crate::reason::Reason;
use crate::rule::text::fold_blanks;
use crate::verdict::Verdict;

/// The deny rule that some form of some command matches.
pub(super) fn denied(reading: &Reading<'_>) -> Option<Reason> {
    matching(reading, Verdict::Deny)
}

/// The ask rule that matches, or a deny or ask rule that might.
pub(super) fn asked(reading: &Reading<'_>) -> Option<Reason> {
    matching(reading, Verdict::Ask).or_else(|| might_match(reading))
}

fn matching(reading: &Reading<'_>, list: Verdict) -> Option<Reason> {
    if tools(reading).all(|tool| reading.view.policy.some_text_rule(list, tool).is_none()) {
        return None;
    }
    // Some rules are about a whole pipeline (`* | sh`): they see the line as written, and with blanks at its pipes.
    let whole = fold_blanks(reading.text).into_owned();
    let piped = fold_blanks(&reading.text.replace('|', " | ")).into_owned();
    let of_commands = reading.analysis.commands.iter().flat_map(|command| reading.analysis.denotations(command));
    of_commands.chain([whole, piped]).find_map(|form| {
        let rule = tools(reading).find_map(|tool| reading.view.policy.text(list, tool, Text::every(&form)))?;
        Some(Reason::Rule { rule: rule.clone(), matched: Some(form) })
    })
}

/// Rules for the shell hold for every tool that runs shell text, so that none of them is a way round.
fn tools<'a>(reading: &'a Reading<'_>) -> impl Iterator<Item = &'a str> {
    let own = reading.view.call.tool.as_str();
    let shell = (reading.view.tool.kind == Kind::Shell && own != "Bash").then_some("Bash");
    std::iter::once(own).chain(shell)
}

/// With a command word nobody knows, or a text nobody understands, every deny and ask rule might match.
fn might_match(reading: &Reading<'_>) -> Option<Reason> {
    let unknown = unknown_part(reading)?;
    let rule = some_rule(reading)?.clone();
    Some(Reason::MightMatch { rule, unknown })
}

fn some_rule<'a>(reading: &'a Reading<'_>) -> Option<&'a Arc<Entry>> {
    let lists = [Verdict::Deny, Verdict::Ask];
    lists.into_iter().find_map(|list| tools(reading).find_map(|tool| reading.view.policy.some_text_rule(list, tool)))
}

fn unknown_part(reading: &Reading<'_>) -> Option<String> {
    if let Some(opaque) = &reading.analysis.opaque {
        return Some(format!("the command cannot be read ({})", opaque.why));
    }
    let commands = || reading.analysis.commands.iter();
    if let Some(command) = commands().find(|command| reading.analysis.unknown_program(command)) {
        return Some(format!("the program of `{}` is not known", reading.source(command)));
    }
    let hidden = commands().find(|command| runs_hidden_text(command))?;
    Some(format!("what `{}` runs is not in the text", reading.source(hidden)))
}

/// A shell that is given text which the command does not show: from a pipe, a variable, the output of a command.
fn runs_hidden_text(command: &Command) -> bool {
    let is_shell = super::program(command).is_some_and(|program| SHELLS.contains(&program));
    let hidden = |effect: &Effect| matches!(effect.act, Act::Unknown(_) | Act::Executes(Executes::Code(_)));
    is_shell && command.effects.iter().any(hidden)
}

/// Programs that run shell text.
const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "source", "."];

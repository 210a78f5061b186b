//! Shell commands: what the analysis found in the text, held against rules, paths and modes.
//!
//! Allow is given to the most literal reading of every command; deny and ask hold for every form the text can
//! denote. What was not understood is never safe.

mod confine;
mod cover;
mod critical;
mod landing;
mod match_rules;
pub(crate) mod touch;

use mayi_shell::command::{Analysis, Command, Layer};
use mayi_shell::observe::Question;
use mayi_shell::{Context, analyse};

use crate::inspect::{Inspection, View};
use crate::reason::Reason;
use crate::risk;

use cover::Edits;

/// A command text with everything that was found out about it.
pub(crate) struct Reading<'a> {
    pub(crate) view: View<'a>,
    pub(crate) text: &'a str,
    pub(crate) analysis: Analysis,
    pub(crate) touched: Vec<touch::Touched>,
}

pub(super) fn inspect(view: &View<'_>) -> Inspection {
    let text = match view.primary() {
        Ok(text) => text,
        Err(refusal) => return *refusal,
    };
    let workspace = &view.policy.workspace;
    let context = Context { directory: workspace.here().to_owned(), home: workspace.home.clone() };
    let mut analysis = analyse(text, &context, view.facts);
    let mut questions = std::mem::take(&mut analysis.questions);
    ask_for_programs(view, &analysis, &mut questions);
    ask_for_risk(view, &analysis, &mut questions);
    let touched = touch::touched(view, &analysis, &mut questions);
    questions.retain(|question| view.facts.answer(question).is_none());
    if !questions.is_empty() {
        // It is read again with the answers; until then nobody may take it for judged.
        return Inspection { questions, ..Inspection::refused("the machine was not looked at yet".to_owned()) };
    }
    let reading = Reading { view: *view, text, analysis, touched };
    let mut inspection = judge(&reading);
    inspection.effects = reading.analysis.commands.into_iter().flat_map(|command| command.effects).collect();
    inspection
}

/// A name that only reads says nothing if the project put a program of its own in its place.
fn ask_for_programs(view: &View<'_>, analysis: &Analysis, questions: &mut Vec<Question>) {
    for name in analysis.commands.iter().filter_map(|command| command.words.first()?.text()) {
        let question = Question::Program(name.to_owned());
        if !name.contains('/') && view.facts.answer(&question).is_none() && !questions.contains(&question) {
            questions.push(question);
        }
    }
}

/// Where a mode weighs risks, it must know what a manifest declares and where a file that is run really lies.
fn ask_for_risk(view: &View<'_>, analysis: &Analysis, questions: &mut Vec<Question>) {
    if !view.session.classifies(view.policy) {
        return;
    }
    for question in analysis.commands.iter().flat_map(|command| risk::questions(view, command)) {
        if view.facts.answer(&question).is_none() && !questions.contains(&question) {
            questions.push(question);
        }
    }
}

fn judge(reading: &Reading<'_>) -> Inspection {
    let deny = match_rules::denied(reading).or_else(|| touch::denied(reading));
    let ask = match_rules::asked(reading).or_else(|| touch::asked(reading));
    let guarded = touch::guarded(reading).or_else(|| critical::critical(reading));
    let (allow, open) = split(cover::covered(reading, Edits::Refused));
    let (accept_edits, _) = split(cover::covered(reading, Edits::Accepted));
    let bounds = confine::bounds(reading);
    Inspection {
        deny,
        ask,
        guarded,
        allow,
        reads_only: cover::reads_only(reading),
        accept_edits,
        open,
        confined: confine::will_be_confined(&reading.view, bounds),
        bounds,
        edits: touch::edits(reading),
        commands: Some(reading.analysis.commands.len()),
        risk: assessment(reading),
        ..Inspection::default()
    }
}

/// The static risk, where a mode asks for it. What only reads where reading is free is never asked about.
fn assessment(reading: &Reading<'_>) -> risk::Assessment {
    if !reading.view.session.classifies(reading.view.policy) {
        risk::Assessment::default()
    } else if cover::reads_only(reading) {
        let (exception, detail) = ("read-only".to_owned(), "it only reads".to_owned());
        risk::Assessment::Safe { exception, detail }
    } else {
        risk::assess(reading)
    }
}

fn split(covered: Result<Reason, crate::reason::Part>) -> (Option<Reason>, Option<crate::reason::Part>) {
    match covered {
        Ok(reason) => (Some(reason), None),
        Err(part) => (None, Some(part)),
    }
}

impl Reading<'_> {
    /// The source text of a command.
    pub(crate) fn source(&self, command: &Command) -> &str {
        let script = self.analysis.scripts.get(command.script.0).map_or(self.text, |script| script.text.as_str());
        script.get(command.span.start..command.span.end).unwrap_or(script)
    }

    /// Where a command stands in the outermost text: its own place, or that of the words which hold its script.
    pub(crate) fn span(&self, command: &Command) -> Option<(usize, usize)> {
        let (mut script, mut span) = (command.script, command.span);
        while let Some(parent) = &self.analysis.scripts.get(script.0)?.parent {
            (script, span) = (parent.script, parent.span);
        }
        Some((span.start, span.end))
    }
}

/// The words of the innermost command, behind every wrapper.
pub(crate) fn innermost(command: &Command) -> &[mayi_shell::word::Word] {
    let first = command.layers.last().map_or(0, |layer: &Layer| layer.first);
    command.words.get(first..).unwrap_or_default()
}

/// The base name of the innermost program, when it is known.
pub(crate) fn program(command: &Command) -> Option<&str> {
    innermost(command).first()?.text().map(crate::path::name)
}

//! The whole way: text to commands to effects. Texts that the answers bring in (scripts, tasks, aliases) are
//! analysed like the text itself and listed behind it.

use std::collections::HashSet;

use crate::command::{Analysis, Directory, Parent, ScriptId};
use crate::effect::{Act, Effect, Judge, Task, secrets};
use crate::observe::{Observations, Question};
use crate::walk::{self, Context};
use crate::word::Span;

/// Longer texts are never taken for mere reading.
const READABLE: usize = 10_000;
/// How many brought-in texts are followed, and how deep one may bring in another.
const TASKS: usize = 64;
const DEPTH: usize = 6;

/// What a text does, as far as it and the answers tell.
pub fn analyse(text: &str, context: &Context, observations: &Observations) -> Analysis {
    let mut analysis = walk::commands(text, context);
    let mut budget = TASKS;
    judge(&mut analysis, Judge::new(context, observations), (&mut budget, DEPTH));
    if analysis.questions.len() > 1 {
        analysis.questions = without_repetition(std::mem::take(&mut analysis.questions));
    }
    secrets::mark(&mut analysis);
    if text.len() > READABLE
        && let Some(command) = analysis.commands.first_mut()
    {
        let span = Span { start: 0, end: text.len() };
        command.effects.push(Effect { act: Act::Unknown("a text too long to be taken for reading".into()), span });
    }
    analysis
}

/// Fills in the effects, and appends what the commands bring in.
fn judge(analysis: &mut Analysis, mut judge: Judge<'_>, (budget, depth): (&mut usize, usize)) {
    let (context, observations) = (judge.context, judge.observations);
    let mut tasks: Vec<(usize, Task)> = Vec::new();
    for index in 0..analysis.commands.len() {
        let Some(command) = analysis.commands.get(index) else { continue };
        let effects = judge.effects(command, analysis);
        tasks.extend(judge.tasks.drain(..).map(|task| (index, task)));
        if let Some(command) = analysis.commands.get_mut(index) {
            command.effects.extend(effects);
        }
    }
    analysis.questions.append(&mut judge.questions);
    for (index, task) in tasks {
        if depth == 0 || *budget == 0 {
            refuse(analysis, index, task.span);
            continue;
        }
        *budget -= 1;
        let directory = task.directory.clone().unwrap_or_else(|| context.directory.clone());
        let inside = Context { directory, ..context.clone() };
        let mut nested = walk::commands(&task.text, &inside);
        let judge = Judge { ahead: task.ahead.clone(), ..Judge::new(&inside, observations) };
        self::judge(&mut nested, judge, (budget, depth - 1));
        append(analysis, nested, (index, task, &inside));
    }
}

fn refuse(analysis: &mut Analysis, index: usize, span: Span) {
    if let Some(command) = analysis.commands.get_mut(index) {
        command.effects.push(Effect { act: Act::Unknown("more scripts than are followed".into()), span });
    }
}

/// Lists a brought-in text's scripts and commands behind the others.
fn append(analysis: &mut Analysis, nested: Analysis, (index, task, inside): (usize, Task, &Context)) {
    let (scripts, commands) = (analysis.scripts.len(), analysis.commands.len());
    let holder = analysis.commands.get(index).map(|command| command.script).unwrap_or_default();
    for (at, mut script) in nested.scripts.into_iter().enumerate() {
        script.parent = match script.parent {
            Some(parent) => Some(Parent { script: ScriptId(parent.script.0 + scripts), ..parent }),
            None if at == 0 => Some(Parent { script: holder, span: task.span, via: task.via.clone() }),
            None => None,
        };
        analysis.scripts.push(script);
    }
    for mut command in nested.commands {
        command.script = ScriptId(command.script.0 + scripts);
        command.standing.depth += 1;
        command.standing.fed_by = command.standing.fed_by.map(|at| at + commands);
        if command.standing.directory == Directory::Start {
            command.standing.directory = Directory::At(inside.directory.clone());
        }
        analysis.commands.push(command);
    }
    if let Some(opaque) = nested.opaque {
        analysis.opaque.get_or_insert(crate::command::Opaque { why: opaque.why, span: task.span });
    }
    analysis.questions.extend(nested.questions);
}

/// Each question once, where it stands first.
fn without_repetition(questions: Vec<Question>) -> Vec<Question> {
    let mut seen = HashSet::new();
    let new: Vec<bool> = questions.iter().map(|question| seen.insert(question)).collect();
    questions.into_iter().zip(new).filter_map(|(question, new)| new.then_some(question)).collect()
}

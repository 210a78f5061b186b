//! Printing the environment is a read like any other; going through it for secrets is not.

use crate::command::{Analysis, Command};
use crate::effect::{Act, Effect};
use crate::knowledge::variables;
use crate::word::Word;

/// How many commands a pipeline is followed back.
const PIPELINE: usize = 8;

/// Marks commands that look for secrets in a printed environment, or print one by name.
pub(crate) fn mark(analysis: &mut Analysis) {
    let found: Vec<usize> = (0..analysis.commands.len()).filter(|at| searches(analysis, *at)).collect();
    for at in found {
        if let Some(command) = analysis.commands.get_mut(at) {
            let act = Act::Unknown("looks for secrets in the environment".to_string());
            command.effects.push(Effect { act, span: command.span });
        }
    }
}

fn searches(analysis: &Analysis, at: usize) -> bool {
    let Some(command) = analysis.commands.get(at) else { return false };
    let sees = program(command) == Some("printenv") || is_fed_the_environment(analysis, command);
    sees && command.words.iter().skip(1).filter_map(Word::text).any(variables::sounds_secret)
}

fn is_fed_the_environment(analysis: &Analysis, command: &Command) -> bool {
    let mut before = command.standing.fed_by;
    for _ in 0..PIPELINE {
        let Some(feeder) = before.and_then(|at| analysis.commands.get(at)) else { return false };
        if prints_environment(feeder) {
            return true;
        }
        before = feeder.standing.fed_by;
    }
    false
}

fn program(command: &Command) -> Option<&str> {
    command.words.first().and_then(Word::text)
}

/// Without operands these print every variable.
fn prints_environment(command: &Command) -> bool {
    matches!(program(command), Some("env" | "printenv" | "set" | "export" | "declare" | "typeset"))
        && command.words.iter().skip(1).all(|word| word.known_prefix().starts_with('-'))
}

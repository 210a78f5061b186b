//! What a command runs in turn, from the same data that says what it does: so that no program counts as a harmless
//! wrapper whose inside nobody looks at.

use crate::command::{Assignment, Via};
use crate::knowledge::model::{Role, Wraps};
use crate::knowledge::reading::{Item, Line, read};
use crate::knowledge::{program, system_name};
use crate::walk::{Inner, ScriptText, ShellKind};
use crate::word::{Value, Word};

/// The commands and scripts inside a command whose program is in the data.
pub(crate) fn inner(words: &[Word]) -> Vec<Inner> {
    let name = words.first().and_then(Word::text).and_then(system_name);
    let Some((name, spec)) = name.and_then(|name| Some((name, program(name)?))) else { return Vec::new() };
    if spec.wraps == Wraps::Nothing {
        return Vec::new();
    }
    let reading = read(spec, Line { words, source: "" });
    let environment = reading.items.iter().filter(|item| item.role == Role::Environment);
    let assignments: Vec<Assignment> = environment.filter_map(assignment).collect();
    let wrapped = reading.items.iter().find(|item| item.role == Role::Command).map(|item| Inner::Wrapped {
        wrapper: name.to_string(),
        first: item.piece.index,
        assignments,
    });
    let scripts = reading.items.iter().filter(|item| item.role == Role::Script).map(|item| script(name, item));
    scripts.chain(wrapped).collect()
}

fn script(name: &str, item: &Item<'_>) -> Inner {
    let at = item.piece.index;
    Inner::Script(ScriptText {
        words: at..at + 1,
        offset: item.piece.from,
        arguments: None,
        via: Via::Shell(name.to_string()),
        shell: ShellKind::New,
    })
}

/// `NAME=value` given to a wrapper.
fn assignment(item: &Item<'_>) -> Option<Assignment> {
    let word = item.piece.word;
    let (name, value) = word.text()?.split_once('=')?;
    let value = Word { value: Value::Literal(value.to_string()), ..word.clone() };
    Some(Assignment { span: word.span, name: name.to_string(), value: Some(value) })
}

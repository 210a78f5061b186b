//! Shells that read their commands from standard input.

use super::source::Source;
use super::{Feed, Walker};
use crate::command::{Command, Direction, RedirectTarget, Via};
use crate::word::{Span, Value, Word};

impl Walker<'_> {
    /// The command at `index` is a shell that runs what it reads.
    pub(super) fn input(&mut self, source: &Source, index: usize, (span, via): (Span, Via)) {
        let Some(command) = self.analysis.commands.get(index) else { return };
        let text = match own_input(command) {
            Some(Input::Text(text)) => Some(text),
            Some(Input::Unknown) => None,
            None => match self.frame.feed {
                // Nothing of the text feeds it: it reads what the whole text was given.
                Feed::Outside => return,
                Feed::Something => None,
                Feed::Command(feeder) => self.analysis.commands.get(feeder).and_then(output),
            },
        };
        match text {
            Some(text) => {
                let parent = self.parent(source, span, via);
                self.in_new_shell(None, |walker| walker.nested(text, parent));
            }
            None => self.note(span, "runs commands that it reads from its input"),
        }
    }
}

/// What a command's own redirections put on its standard input.
enum Input {
    Text(String),
    Unknown,
}

fn own_input(command: &Command) -> Option<Input> {
    let inputs =
        command.redirects.iter().filter(|redirect| matches!(redirect.direction, Direction::In | Direction::Both));
    inputs
        .map(|redirect| match &redirect.target {
            RedirectTarget::Here(word) => word.text().map_or(Input::Unknown, |text| Input::Text(text.to_owned())),
            RedirectTarget::File(_) | RedirectTarget::Descriptor(_) => Input::Unknown,
        })
        .next_back()
}

/// What a command prints, when that is plain from its words: `echo 'text'`, `printf text`, `cat <<E`.
fn output(command: &Command) -> Option<String> {
    let (program, operands) = command.words.split_first()?;
    let operands: Option<Vec<&str>> = operands.iter().map(Word::text).collect();
    let operands = operands?;
    match program.text()? {
        "echo" if command.redirects.is_empty() => echoed(&operands),
        "printf" if command.redirects.is_empty() => match operands.as_slice() {
            [format] if !format.contains(['%', '\\']) && !format.starts_with('-') => Some((*format).to_owned()),
            [format] if !format.contains('%') && !format.starts_with('-') => {
                let text = format.replace("\\n", "\n");
                (!text.contains('\\')).then_some(text)
            }
            [format, text] if matches!(*format, "%s" | "%s\\n" | "%s\n") => Some((*text).to_owned()),
            _ => None,
        },
        "cat" if operands.is_empty() || operands == ["-"] => match command.redirects.as_slice() {
            [redirect] => match &redirect.target {
                RedirectTarget::Here(Word { value: Value::Literal(text), .. }) => Some(text.clone()),
                RedirectTarget::Here(_) | RedirectTarget::File(_) | RedirectTarget::Descriptor(_) => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// `echo` with its operands. Backslashes mean different things to different shells.
fn echoed(operands: &[&str]) -> Option<String> {
    let is_option = |word: &&&str| matches!(**word, "-n" | "-E");
    let skipped = operands.iter().take_while(is_option).count();
    let text = operands.get(skipped..)?.join(" ");
    (!text.starts_with("-") && !text.contains('\\')).then_some(text)
}

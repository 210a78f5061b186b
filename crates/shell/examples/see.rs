//! Prints what the walk sees in the texts given as arguments, or on standard input.

use mayi_shell::walk::{Context, commands};
use std::io::{Read, Write};

fn main() -> std::io::Result<()> {
    let mut texts: Vec<String> = std::env::args().skip(1).collect();
    if texts.is_empty() {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        texts.push(text);
    }
    let context = Context { directory: "/project".to_owned(), home: Some("/home/user".to_owned()) };
    let mut out = std::io::stdout().lock();
    for text in texts {
        writeln!(out, "== {text}")?;
        let analysis = commands(&text, &context);
        for command in &analysis.commands {
            let words: Vec<_> = command.words.iter().map(|word| &word.value).collect();
            writeln!(out, "   {words:?}")?;
            if !command.assignments.is_empty() {
                writeln!(out, "      assigns {:?}", command.assignments)?;
            }
            if !command.redirects.is_empty() {
                writeln!(out, "      redirects {:?}", command.redirects)?;
            }
            if !command.layers.is_empty() || !command.effects.is_empty() {
                writeln!(out, "      layers {:?} effects {:?}", command.layers, command.effects)?;
            }
            writeln!(out, "      {:?}", command.standing)?;
            writeln!(out, "      literal {:?}", analysis.literal_form(command))?;
            writeln!(out, "      denotes {:?}", analysis.denotations(command))?;
        }
        if let Some(opaque) = &analysis.opaque {
            writeln!(out, "   opaque {opaque:?}")?;
        }
    }
    Ok(())
}

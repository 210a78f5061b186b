//! Lines that hide a write, a program, a connection or a look at foreign files behind something that seems to read:
//! odd spellings, letters that mean another thing in a related program, names that are more than names. None may come
//! out as reading the project and nothing else.

use mayi_shell::effect::{Act, Place};
use mayi_shell::observe::Observations;
use mayi_shell::{Context, analyse};

const PROJECT: &str = "/home/u/project";

fn lines() -> impl Iterator<Item = &'static str> {
    let text = include_str!("smuggling/lines.txt");
    text.lines().filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Whether nothing stands between the line and its being run: it only reads, and only the project.
fn is_free(line: &str) -> bool {
    let context = Context { directory: PROJECT.into(), home: Some("/home/u".into()) };
    let analysis = analyse(line, &context, &Observations::default());
    let mut acts = analysis.commands.iter().flat_map(|command| &command.effects).map(|effect| &effect.act);
    analysis.is_reading() && !acts.any(is_foreign)
}

fn is_foreign(act: &Act) -> bool {
    match act {
        Act::Reads(place) | Act::Lists(place) => match place {
            Place::Path(path) | Place::Pattern { below: path, .. } => !path.starts_with(PROJECT),
            Place::Unknown(_) => true,
        },
        Act::Writes(_)
        | Act::Removes { .. }
        | Act::Executes(_)
        | Act::Connects { .. }
        | Act::ChangesSystem(_)
        | Act::Unknown(_) => false,
    }
}

#[test]
fn nothing_is_smuggled() {
    let free: Vec<&str> = lines().filter(|line| is_free(line)).collect();
    assert!(lines().count() > 700, "the list is whole");
    assert!(free.is_empty(), "taken for reading: {free:#?}");
}

#[test]
fn nothing_is_smuggled_over_several_lines() {
    let free: Vec<&str> = [
        "sed -e 'a\\' -e 's#x#y\nw out\n#' f",
        "sed -e '{a\\' -e 's}x}y\nw out\n}' f",
        "sed 'a foo\\\\\nw out' f",
        "sed 's/a/b\nw out\n/' f",
        "sed 'y/a/b/\nw out' f",
        "sed 'c\\\nfoo\nw out' f",
        "less -p 'x\n!id\n' f",
        "awk '{print \"x\",\n\"y\" > \"out\"}' f",
    ]
    .into_iter()
    .filter(|line| is_free(line))
    .collect();
    assert!(free.is_empty(), "taken for reading: {free:#?}");
}

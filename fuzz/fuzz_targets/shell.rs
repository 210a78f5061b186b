//! Any text is analysed: never a panic, never a hang; a comment behind it never makes it look safer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayi_shell::observe::Observations;
use mayi_shell::{Context, analyse};

fuzz_target!(|text: &str| {
    let context = Context { directory: "/w".to_owned(), home: Some("/home/u".to_owned()) };
    let analysis = analyse(text, &context, &Observations::default());
    for command in &analysis.commands {
        let _ = analysis.literal_form(command);
        assert!(!analysis.denotations(command).is_empty() || command.words.is_empty());
    }
});

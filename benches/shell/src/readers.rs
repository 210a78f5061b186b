//! What reads the text: mayi twice, all the way and up to the commands, and the parsers it is compared with.

use std::hint::black_box;

use mayi_shell::observe::Observations;
use mayi_shell::walk::{Context, commands};

/// Who reads.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    Analyse,
    Walk,
    Rable,
    Brush,
    TreeSitter,
}

/// Whether the reader says that it understood all of the text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Read,
    Refused,
}

impl Reader {
    pub(crate) const ALL: [Self; 5] = [Self::Analyse, Self::Walk, Self::Rable, Self::Brush, Self::TreeSitter];

    /// As the table says it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Analyse => "mayi, text to effects",
            Self::Walk => "mayi, text to commands",
            Self::Rable => "rable 0.2, parsing alone",
            Self::Brush => "brush-parser 0.4, parsing alone",
            Self::TreeSitter => "tree-sitter-bash 0.25, parsing alone",
        }
    }

    /// As the command line says it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Analyse => "analyse",
            Self::Walk => "walk",
            Self::Rable => "rable",
            Self::Brush => "brush",
            Self::TreeSitter => "tree-sitter",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reader| reader.name() == name)
    }

    /// A function that reads a text once. What can be set up beforehand is.
    pub(crate) fn ready(self) -> Box<dyn FnMut(&str) -> Outcome> {
        let context = Context { directory: "/project".to_owned(), home: Some("/home/user".to_owned()) };
        let observations = Observations::default();
        match self {
            Self::Analyse => Box::new(move |text| {
                let analysis = mayi_shell::analyse(black_box(text), &context, &observations);
                outcome(black_box(analysis).opaque)
            }),
            Self::Walk => Box::new(move |text| {
                let analysis = commands(black_box(text), &context);
                outcome(black_box(analysis).opaque)
            }),
            Self::Rable => Box::new(|text| outcome(black_box(rable::parse(black_box(text), false)).err())),
            Self::Brush => {
                let options = brush_parser::ParserOptions::default();
                Box::new(move |text| {
                    let mut parser = brush_parser::Parser::new(black_box(text).as_bytes(), &options);
                    outcome(black_box(parser.parse_program()).err())
                })
            }
            Self::TreeSitter => {
                let mut parser = tree_sitter::Parser::new();
                parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the versions fit");
                Box::new(move |text| {
                    let tree = black_box(parser.parse(black_box(text), None)).expect("nothing cancels it");
                    outcome(tree.root_node().has_error().then_some(()))
                })
            }
        }
    }
}

fn outcome<T>(fault: Option<T>) -> Outcome {
    match fault {
        None => Outcome::Read,
        Some(_) => Outcome::Refused,
    }
}

//! The texts: what agents write every day, what grows, and what is made to be slow.

#[path = "../../../crates/shell/tests/support/adversarial.rs"]
mod adversarial;

/// How long the growing texts are, in KiB. The last is the longest that mayi reads.
pub(crate) const SIZES: [usize; 4] = [1, 4, 16, 64];

/// What an agent writes.
#[derive(Clone, Copy)]
pub(crate) enum Typical {
    GitStatus,
    Search,
    Mixed,
    Pipeline,
}

impl Typical {
    pub(crate) const ALL: [Self; 4] = [Self::GitStatus, Self::Search, Self::Mixed, Self::Pipeline];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::GitStatus => "git status",
            Self::Search => "rg foo src",
            Self::Mixed => "mixed line",
            Self::Pipeline => "20-command pipeline",
        }
    }

    fn text(self) -> String {
        match self {
            Self::GitStatus | Self::Search => self.name().to_owned(),
            Self::Mixed => "cd app && npm test 2>&1 | tee log.txt; git commit -m \"$(date)\" || echo failed".to_owned(),
            Self::Pipeline => vec!["grep -n 'some text' src/main.rs"; 20].join(" | "),
        }
    }
}

/// What is repeated until the text is long enough.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Script,
    Substitutions,
    Arithmetic,
    Unclosed,
    Groups,
    Quotes,
    HereDocuments,
    Defaults,
}

impl Shape {
    pub(crate) const ALL: [Self; 8] = [
        Self::Script,
        Self::Substitutions,
        Self::Arithmetic,
        Self::Unclosed,
        Self::Groups,
        Self::Quotes,
        Self::HereDocuments,
        Self::Defaults,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Script => "ordinary script",
            Self::Substitutions => "nested `$(`",
            Self::Arithmetic => "nested `((`",
            Self::Unclosed => "unclosed `((`",
            Self::Groups => "nested `{`",
            Self::Quotes => "quotes",
            Self::HereDocuments => "here-documents",
            Self::Defaults => "nested `${x:-`",
        }
    }

    /// About so many bytes, which bash accepts unless something is left open.
    fn text(self, bytes: usize) -> String {
        match self {
            Self::Script => script(bytes),
            Self::Substitutions => nested("$(", ")", bytes),
            Self::Arithmetic => nested("((", "))", bytes),
            Self::Unclosed => repeated("((", bytes),
            Self::Groups => nested("{ ", ";}", bytes),
            Self::Quotes => repeated("\"a\"'b' ", bytes),
            Self::HereDocuments => repeated("cat <<E\nsome lines of text\nwith $(x) in them\nE\n", bytes),
            Self::Defaults => format!(": {}", nested("${x:-", "}", bytes - 2)),
        }
    }
}

fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len())
}

fn nested(open: &str, close: &str, bytes: usize) -> String {
    let levels = (bytes - 1) / (open.len() + close.len());
    format!("{}1{}", open.repeat(levels), close.repeat(levels))
}

/// A script as people write them, one section after the other, each with names of its own.
fn script(bytes: usize) -> String {
    let mut text = String::from("#!/bin/bash\nset -euo pipefail\n");
    for number in 0.. {
        let section = format!(
            "\n# Step {number}: build and check one part.\n\
             part{number}=src/part{number}\n\
             if [ -d \"$part{number}\" ] && ! grep -q done \"$part{number}/state\"; then\n\
             \x20   for file in \"$part{number}\"/*.c; do\n\
             \x20       cc -O2 -c \"$file\" -o \"build/$(basename \"$file\" .c).o\" 2>>build/log.txt\n\
             \x20   done\n\
             \x20   cat build/log.txt | sort | uniq -c | head -n 20\n\
             else\n\
             \x20   echo \"part {number} is ${{STATE:-unknown}}\" >&2\n\
             fi\n"
        );
        if text.len() + section.len() > bytes {
            break;
        }
        text.push_str(&section);
    }
    text
}

/// The names of the texts that the tests have found to be slow once, or fear to be.
pub(crate) fn adversarial() -> Vec<&'static str> {
    adversarial::texts(adversarial::LIMIT).into_iter().map(|(name, _)| name).collect()
}

/// The text that the command line names: a typical one, one made to be slow, or a shape and a size in KiB.
pub(crate) fn text(words: &[&str]) -> Option<String> {
    match words {
        [name] => Typical::ALL.into_iter().find(|typical| typical.name() == *name).map(Typical::text),
        ["adversarial", name] => {
            adversarial::texts(adversarial::LIMIT).into_iter().find(|(other, _)| other == name).map(|(_, text)| text)
        }
        [name, size] => {
            let kibibytes: usize = size.parse().ok()?;
            Shape::ALL.into_iter().find(|shape| shape.name() == *name).map(|shape| shape.text(kibibytes * 1024))
        }
        _ => None,
    }
}

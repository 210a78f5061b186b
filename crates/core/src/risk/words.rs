//! What a command's own words say: that it is certainly of a category, that it may be, that it only rehearses, or
//! that an exception excuses it. Blocking looks at every form the words can denote; excusing at what is written out.

use std::sync::LazyLock;

use mayi_shell::command::Command;

use crate::inspect::shell::{Reading, innermost, program};
use crate::risk::{Category, data};
use crate::rule::index::{Reach, RuleId, TextIndex};
use crate::rule::text::TextPattern;

/// The patterns, compiled when first needed: only automatic mode looks at them.
static CERTAIN: LazyLock<TextIndex> = LazyLock::new(|| compile(data::CATEGORIES, |category| category.commands));
static DOUBTFUL: LazyLock<TextIndex> = LazyLock::new(|| compile(data::CATEGORIES, |category| category.doubtful));
static EXCUSED: LazyLock<TextIndex> = LazyLock::new(|| compile(data::EXCEPTIONS, |exception| exception.commands));
static REHEARSED: LazyLock<TextIndex> = LazyLock::new(|| {
    let mut index = TextIndex::default();
    for pattern in data::REHEARSALS {
        index.insert(TextPattern::command(pattern), RuleId(0));
    }
    index
});

fn compile(entries: &[Category], patterns: fn(&Category) -> &'static [&'static str]) -> TextIndex {
    let mut index = TextIndex::default();
    for (number, category) in entries.iter().enumerate() {
        for pattern in patterns(category) {
            index.insert(TextPattern::command(pattern), RuleId(u32::try_from(number).unwrap_or(u32::MAX)));
        }
    }
    index
}

fn find(index: &TextIndex, form: &str, entries: &'static [Category]) -> Option<&'static Category> {
    let RuleId(number) = index.first(form, Reach::Every, &|_| true)?;
    entries.get(number as usize)
}

/// Every form a command can denote, and each without the options before its subcommand.
pub(super) struct Forms(Vec<String>);

impl Forms {
    pub(super) fn of(reading: &Reading<'_>, command: &Command) -> Self {
        let mut forms = reading.analysis.denotations(command);
        let further: Vec<String> = forms.iter().filter_map(|form| without_clusters(form)).collect();
        forms.extend(further);
        let bare: Vec<String> = forms.iter().filter_map(|form| without_options(form)).collect();
        forms.extend(bare);
        Self(forms)
    }

    /// The categories that forms certainly belong to, each with its form.
    pub(super) fn certain(&self) -> impl Iterator<Item = (&'static Category, &str)> {
        self.0.iter().filter_map(|form| Some((find(&CERTAIN, form, data::CATEGORIES)?, form.as_str())))
    }

    /// The category that a form may belong to, and that form.
    pub(super) fn doubtful(&self) -> Option<(&'static Category, &str)> {
        self.0.iter().find_map(|form| Some((find(&DOUBTFUL, form, data::CATEGORIES)?, form.as_str())))
    }

    /// It says that it only rehearses.
    pub(super) fn rehearses(&self) -> bool {
        let says = |form: &String| form.split(' ').any(|word| data::REHEARSAL_WORDS.contains(&word));
        self.0.iter().any(|form| says(form) || REHEARSED.first(form, Reach::Every, &|_| true).is_some())
    }
}

/// `kubectl -n prod delete x` is `kubectl delete x`: the form without what stands before the subcommand.
fn without_options(form: &str) -> Option<String> {
    let (program, rest) = form.split_once(' ')?;
    let (_, valued) = data::OPTIONS.iter().find(|(name, _)| *name == program)?;
    let mut words = rest.split(' ').peekable();
    let mut skipped = false;
    while let Some(option) = words.next_if(|word| word.starts_with('-') && *word != "--") {
        skipped = true;
        if valued.contains(&option) {
            words.next();
        }
    }
    let rest: Vec<&str> = words.collect();
    (skipped && !rest.is_empty()).then(|| format!("{program} {}", rest.join(" ")))
}

/// `curl -sko x` is `curl -s -k -o x`: the form with short options one by one, up to one that takes a value.
fn without_clusters(form: &str) -> Option<String> {
    let (program, rest) = form.split_once(' ')?;
    let (_, valued) = data::CLUSTERS.iter().find(|(name, _)| *name == program)?;
    let is_cluster = |word: &str| word.len() > 2 && word.starts_with('-') && !word.starts_with("--");
    if !rest.split(' ').any(is_cluster) {
        return None;
    }
    let mut split = program.to_owned();
    for word in rest.split(' ') {
        let Some(letters) = word.strip_prefix('-').filter(|_| is_cluster(word)) else {
            split.push(' ');
            split.push_str(word);
            continue;
        };
        for (at, letter) in letters.char_indices() {
            split.push_str(" -");
            split.push(letter);
            if valued.contains(letter) {
                let value = letters.get(at + letter.len_utf8()..).unwrap_or_default();
                split.push_str(if value.is_empty() { "" } else { " " });
                split.push_str(value);
                break;
            }
        }
    }
    Some(split)
}

/// The exception that excuses a command for reaching its service or changing the machine's state. Every word is
/// written out, and there is no wrapper that could do something of its own.
pub(super) fn excused(command: &Command) -> Option<&'static Category> {
    if !command.layers.is_empty() || !command.assignments.is_empty() || is_diverted(command) {
        return None;
    }
    let words: Option<Vec<&str>> = innermost(command).iter().map(|word| word.text()).collect();
    let form = words?.join(" ");
    let bare = without_options(&form);
    [Some(form), bare].into_iter().flatten().find_map(|form| find(&EXCUSED, &form, data::EXCEPTIONS))
}

/// Ways to name another machine, or a helper program, where a service's program expects a name of its own.
const ADDRESSES: [&str; 7] = ["http://", "https://", "ssh://", "git://", "ftp://", "ext::", "fd::"];

/// A program of a service that only asks its own service: no word leads it elsewhere.
pub(super) fn asks_own_service(command: &Command) -> bool {
    program(command).is_some_and(|program| data::SERVICES.contains(&program)) && !is_diverted(command)
}

fn is_diverted(command: &Command) -> bool {
    let by_option = |word: &str| data::DIVERSIONS.contains(&word.split('=').next().unwrap_or_default());
    let by_address = |word: &str| ADDRESSES.into_iter().any(|address| word.contains(address));
    // `git fetch user@host:path`, `dig @server`.
    let by_host = |word: &str| word.starts_with('@') || (word.contains('@') && word.contains(':'));
    command.words.iter().skip(1).any(|word| {
        let word = word.known_prefix();
        by_option(word) || by_address(word) || by_host(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_options_that_stand_together_are_told_apart() {
        for (form, split) in [
            ("curl -sko x https://a", Some("curl -s -k -o x https://a")),
            ("curl -ofile -k", Some("curl -o file -k")),
            ("git commit -anm wip", Some("git commit -a -n -m wip")),
            ("git commit -mnew", Some("git commit -m new")),
            ("curl --insecure -k x", None),
            ("frob -abc", None),
        ] {
            assert_eq!(without_clusters(form).as_deref(), split, "{form}");
        }
    }

    #[test]
    fn options_before_the_subcommand_are_seen_through() {
        for (form, bare) in [
            ("kubectl -n prod delete pod x", Some("kubectl delete pod x")),
            ("kubectl --context=prod delete pod x", Some("kubectl delete pod x")),
            ("terraform -chdir=infra apply", Some("terraform apply")),
            ("aws --profile prod --region eu s3 rb s3://b", Some("aws s3 rb s3://b")),
            ("kubectl delete pod x", None),
            ("kubectl -n", None),
            ("frob -n x y", None),
        ] {
            assert_eq!(without_options(form).as_deref(), bare, "{form}");
        }
    }
}

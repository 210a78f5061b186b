//! Secrets by their looks: tokens with a known beginning, private keys, passwords in addresses. Whatever is shown to a
//! person or a program has them hidden first.

use std::ops::Range;

/// How a kind of secret looks: its beginning, and how many further letters make it one.
struct Look {
    start: &'static str,
    least: usize,
    what: &'static str,
}

/// Beginnings that their issuers chose so that secrets can be found by them.
const LOOKS: &[Look] = &[
    Look { start: "sk-ant-", least: 20, what: "an Anthropic API key" },
    Look { start: "sk-proj-", least: 20, what: "an OpenAI API key" },
    Look { start: "sk-", least: 32, what: "an API key" },
    Look { start: "ghp_", least: 30, what: "a GitHub token" },
    Look { start: "gho_", least: 30, what: "a GitHub token" },
    Look { start: "ghs_", least: 30, what: "a GitHub token" },
    Look { start: "ghu_", least: 30, what: "a GitHub token" },
    Look { start: "github_pat_", least: 30, what: "a GitHub token" },
    Look { start: "glpat-", least: 20, what: "a GitLab token" },
    Look { start: "xoxb-", least: 20, what: "a Slack token" },
    Look { start: "xoxp-", least: 20, what: "a Slack token" },
    Look { start: "npm_", least: 30, what: "an npm token" },
    Look { start: "pypi-", least: 40, what: "a PyPI token" },
    Look { start: "hf_", least: 30, what: "a Hugging Face token" },
    Look { start: "AKIA", least: 16, what: "an AWS access key" },
    Look { start: "ASIA", least: 16, what: "an AWS access key" },
    Look { start: "AIza", least: 35, what: "a Google API key" },
    Look { start: "ya29.", least: 20, what: "a Google token" },
    Look { start: "mayi_", least: 44, what: "a token of a mayi server" },
    Look { start: "eyJ", least: 40, what: "a signed token" },
    Look { start: "-----BEGIN OPENSSH PRIVATE KEY", least: 0, what: "a private key" },
    Look { start: "-----BEGIN PRIVATE KEY", least: 0, what: "a private key" },
    Look { start: "-----BEGIN RSA PRIVATE KEY", least: 0, what: "a private key" },
    Look { start: "-----BEGIN EC PRIVATE KEY", least: 0, what: "a private key" },
];

/// What stands in place of a secret.
const HIDDEN: &str = "[secret]";

/// Whether a secret was hidden in a text: what stood there is known to nobody.
pub fn was_hidden(text: &str) -> bool {
    text.contains(HIDDEN)
}

/// A secret in a text.
pub(crate) struct Secret {
    pub(crate) what: &'static str,
    place: Range<usize>,
}

/// The first secret in a text.
pub(crate) fn find(text: &str) -> Option<Secret> {
    find_after(text, 0)
}

/// The first secret from a place on. One walk over the text: it is on the path of every answer.
fn find_after(text: &str, from: usize) -> Option<Secret> {
    let (pairs, _) = text.as_bytes().get(from..)?.as_chunks::<2>();
    // Nearly nowhere do two letters stand that begin a secret, so eight pairs are looked at together.
    pairs.chunks(8).enumerate().find_map(|(number, eight)| {
        let begun = eight.iter().fold(0, |begun, pair| begun | begun_by(*pair));
        if begun == 0 { None } else { find_within(text, (from, from + 16 * number), eight) }
    })
}

/// The first secret that one of a few pairs at a place belongs to the beginning of. None begins before `from`.
fn find_within(text: &str, (from, at): (usize, usize), pairs: &[[u8; 2]]) -> Option<Secret> {
    let begun = (at..).step_by(2).zip(pairs).filter(|(_, pair)| begun_by(**pair) != 0);
    let mut places = begun.flat_map(|(place, _)| place.saturating_sub(1).max(from)..=place);
    places.find_map(|place| find_password(text, place).or_else(|| find_look(text, place)))
}

/// The groups of beginnings that two letters may belong to which stand together: as the first and the second, or as the second
/// and the third. Of three letters in a row there is such a pair at every other place, so the places between need no look.
fn begun_by([one, other]: [u8; 2]) -> u64 {
    groups(one) & groups(other) >> (2 * GROUPS)
}

fn groups(letter: u8) -> u64 {
    BEGINNINGS.get(usize::from(letter)).copied().unwrap_or_default()
}

/// What stands between the scheme of an address and whatever comes after it.
const SCHEME_END: &str = "://";

/// Beginnings are told apart in so many groups, a bit each, by their first two letters. Were there more, some would share a bit.
const GROUPS: u32 = 16;

/// For every letter, the groups of beginnings that have it as their first, as their second, once more as their second, and as
/// their third. The first half is for a letter with one behind it, the second half for the one behind.
#[expect(clippy::indexing_slicing, reason = "the compiler works it out, and a slip would not build")]
const BEGINNINGS: [u64; 256] = {
    let mut table = [0; 256];
    let (mut number, mut group) = (0, 0);
    while number <= LOOKS.len() {
        let (start, before) = (beginning(number), beginning(number.saturating_sub(1)));
        if start[0] != before[0] || start[1] != before[1] {
            group += 1;
        }
        let bit = 1 << (group % GROUPS);
        table[start[0] as usize] |= bit;
        table[start[1] as usize] |= bit << GROUPS | bit << (2 * GROUPS);
        table[start[2] as usize] |= bit << (3 * GROUPS);
        number += 1;
    }
    table
};

/// How a kind of secret begins; addresses come last.
#[expect(clippy::indexing_slicing, reason = "the compiler works it out, and a slip would not build")]
const fn beginning(number: usize) -> &'static [u8] {
    if number < LOOKS.len() { LOOKS[number].start.as_bytes() } else { SCHEME_END.as_bytes() }
}

/// The secret that begins at a place, where nothing stands before it that it could be the end of.
fn find_look(text: &str, at: usize) -> Option<Secret> {
    let [first, second, third] = *text.as_bytes().get(at..)?.first_chunk()?;
    let begun = groups(first) & groups(second) >> GROUPS & groups(third) >> (3 * GROUPS);
    let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    if begun == 0 || before.is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    LOOKS.iter().find_map(|look| look.at(text, at))
}

impl Look {
    fn at(&self, text: &str, at: usize) -> Option<Secret> {
        let rest = text.get(at..)?.strip_prefix(self.start)?;
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let place = at..at + self.start.len() + length;
        (length >= self.least).then_some(Secret { what: self.what, place })
    }
}

/// `scheme://user:password@host`, with the colon of the scheme at `at`, unless the password is a variable.
fn find_password(text: &str, at: usize) -> Option<Secret> {
    let rest = text.get(at..)?.strip_prefix(SCHEME_END)?;
    let begin = at + SCHEME_END.len();
    let authority = rest.get(..rest.find(['/', ' ', '"', '\'', '?', '#']).unwrap_or(rest.len()))?;
    let (credentials, _) = authority.rsplit_once('@')?;
    let (user, password) = credentials.split_once(':')?;
    let from = begin + user.len() + 1;
    (!password.is_empty() && !password.starts_with(['$', '{', '<', '*', '[']))
        .then(|| Secret { what: "a password in an address", place: from..from + password.len() })
}

/// Hides every secret in a text.
pub fn redact(text: &mut String) {
    let mut from = 0;
    while let Some(secret) = find_after(text, from) {
        let start = secret.place.start;
        text.replace_range(secret.place, HIDDEN);
        from = start + HIDDEN.len();
    }
}

/// Whether a variable of this name usually holds a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let upper = name.to_uppercase();
    let ends = ["_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_API_KEY", "_APIKEY", "_PRIVATE_KEY", "_ACCESS_KEY"];
    ends.iter().any(|end| upper.ends_with(end) || upper == end.trim_start_matches('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_by_their_looks_and_hidden() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let mut text = format!("Bash(curl -H 'Authorization: {token}' postgres://u:hunter22@db/x)");
        assert_eq!(find(&text).unwrap().what, "a GitHub token");
        redact(&mut text);
        assert_eq!(text, "Bash(curl -H 'Authorization: [secret]' postgres://u:[secret]@db/x)");
    }

    /// Whatever kind it is of and wherever it stands.
    #[test]
    fn a_secret_is_found_at_every_place() {
        let tokens = LOOKS.iter().map(|look| (format!("{}{}", look.start, "a".repeat(look.least)), look.start));
        for (token, start) in tokens.chain([("://u:secret@".to_owned(), "://")]) {
            for before in 0..20 {
                let text = format!("{}{token} and more", " ".repeat(before));
                let place = find(&text).map(|secret| secret.place.start);
                let wanted = if start == SCHEME_END { before + 5 } else { before };
                assert_eq!(place, Some(wanted), "{text}");
            }
        }
    }

    #[test]
    fn many_secrets_are_all_hidden() {
        let mut text = format!("ghp_{0} https://u:pw{1}@h xoxb-{0}", "a1B2".repeat(9), "x".repeat(9)).repeat(500);
        redact(&mut text);
        assert!(!text.contains("a1B2") && !text.contains("pwx"), "{}", &text[..80]);
    }

    #[test]
    fn ordinary_texts_hold_none() {
        for text in [
            "Bash(npm run sk-build)",
            "task-sk-1",
            "postgres://localhost/x",
            "https://u:$PASSWORD@host",
            "https://github.com/a@b",
            "ghp_short",
            "Read(~/.ssh/**)",
            "git@github.com:a/b",
        ] {
            assert!(find(text).is_none(), "{text}");
        }
    }

    #[test]
    fn names_of_secrets() {
        assert!(["GITHUB_TOKEN", "OPENAI_API_KEY", "password", "DB_PASSWORD"].into_iter().all(is_secret_name));
        assert!(!["PATH", "TOKENIZERS_PARALLELISM", "NODE_ENV"].into_iter().any(is_secret_name));
    }
}

//! The profile of a plan for macOS, as text for `sandbox-exec`. The text is tested; it has not been tried on a Mac.
//!
//! The last rule that matches decides, and places come sorted, each after everything around it, so the narrowest one
//! counts. Paths are compared after links are followed: whoever uses the profile resolves the plan's paths first.

use std::fmt::Write as _;
use std::path::Path;

use crate::plan::{Access, Confined, Files, HiddenPattern, Network, Plan, Sockets, Why};

/// What every program needs to start.
const START: &str = "\
(version 1)
(deny default)
(allow process-exec process-fork)
(allow signal (target same-sandbox))
(allow process-info* (target same-sandbox))
(allow sysctl-read)
(allow file-ioctl)
(allow pseudo-tty)
(allow ipc-posix-shm)
(allow mach-lookup
  (global-name \"com.apple.system.logger\")
  (global-name \"com.apple.system.notification_center\")
  (global-name \"com.apple.system.opendirectoryd.libinfo\"))
";

/// The profile. `proxy` is the port of mayi's proxy on the loopback, for a plan that goes through it.
pub fn profile(plan: &Plan, proxy: Option<u16>) -> String {
    let mut profile = START.to_owned();
    match &plan.files {
        Files::Open => profile.push_str("(allow file*)\n"),
        Files::Confined(confined) => files(confined, &mut profile),
    }
    network(plan, proxy, &mut profile);
    profile
}

fn files(confined: &Confined, profile: &mut String) {
    profile.push_str("(allow file-read*)\n");
    for place in &confined.places {
        let path = quoted(&place.path.to_string_lossy());
        let rule = match place.access {
            Access::Hidden => format!("(deny file-read* file-write* (subpath {path}))"),
            Access::ReadOnly => format!("(deny file-write* (subpath {path}))\n(allow file-read* (subpath {path}))"),
            Access::Writable => format!("(allow file-read* file-write* (subpath {path}))"),
        };
        profile.push_str(&rule);
        profile.push('\n');
    }
    pins(confined, profile);
    for pattern in &confined.patterns {
        let _ = writeln!(profile, "(deny file-read* file-write* (regex #\"{}\"))", expression(pattern));
    }
}

/// A closed name in an open folder is no good if the folder can be renamed and made anew.
fn pins(confined: &Confined, profile: &mut String) {
    let closed = confined.places.iter().filter(|place| matches!(place.why, Why::Protected(_) | Why::Kept(_)));
    let above = closed.flat_map(|place| place.path.ancestors().skip(1));
    let mut pinned: Vec<&Path> = above.filter(|path| confined.access_of(path) == Access::Writable).collect();
    pinned.sort_unstable();
    pinned.dedup();
    for path in pinned {
        let _ = writeln!(profile, "(deny file-write-unlink (literal {}))", quoted(&path.to_string_lossy()));
    }
}

fn network(plan: &Plan, proxy: Option<u16>, profile: &mut String) {
    let ports: Vec<u16> = match &plan.network {
        Network::None => Vec::new(),
        Network::Proxied(_) => proxy.into_iter().collect(),
        Network::Own { http, socks } => [*http, *socks].into_iter().flatten().collect(),
    };
    for port in ports {
        let _ = writeln!(profile, "(allow network-outbound (remote ip \"localhost:{port}\"))");
    }
    match plan.sockets {
        Sockets::None => {}
        Sockets::All => {
            profile.push_str("(allow network* (remote unix-socket))\n(allow network* (local unix-socket))\n")
        }
    }
}

/// A text between quotes.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// The regular expression of a hidden pattern, with everything below what it matches.
fn expression(pattern: &HiddenPattern) -> String {
    let mut expression = String::from("^");
    let base = pattern.base.to_string_lossy();
    base.trim_end_matches('/').chars().for_each(|letter| literal(letter, &mut expression));
    for name in pattern.glob.split('/') {
        match name {
            "**" => expression.push_str("(/.*)?"),
            name => {
                expression.push('/');
                segment(name, &mut expression);
            }
        }
    }
    expression.push_str("(/.*)?$");
    expression
}

fn segment(name: &str, expression: &mut String) {
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '*' => expression.push_str("[^/]*"),
            '?' => expression.push_str("[^/]"),
            // A class could hold anything; to hide a little more is safe.
            '[' => {
                let closed = letters.clone().skip(1).position(|inside| inside == ']');
                match closed {
                    Some(length) => {
                        letters.nth(length + 1);
                        expression.push_str("[^/]");
                    }
                    None => literal(letter, expression),
                }
            }
            '\\' => letters.next().into_iter().for_each(|escaped| literal(escaped, expression)),
            other => literal(other, expression),
        }
    }
}

/// A quote would end the expression; any character in its place hides a little more, which is safe.
fn literal(letter: char, expression: &mut String) {
    match letter {
        '"' | '\n' | '\r' => expression.push('.'),
        '.' | '*' | '?' | '[' | ']' | '(' | ')' | '{' | '}' | '^' | '$' | '|' | '+' | '\\' => {
            expression.extend(['\\', letter]);
        }
        other => expression.push(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_path_ends_its_quotes() {
        assert_eq!(quoted(r#"/a"b\c"#), r#""/a\"b\\c""#);
        assert_eq!(quoted("/a\n(allow default)"), r#""/a\n(allow default)""#);
    }

    #[test]
    fn patterns_become_expressions_that_hide_at_least_as_much() {
        for (base, glob, expected) in [
            ("/h", "**/.env", r"^/h(/.*)?/\.env(/.*)?$"),
            ("/", "a*/b?", r"^/a[^/]*/b[^/](/.*)?$"),
            ("/x.y", "[ab]c", r"^/x\.y/[^/]c(/.*)?$"),
            ("/x", "[]a]c", r"^/x/[^/]c(/.*)?$"),
            ("/x", "[a", r"^/x/\[a(/.*)?$"),
            ("/x", r"\*a", r"^/x/\*a(/.*)?$"),
            ("/a\"b", "c\"*", r"^/a.b/c.[^/]*(/.*)?$"),
        ] {
            let pattern = HiddenPattern { base: base.into(), glob: glob.to_owned(), why: Why::System };
            assert_eq!(expression(&pattern), expected, "{base} {glob}");
        }
    }
}

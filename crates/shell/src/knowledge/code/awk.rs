//! Reads awk programs: output to files, commands, other files read. Text is cut into tokens; strings and regular
//! expressions are data. Every single `|` runs a command; `>` writes when it stands in a `print`.

use crate::knowledge::code::Finding;
use crate::knowledge::variables;

/// What an awk program does besides computing and printing.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    let Some(tokens) = tokens(text) else {
        return vec![Finding::Unknown("an awk program that is not followed")];
    };
    let mut found = Vec::new();
    let mut printing: Option<usize> = None;
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        let after = tokens.get(at + 1..).unwrap_or_default();
        match token {
            Token::Name("system") => found.push(Finding::Runs),
            Token::Name("print" | "printf") => printing = Some(depth),
            Token::Name("getline") => found.extend(getline(after)),
            Token::Mark('@') => found.push(Finding::Unknown("an awk program that loads or calls by name")),
            Token::Mark('|') => found.push(Finding::Runs),
            Token::Mark('(' | '[') => depth += 1,
            Token::Mark(')' | ']') => depth = depth.saturating_sub(1),
            // A newline may stand in the middle of a `print`, after a comma.
            Token::Mark(';' | '{' | '}') => printing = None,
            Token::Mark('>') if printing == Some(depth) => found.push(target(after)),
            Token::Name("ENVIRON") if variables::sounds_secret(text) => {
                found.push(Finding::Unknown("looks for secrets in the environment"));
            }
            Token::Name("ARGV" | "ARGC" | "SYMTAB" | "FUNCTAB") => {
                found.push(Finding::Unknown("an awk program that chooses its own files"));
            }
            Token::Name(_) | Token::Text(_) | Token::Regex | Token::Number | Token::Mark(_) => {}
        }
    }
    found
}

fn target(rest: &[Token<'_>]) -> Finding {
    match file_name(rest) {
        Some(path) => Finding::Writes(path.to_string()),
        None => Finding::Unknown("awk output to a file whose name is not known"),
    }
}

/// A file's name, where it is one string: no escapes in it, nothing that is joined to it, no connection.
fn file_name<'t>(rest: &[Token<'t>]) -> Option<&'t str> {
    let (Token::Text(path), after) = rest.split_first()? else { return None };
    let whole = match after.first() {
        None => true,
        Some(Token::Mark(mark)) => !matches!(mark, '$' | '(' | '['),
        Some(Token::Name(_) | Token::Text(_) | Token::Regex | Token::Number) => false,
    };
    (whole && !path.contains('\\') && !path.starts_with("/inet")).then_some(*path)
}

/// `getline < "file"`, `getline line < "file"`.
fn getline(rest: &[Token<'_>]) -> Option<Finding> {
    let until = rest.iter().position(|token| matches!(token, Token::Mark(';' | '}' | '\n' | ')' | '{')));
    let statement = rest.get(..until.unwrap_or(rest.len())).unwrap_or_default();
    let at = statement.iter().position(|token| *token == Token::Mark('<'))?;
    Some(match file_name(statement.get(at + 1..).unwrap_or_default()) {
        Some(path) => Finding::Reads(path.to_string()),
        None => Finding::Unknown("awk input from a file whose name is not known"),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    Text(&'t str),
    Regex,
    Number,
    /// One character of an operator; `||`, `|&`, `>=`, `<=` and `>>` are folded: `o` for or, `c` for comparison.
    Mark(char),
}

/// The tokens, or nothing when a string or expression does not end.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut rest = text;
    let mut conditions = Conditions::default();
    while let Some(first) = rest.chars().next() {
        let slash = match first {
            '/' if conditions.just_closed => Slash::Opens,
            '/' => slash(&found),
            _ => Slash::Divides,
        };
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '\\' if rest.starts_with("\\\n") => 2,
            '"' => {
                let length = closing(rest, '"')?;
                found.push(Token::Text(rest.get(1..length - 1)?));
                length
            }
            '/' if slash == Slash::Unclear => return None,
            '/' if slash == Slash::Opens => {
                let length = closing(rest, '/')?;
                found.push(Token::Regex);
                length
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let length = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                found.push(Token::Name(rest.get(..length)?));
                length
            }
            c if c.is_ascii_digit() => {
                found.push(Token::Number);
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len())
            }
            ' ' | '\t' | '\r' => 1,
            c => mark(rest, c, &mut found),
        };
        if !matches!(first, ' ' | '\t' | '\r' | '\\' | '#') {
            conditions.follow(&found);
        }
        rest = rest.get(length..)?;
    }
    Some(found)
}

/// Follows parentheses, to know the one that ends the condition of an `if`, `while` or `for`.
#[derive(Default)]
struct Conditions {
    /// For every open parenthesis, whether it is one of a condition.
    open: Vec<bool>,
    just_closed: bool,
}

impl Conditions {
    fn follow(&mut self, tokens: &[Token<'_>]) {
        self.just_closed = false;
        match tokens {
            [before @ .., Token::Mark('(')] => {
                self.open.push(matches!(before.last(), Some(Token::Name("if" | "while" | "for" | "switch"))));
            }
            [.., Token::Mark(')')] => self.just_closed = self.open.pop().unwrap_or(false),
            _ => {}
        }
    }
}

fn mark(rest: &str, first: char, found: &mut Vec<Token<'_>>) -> usize {
    for (operator, folded) in [("||", 'o'), (">=", 'c'), ("<=", 'c'), ("|&", '|'), (">>", '>')] {
        if rest.starts_with(operator) {
            found.push(Token::Mark(folded));
            return 2;
        }
    }
    found.push(Token::Mark(first));
    first.len_utf8()
}

/// What a slash is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Slash {
    Divides,
    Opens,
    Unclear,
}

/// After a value a slash divides; anywhere else, and behind a condition, it opens a regular expression.
fn slash(before: &[Token<'_>]) -> Slash {
    match before {
        // `n++ / 2` divides, `x = y + ++/re/` is nonsense that some awk may read otherwise.
        [.., Token::Mark('+'), Token::Mark('+')] | [.., Token::Mark('-'), Token::Mark('-')] => Slash::Unclear,
        [.., Token::Name("getline" | "length")] => Slash::Unclear,
        [.., Token::Name("print" | "printf" | "return" | "in" | "case" | "else" | "do" | "exit" | "BEGIN" | "END")] => {
            Slash::Opens
        }
        [.., Token::Name(_) | Token::Text(_) | Token::Regex | Token::Number | Token::Mark(')' | ']')] => Slash::Divides,
        [.., Token::Mark(_)] | [] => Slash::Opens,
    }
}

/// The length of a string or expression that starts here, its marks included. A newline may not stand in one.
fn closing(rest: &str, end: char) -> Option<usize> {
    let mut at = 1;
    loop {
        let c = rest.get(at..)?.chars().next()?;
        at += c.len_utf8();
        match c {
            '\\' => at += rest.get(at..)?.chars().next()?.len_utf8(),
            '\n' => return None,
            '[' if end == '/' => at += bracket(rest.get(at..)?)?,
            _ if c == end => return Some(at),
            _ => {}
        }
    }
}

/// The length of a bracket expression after its opening. Awks differ on a slash inside, and on an empty one.
fn bracket(rest: &str) -> Option<usize> {
    let mut at = usize::from(rest.starts_with('^'));
    if rest.get(at..)?.starts_with(']') {
        return None;
    }
    loop {
        let tail = rest.get(at..)?;
        let c = tail.chars().next()?;
        at += match c {
            ']' => return Some(at + 1),
            '/' | '\n' => return None,
            '\\' => 1 + tail.chars().nth(1)?.len_utf8(),
            '[' if tail.starts_with("[:") => tail.find(":]").filter(|length| *length < 12)? + 2,
            '[' if tail.starts_with("[.") || tail.starts_with("[=") => return None,
            c => c.len_utf8(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::findings;
    use crate::knowledge::code::Finding;

    #[test]
    fn programs_that_only_print() {
        for program in [
            "{print $1}",
            "$1 > 5 {print}",
            "BEGIN{print \"system\"}",
            "/a|b/ {n++} END {print n}",
            "NR%3==1",
            "{print ($1 > 2)}",
            "{sub(/^[ \\t]+/, \"\"); print}",
            "BEGIN{FS=\",\"} {if ($2 >= 3 || $3 < 2) print $1 / 2}",
            "!seen[$0]++",
            "{print > \"/dev/stderr\"}",
            "{ printf \"%03d \", NR }",
            "{print ($1 + $2) / 2 / 3}",
            "{if ($1 ~ /[[:space:]]x/) print}",
            "{if (/a/) print; else if ($2 == 1) print $2 / 4}",
            "{s += $1} END {print s / NR, \"x\"}",
        ] {
            let found = findings(program);
            assert!(found.is_empty() || found == [Finding::Writes("/dev/stderr".into())], "{program}: {found:?}");
        }
    }

    #[test]
    fn programs_that_run_write_or_read() {
        assert_eq!(findings("BEGIN{system(\"id\")}"), [Finding::Runs]);
        assert_eq!(findings("BEGIN{\"id\" | getline}"), [Finding::Runs]);
        assert_eq!(findings("{print | \"sh\"}"), [Finding::Runs]);
        assert_eq!(findings("BEGIN{printf \"x\" |& \"sh\"}"), [Finding::Runs]);
        assert_eq!(findings("{print $1 > \"out\"}"), [Finding::Writes("out".into())]);
        assert_eq!(findings("{print >> \"out\"}"), [Finding::Writes("out".into())]);
        assert_eq!(findings("BEGIN{while ((getline x < \"/etc/x\") > 0) print x}"), [Finding::Reads("/etc/x".into())]);
        assert!(!findings("{print > $1}").is_empty());
        assert!(!findings("@load \"x\"").is_empty());
        assert!(!findings("{print \"").is_empty());
        assert!(!findings("{print a / 2 | \"sh\" /").is_empty());
    }

    #[test]
    fn programs_that_hide_what_they_do() {
        for program in [
            "BEGIN{n=1; x = n++ / system(\"id\") / 1}",
            "BEGIN{if (1) /\"/; system(\"id\"); /\"/}",
            "BEGIN{x ~ /[]/]\"/; system(\"id\"); y ~ /\"/}",
            "BEGIN{x ~ /[[:alpha:]/]\"/; system(\"id\"); y ~ /\"/}",
            "BEGIN{$/\"/; system(\"id\"); /\"/}",
            "{print \"x\",\n\"y\" > \"out\"}",
            "BEGIN{ARGV[1]=\"/etc/x\"; ARGC=2} 1",
            "BEGIN{getline x < \"\\057etc/x\"}",
            "{print > \"/dev/stderr\" \"x\"}",
            "BEGIN{print ENVIRON[\"API_TOKEN\"]}",
        ] {
            assert!(!findings(program).is_empty(), "{program}");
        }
    }
}

//! Reads sed programs: which files they read and write, and whether they run commands (`e`, `s///e`).

use crate::knowledge::code::Finding;
use crate::knowledge::reading::Piece;
use crate::word::{Part, Value};

/// What a sed program does besides editing the stream.
pub(crate) fn findings(text: &str) -> Vec<Finding> {
    let mut reader = Reader { rest: text, found: Vec::new() };
    while reader.command().is_some() {}
    if !reader.rest.is_empty() {
        reader.found.push(Finding::Unknown("a sed program that is not followed"));
    }
    reader.found
}

/// A program with holes is harmless when it is harmless for a letter in each hole, and no hole can end the part of
/// the program it stands in: only a plain substitution between delimiters that a person typed qualifies, and a
/// value could contain the delimiter. So holes are accepted nowhere but in addresses made of numbers.
pub(crate) fn with_holes(piece: &Piece<'_>) -> Vec<Finding> {
    let parts = match &piece.word.value {
        Value::Literal(text) => return findings(text),
        Value::Template(parts) => parts,
    };
    let arithmetic = parts.iter().all(|part| match part {
        Part::Text(_) => true,
        Part::Hole(hole) => hole.kind == crate::word::HoleKind::Arithmetic,
    });
    if !arithmetic {
        return vec![Finding::Unknown("a sed program with unknown parts")];
    }
    let text: String = parts.iter().map(|part| if let Part::Text(text) = part { text.as_str() } else { "1" }).collect();
    findings(text.get(piece.from..).unwrap_or_default())
}

struct Reader<'t> {
    rest: &'t str,
    found: Vec<Finding>,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let first = chars.next()?;
        self.rest = chars.as_str();
        Some(first)
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(wanted);
    }

    /// One command with its addresses. `None` at the end, or with text left over where it is not understood.
    fn command(&mut self) -> Option<()> {
        self.skip(|c| c.is_ascii_whitespace() || c == ';' || c == '}');
        if self.rest.is_empty() {
            return None;
        }
        self.address()?;
        self.skip(|c| c == ' ' || c == '\t');
        if self.rest.starts_with(',') {
            self.next();
            self.skip(|c| c == ' ');
            self.address()?;
        }
        self.skip(|c| c == ' ' || c == '!' || c == '\t');
        let before = self.rest;
        let name = self.next()?;
        let done = self.body(name);
        if done.is_none() {
            self.rest = before;
        }
        done
    }

    /// A line number, `$`, `first~step`, `/regex/I`, `\cregexc`, `+n`, `~n`, or nothing.
    fn address(&mut self) -> Option<()> {
        match self.peek() {
            Some('/') => {
                self.next();
                self.delimited('/')?;
                self.skip(|c| c == 'I' || c == 'M');
            }
            Some('\\') => {
                self.next();
                let end = self.next()?;
                self.delimited(end)?;
                self.skip(|c| c == 'I' || c == 'M');
            }
            Some('$') => {
                self.next();
            }
            Some(c) if c.is_ascii_digit() || c == '+' || c == '~' => {
                self.skip(|c| c.is_ascii_digit() || c == '~' || c == '+');
            }
            Some(_) | None => {}
        }
        Some(())
    }

    /// A regular expression up to its end mark. Inside brackets the mark is a member; a sed that thinks otherwise
    /// rejects the expression, since its bracket would stay open.
    fn delimited(&mut self, end: char) -> Option<&'t str> {
        let start = self.rest;
        loop {
            match self.next()? {
                '\\' => {
                    self.next()?;
                }
                // Unescaped, it ends the command in every sed: what follows would be commands of its own.
                '\n' => return None,
                '[' if end != '[' => self.bracket(end)?,
                c if c == end => {
                    let length = start.len() - self.rest.len() - c.len_utf8();
                    return start.get(..length);
                }
                _ => {}
            }
        }
    }

    /// The members of a bracket expression, after the opening bracket.
    fn bracket(&mut self, end: char) -> Option<()> {
        self.rest = self.rest.strip_prefix('^').unwrap_or(self.rest);
        // A bracket right after the opening is a member, not the end.
        self.rest = self.rest.strip_prefix(']').unwrap_or(self.rest);
        loop {
            match self.next()? {
                ']' => return Some(()),
                '\n' => return None,
                '[' => {
                    for (open, close) in [(':', ":]"), ('.', ".]"), ('=', "=]")] {
                        if self.rest.starts_with(open) {
                            let at = self.rest.get(1..)?.find(close)?;
                            self.rest = self.rest.get(at + 3..)?;
                        }
                    }
                }
                '\\' if self.peek() == Some(end) || self.peek() == Some('n') => {
                    self.next();
                }
                _ => {}
            }
        }
    }

    fn body(&mut self, name: char) -> Option<()> {
        match name {
            '{' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {}
            '#' => {
                self.rest_of_line();
            }
            'q' | 'Q' | 'l' | 'L' => self.skip(|c| c == ' ' || c.is_ascii_digit()),
            ':' | 'b' | 't' | 'T' => {
                // A blank ends a label, and another command may follow it.
                self.skip(|c| c == ' ' || c == '\t');
                let end = self.rest.find(|c: char| c.is_ascii_whitespace() || c == ';' || c == '}');
                let end = end.unwrap_or(self.rest.len());
                self.rest = self.rest.get(end..).unwrap_or_default();
            }
            'a' | 'i' | 'c' => self.text()?,
            's' => self.substitution()?,
            'y' => {
                let end = self.next()?;
                self.plain(end)?;
                self.plain(end)?;
            }
            'r' | 'R' => {
                let file = self.rest_of_line();
                self.found.push(if file.contains('\\') {
                    Finding::Unknown("a file name with escapes")
                } else {
                    Finding::Reads(file)
                });
            }
            'w' | 'W' => {
                let file = self.rest_of_line();
                self.found.push(Finding::Writes(file));
            }
            'e' => {
                self.rest_of_line();
                self.found.push(Finding::Runs);
            }
            _ => return None,
        }
        Some(())
    }

    fn rest_of_line(&mut self) -> String {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        line.trim().to_string()
    }

    /// The text of `a`, `i` and `c`: to the end of the line, and on after a backslash. Of two backslashes one escapes
    /// the other, or not, depending on where they stand.
    fn text(&mut self) -> Option<()> {
        loop {
            let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            if line.ends_with("\\\\") && !rest.is_empty() {
                return None;
            }
            self.rest = rest;
            if !line.ends_with('\\') || rest.is_empty() {
                return Some(());
            }
        }
    }

    /// Text up to an unescaped end mark, with no meaning of its own.
    fn plain(&mut self, end: char) -> Option<()> {
        while let Some(c) = self.next() {
            if c == '\\' {
                self.next()?;
            } else if c == end {
                return Some(());
            } else if c == '\n' {
                return None;
            }
        }
        None
    }

    fn substitution(&mut self) -> Option<()> {
        let end = self.next()?;
        if end == '\\' || end == '\n' || end.is_ascii_alphanumeric() {
            return None;
        }
        self.delimited(end)?;
        self.plain(end)?;
        while let Some(flag) = self.peek() {
            match flag {
                'g' | 'p' | 'i' | 'I' | 'm' | 'M' | '0'..='9' => {
                    self.next();
                }
                'e' => {
                    self.next();
                    self.found.push(Finding::Runs);
                }
                'w' => {
                    self.next();
                    let file = self.rest_of_line();
                    self.found.push(Finding::Writes(file));
                }
                ';' | '}' | '\n' | ' ' | '\t' | '#' => break,
                _ => return None,
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::findings;
    use crate::knowledge::code::Finding;

    #[test]
    fn programs_that_only_edit_the_stream() {
        for program in [
            "s/a/b/",
            "1,5p",
            "$d",
            "/x/,/y/d",
            "s|a|b|g;s/c/d/2",
            "N;s/\\n/ /",
            ":a;N;$!ba;s/\\n/ /g",
            "/^$/d",
            "y/abc/xyz/",
            "1!G;h;$!d",
            "s/[a-z]*/x/Ig",
            "0~3p",
            "/a/{p;d}",
            "5q",
            "$!N;P;D",
            "a hello",
            "/x/i\\\ntext",
            "s/.*/\\L&/",
            "/w/p",
            "s/a/c/; ta ; b ; :a ; N ; ba",
            "\\,x,d",
            "/re/I p",
        ] {
            assert_eq!(findings(program), [], "{program}");
        }
    }

    #[test]
    fn programs_that_run_or_write() {
        assert_eq!(findings("1e id"), [Finding::Runs]);
        assert_eq!(findings("s/a/b/e"), [Finding::Runs]);
        assert_eq!(findings("s/a/b/gw out"), [Finding::Writes("out".into())]);
        assert_eq!(findings("p;w out"), [Finding::Writes("out".into())]);
        assert_eq!(findings("/x/{w out\n}"), [Finding::Writes("out".into())]);
        assert_eq!(findings("R/etc/x"), [Finding::Reads("/etc/x".into())]);
        assert_eq!(findings("s/[/]e/x/"), []);
        assert_eq!(findings("s/[[:space:]/]/x/e"), [Finding::Runs]);
        assert_eq!(findings(":a w out"), [Finding::Writes("out".into())]);
        assert_eq!(findings("s/a/b/;t a w out"), [Finding::Writes("out".into())]);
        for hidden in
            ["s#x#y\nw out\n#", "s#x\nw out\n#y#", "y#x#y\nw out\n#", "/[\nw out\n]/p", "a x\\\\\nw out", "r \\x2fetc"]
        {
            assert!(findings(hidden).iter().any(|found| matches!(found, Finding::Unknown(_))), "{hidden}");
        }
        assert!(findings("s/[/e").iter().any(|found| matches!(found, Finding::Unknown(_))));
        assert!(findings("s/a").iter().any(|found| matches!(found, Finding::Unknown(_))));
        assert!(findings("k").iter().any(|found| matches!(found, Finding::Unknown(_))));
        assert!(findings("v;M").iter().any(|found| matches!(found, Finding::Unknown(_))));
    }
}

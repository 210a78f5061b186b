//! Reads single members out of a JSON file, with the comments and trailing commas that some tools allow: just enough
//! for task files. Whatever does not read gives nothing.

/// The text from the value on that these names lead to, one object inside the other.
pub(super) fn member<'t>(text: &'t str, names: &[&str]) -> Option<&'t str> {
    let mut rest = text;
    for name in names {
        rest = Reader { rest, depth: 0 }.member(name)?;
    }
    Some(rest)
}

/// The string that starts here.
pub(super) fn string(text: &str) -> Option<String> {
    Reader { rest: text, depth: 0 }.string()
}

/// The string, or the list of nothing but strings, that starts here.
pub(super) fn strings(text: &str) -> Option<Vec<String>> {
    let mut reader = Reader { rest: text, depth: 0 };
    if reader.eat('[').is_none() {
        return Some(vec![reader.string()?]);
    }
    let mut found = Vec::new();
    loop {
        reader.blank();
        if reader.eat(']').is_some() {
            return Some(found);
        }
        found.push(reader.string()?);
        if reader.eat(',').is_none() {
            reader.eat(']')?;
            return Some(found);
        }
    }
}

/// How deep values may nest.
const DEPTH: usize = 64;

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
}

impl<'t> Reader<'t> {
    /// Passes over blanks and comments.
    fn blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let after = match self.rest.get(..2) {
                Some("//") => self.rest.split_once('\n'),
                Some("/*") => self.rest.get(2..).and_then(|rest| rest.split_once("*/")),
                Some(_) | None => return,
            };
            self.rest = after.map_or("", |(_, rest)| rest);
        }
    }

    fn eat(&mut self, mark: char) -> Option<()> {
        self.blank();
        self.rest = self.rest.strip_prefix(mark)?;
        Some(())
    }

    /// The text from the value of the last member of this name on, at the top level of the object that starts here.
    /// The last one counts, as it does for the tools.
    fn member(&mut self, wanted: &str) -> Option<&'t str> {
        self.eat('{')?;
        let mut found = None;
        loop {
            self.blank();
            if self.rest.starts_with('}') {
                return found;
            }
            let name = self.string()?;
            self.eat(':')?;
            self.blank();
            if name == wanted {
                found = Some(self.rest);
            }
            self.value()?;
            self.blank();
            match self.eat(',') {
                Some(()) => {}
                None => {
                    self.eat('}')?;
                    return found;
                }
            }
        }
    }

    fn value(&mut self) -> Option<()> {
        self.blank();
        match self.rest.chars().next()? {
            '"' => self.string().map(|_| ()),
            '{' => self.group('{', '}'),
            '[' => self.group('[', ']'),
            _ => {
                let end = self.rest.find([',', '}', ']', ' ', '\n', '\t', '\r'])?;
                self.rest = self.rest.get(end..)?;
                Some(())
            }
        }
    }

    /// An object or list, passed over.
    fn group(&mut self, open: char, close: char) -> Option<()> {
        self.depth += 1;
        if self.depth > DEPTH {
            return None;
        }
        self.eat(open)?;
        self.blank();
        while !self.rest.starts_with(close) {
            self.value()?;
            self.blank();
            if let Some(rest) = self.rest.strip_prefix([',', ':']) {
                self.rest = rest;
                self.blank();
            } else if !self.rest.starts_with(close) {
                return None;
            }
        }
        self.depth -= 1;
        self.eat(close)
    }

    fn string(&mut self) -> Option<String> {
        let mut chars = self.rest.strip_prefix('"')?.chars();
        let mut text = String::new();
        loop {
            match chars.next()? {
                '"' => break,
                '\\' => text.push(escaped(&mut chars)?),
                other => text.push(other),
            }
        }
        self.rest = chars.as_str();
        Some(text)
    }
}

fn escaped(chars: &mut std::str::Chars<'_>) -> Option<char> {
    Some(match chars.next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'u' => {
            let digits: String = chars.by_ref().take(4).collect();
            u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32)?
        }
        plain @ ('"' | '\\' | '/') => plain,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{member, string, strings};

    #[test]
    fn finds_a_member_and_nothing_else() {
        let text =
            r#"{"name": "x", "list": [1, {"scripts": {"a": "no"}}], "scripts": {"a": "ls -la", "b": "echo \"hi\""}}"#;
        let script = |text, name| member(text, &["scripts", name]).and_then(string);
        assert_eq!(script(text, "a").as_deref(), Some("ls -la"));
        assert_eq!(script(text, "b").as_deref(), Some("echo \"hi\""));
        assert_eq!(script(text, "c"), None);
        assert_eq!(script("{\"scripts\": {\"a\": 5}}", "a"), None);
        assert_eq!(script("{", "a"), None);
    }

    #[test]
    fn reads_lists_comments_and_trailing_commas() {
        let text = "{ // tasks\n \"tasks\": { /* one */ \"a\": [\"ls\", \"pwd\",], \"b\": [1], },\n}";
        assert_eq!(member(text, &["tasks", "a"]).and_then(strings), Some(vec!["ls".into(), "pwd".into()]));
        assert_eq!(member(text, &["tasks", "b"]).and_then(strings), None);
    }
}

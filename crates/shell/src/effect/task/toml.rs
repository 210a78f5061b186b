//! Reads the strings, lists and tables of a small TOML file: just enough for task files. What is of another kind is
//! told apart; what does not read gives nothing.

/// A value, as far as a task file needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    /// A list of nothing but strings.
    List(Vec<String>),
    /// An inline table.
    Table(Vec<(String, Value)>),
    /// A number, a date, a truth value, or a list of anything else.
    Other,
}

/// Every entry of the file: the names that lead to it, headers included, and its value.
pub(super) fn entries(text: &str) -> Option<Vec<(Vec<String>, Value)>> {
    let mut reader = Reader { rest: text };
    let mut header: Vec<String> = Vec::new();
    let mut found = Vec::new();
    loop {
        reader.lines();
        if reader.rest.is_empty() {
            return Some(found);
        }
        if reader.rest.starts_with("[[") {
            return None;
        }
        if reader.eat("[") {
            header = reader.names()?;
            reader.take("]")?;
            // A header alone is something said, too.
            found.push((header.clone(), Value::Table(Vec::new())));
        } else {
            let names = reader.names()?;
            reader.take("=")?;
            let value = reader.value(DEPTH)?;
            found.push((header.iter().cloned().chain(names).collect(), value));
        }
        reader.line_end()?;
    }
}

/// How deep values may nest.
const DEPTH: usize = 8;

struct Reader<'t> {
    rest: &'t str,
}

impl Reader<'_> {
    fn blank(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
    }

    /// Passes over blanks, comments and line ends.
    fn lines(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                return;
            }
            self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
        }
    }

    fn line_end(&mut self) -> Option<()> {
        self.blank();
        let done = self.rest.is_empty() || self.rest.starts_with(['#', '\n', '\r']);
        done.then_some(())
    }

    fn eat(&mut self, mark: &str) -> bool {
        self.blank();
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn take(&mut self, mark: &str) -> Option<()> {
        self.eat(mark).then_some(())
    }

    /// `a.b."c d"`.
    fn names(&mut self) -> Option<Vec<String>> {
        let mut names = Vec::new();
        loop {
            self.blank();
            names.push(if self.rest.starts_with(['"', '\'']) { self.string()? } else { self.bare()? });
            if !self.eat(".") {
                return Some(names);
            }
        }
    }

    fn bare(&mut self) -> Option<String> {
        let is_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
        let end = self.rest.find(|char| !is_name(char)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        (!name.is_empty()).then(|| name.to_string())
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        self.blank();
        let deeper = depth.checked_sub(1)?;
        match self.rest.chars().next()? {
            '"' | '\'' => self.string().map(Value::Text),
            '[' => self.list(deeper),
            '{' => self.table(deeper),
            _ => {
                let end = self.rest.find([',', ']', '}', '#', '\n', '\r']).unwrap_or(self.rest.len());
                self.rest = self.rest.get(end..)?;
                Some(Value::Other)
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<Value> {
        self.take("[")?;
        let mut texts = Some(Vec::new());
        loop {
            self.lines();
            if self.eat("]") {
                return Some(texts.map_or(Value::Other, Value::List));
            }
            match self.value(depth)? {
                Value::Text(text) => texts = texts.map(|mut texts| (texts.push(text), texts).1),
                Value::List(_) | Value::Table(_) | Value::Other => texts = None,
            }
            self.lines();
            if !self.eat(",") && !self.rest.starts_with(']') {
                return None;
            }
        }
    }

    fn table(&mut self, depth: usize) -> Option<Value> {
        self.take("{")?;
        let mut entries = Vec::new();
        loop {
            self.lines();
            if self.eat("}") {
                return Some(Value::Table(entries));
            }
            let names = self.names()?;
            self.take("=")?;
            entries.push((names.join("."), self.value(depth)?));
            self.lines();
            if !self.eat(",") && !self.rest.starts_with('}') {
                return None;
            }
        }
    }

    /// A string of any of the four kinds. Escapes beyond the plainest are not read.
    fn string(&mut self) -> Option<String> {
        for quote in ["\"\"\"", "'''", "\"", "'"] {
            let Some(inside) = self.rest.strip_prefix(quote) else { continue };
            let end = closing(inside, quote)?;
            let (text, rest) = inside.split_at_checked(end)?;
            self.rest = rest.strip_prefix(quote)?;
            let text = if quote.len() == 3 { text.strip_prefix('\n').unwrap_or(text) } else { text };
            if quote.len() == 1 && text.contains('\n') {
                return None;
            }
            return if quote.starts_with('"') { unescaped(text) } else { Some(text.to_string()) };
        }
        None
    }
}

/// Where the closing quote stands.
fn closing(inside: &str, quote: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, char) in inside.char_indices() {
        if !escaped && inside.get(at..)?.starts_with(quote) {
            return Some(at);
        }
        escaped = !escaped && char == '\\' && quote.starts_with('"');
    }
    None
}

fn unescaped(text: &str) -> Option<String> {
    let mut plain = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        plain.push(match char {
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                same @ ('"' | '\\') => same,
                _ => return None,
            },
            other => other,
        });
    }
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::{Value, entries};

    #[test]
    fn reads_what_task_files_hold() {
        let text = "a = 1 # one\n[tasks.b]\nrun = \"ls \\\"x\\\"\"\n'c d' = [\n 'x', # first\n \"y\",\n]\n\
                    [tasks]\ne = { run = '''\nls\npwd''', n = [1] }\n";
        let names = |words: &str| words.split('/').map(str::to_string).collect::<Vec<_>>();
        let (x, y) = ("x".to_string(), "y".to_string());
        let inside = vec![("run".into(), Value::Text("ls\npwd".into())), ("n".into(), Value::Other)];
        let header = || Value::Table(Vec::new());
        let wanted = vec![
            (names("a"), Value::Other),
            (names("tasks/b"), header()),
            (names("tasks/b/run"), Value::Text("ls \"x\"".into())),
            (names("tasks/b/c d"), Value::List(vec![x, y])),
            (names("tasks"), header()),
            (names("tasks/e"), Value::Table(inside)),
        ];
        assert_eq!(entries(text), Some(wanted));
    }

    #[test]
    fn what_does_not_read_gives_nothing() {
        for text in ["[[a]]", "a", "a = ", "a = 'x", "a = [\"x\" \"y\"]", "a = \"\\u0041\"", "a = 'x' y", "[a"] {
            assert_eq!(entries(text), None, "{text}");
        }
    }
}

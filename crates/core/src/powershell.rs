//! PowerShell text, read just far enough: separate commands, the cmdlet behind an alias, and whether something in
//! the text could hide another command.

mod data {
    include!(concat!(env!("OUT_DIR"), "/powershell.rs"));
}

/// A text as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Its commands.
    pub commands: Vec<Command>,
    /// What could hide another command: a script block, a substitution, a call operator.
    pub hides: Option<String>,
}

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// As written, lower case, blanks folded.
    pub written: String,
    /// The same with the cmdlet's own name.
    pub canonical: String,
    /// What is neither the cmdlet nor a parameter's name.
    pub operands: Vec<Operand>,
}

/// An operand, as far as it names a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A path, in its own case and with plain slashes. A number or a word looks like one, too.
    Path(String),
    /// A pattern, a drive or a provider: the text does not tell which place.
    Unclear(String),
}

impl Command {
    /// The forms a rule is compared with.
    pub fn forms(&self) -> [String; 2] {
        [self.written.clone(), self.canonical.clone()]
    }

    /// The cmdlet.
    pub fn cmdlet(&self) -> &str {
        self.canonical.split(' ').next().unwrap_or_default()
    }
}

/// Whether a cmdlet removes what it names.
pub fn removes(cmdlet: &str) -> bool {
    matches!(cmdlet, "remove-item" | "clear-content" | "clear-item")
}

/// Whether a cmdlet only reads.
pub fn only_reads(cmdlet: &str) -> bool {
    data::READS.contains(&cmdlet)
}

/// A command or pattern with the cmdlet's own name in place of an alias; lower case.
pub fn canonical(text: &str) -> String {
    let lower = text.to_lowercase();
    let folded = crate::rule::text::fold_blanks(&lower);
    let end = folded.find([' ', ':', '*']).unwrap_or(folded.len());
    let (first, rest) = folded.split_at(end);
    // A name may carry its module: `Microsoft.PowerShell.Management\Remove-Item`.
    let first = first.rsplit('\\').next().unwrap_or(first);
    let cmdlet = data::ALIASES.iter().find(|(alias, _)| *alias == first).map_or(first, |(_, cmdlet)| cmdlet);
    format!("{cmdlet}{rest}")
}

/// Reads a text.
pub fn read(text: &str) -> Script {
    let mut script = Script::default();
    let mut piece = String::new();
    let mut quote: Option<char> = None;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, ';' | '|' | '\n') => {
                if letters.peek() == Some(&letter) {
                    letters.next();
                }
                script.push(&mut piece);
                continue;
            }
            (None, '&') if letters.peek() == Some(&'&') => {
                letters.next();
                script.push(&mut piece);
                continue;
            }
            (None, '&' | '(' | ')' | '{' | '}' | '@' | '>' | '<' | '`' | '[') | (Some('"') | None, '$') => {
                script.hides.get_or_insert_with(|| format!("`{letter}`"));
            }
            (Some(_) | None, _) => {}
        }
        piece.push(letter);
    }
    script.push(&mut piece);
    if quote.is_some() || text.chars().any(|letter| letter.is_control() && letter != '\n' && letter != '\t') {
        script.hides.get_or_insert_with(|| "an unfinished or odd text".to_owned());
    }
    script
}

impl Script {
    fn push(&mut self, piece: &mut String) {
        let piece = std::mem::take(piece);
        let written = crate::rule::text::fold_blanks(&piece.to_lowercase()).into_owned();
        if !written.is_empty() {
            let operands = words(&piece).into_iter().skip(1).flat_map(operands).collect();
            self.commands.push(Command { canonical: canonical(&written), written, operands });
        }
    }
}

/// The words of a command: blanks and commas part them, quotes hold them together and are dropped.
fn words(piece: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote: Option<char> = None;
    for letter in piece.chars() {
        match (quote, letter, words.last_mut()) {
            (Some(open), _, _) if letter == open => quote = None,
            (None, '"' | '\'', _) => quote = Some(letter),
            (None, ',', _) => words.push(String::new()),
            (None, blank, _) if blank.is_whitespace() => words.push(String::new()),
            (_, _, Some(word)) => word.push(letter),
            (_, _, None) => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// What a word names: nothing for a parameter's name, its value for `-Path:value`.
fn operands(word: String) -> Option<Operand> {
    // PowerShell takes every kind of dash for one.
    let text = match word.strip_prefix(['-', '\u{2013}', '\u{2014}', '\u{2015}']) {
        Some(parameter) => parameter.split_once(':').map(|(_, value)| value).filter(|value| !value.is_empty())?,
        None => word.as_str(),
    };
    let path = text.replace('\\', "/");
    Some(if path.contains(['*', '?', '[', ':']) { Operand::Unclear(path) } else { Operand::Path(path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_and_case_are_seen_through() {
        let script = read("LS -Force src | Sort; gc a.txt");
        let names: Vec<_> = script.commands.iter().map(Command::cmdlet).collect();
        assert_eq!(names, ["get-childitem", "sort-object", "get-content"]);
        assert_eq!(script.hides, None);
        assert_eq!(canonical("rm *"), "remove-item *");
        assert_eq!(canonical(r"Microsoft.PowerShell.Management\Remove-Item x"), "remove-item x");
    }

    #[test]
    fn operands_name_places_however_they_are_written() {
        let path = |text: &str| Operand::Path(text.to_owned());
        let unclear = |text: &str| Operand::Unclear(text.to_owned());
        let operands = |text: &str| read(text).commands.remove(0).operands;
        assert_eq!(operands("gc Secret\\Key"), [path("Secret/Key")]);
        assert_eq!(operands("gc a,'my secret/key' -Force"), [path("a"), path("my secret/key")]);
        assert_eq!(operands("gc -Path:secret/key -LiteralPath b"), [path("secret/key"), path("b")]);
        assert_eq!(operands("gc \u{2013}Path:x"), [path("x")]);
        assert_eq!(operands("gc secr*t, Env:KEY"), [unclear("secr*t"), unclear("Env:KEY")]);
    }

    #[test]
    fn what_could_hide_a_command_is_named() {
        for text in ["& $x", "gci $(rm y)", "gci | % { rm $_ }", "gc a > b", "echo \"$x\"", "echo 'a", "echo a`;b"] {
            assert!(read(text).hides.is_some(), "{text}");
        }
        assert_eq!(read("echo '$x; rm'").commands.len(), 1);
    }
}

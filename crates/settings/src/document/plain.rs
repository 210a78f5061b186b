//! The short way through a document. Most settings are plain: they were written by a program or as if by one. Such a text
//! is read here in one walk; at the first byte that is anything else this gives up, and the parser reads it.
//!
//! It must never read a text in another way than the parser does, so it knows no comments, no escapes, no letters beyond
//! ASCII and no fractions, and has nothing to say about what is wrong.

use super::{Name, Node, Place, Value, WIDEST, count, end_of_line, number_of};

/// What is nested deeper is left to the parser.
const DEEPEST: usize = 16;
/// Room for so many items is made beforehand: most lists have no more.
const ROOM: usize = 64;
/// Numbers of more digits are left to the parser.
const LONGEST: usize = 15;

/// The outermost value of a plain text.
pub(super) fn read(text: &str) -> Option<Node> {
    let mut walk = Walk { text, at: 0, line: 1, begin: 0, items: Vec::with_capacity(ROOM) };
    let root = walk.value(DEEPEST)?;
    walk.next_byte().is_none().then_some(root)
}

/// Where a walk through a text is.
struct Walk<'a> {
    text: &'a str,
    at: usize,
    line: u32,
    /// Where that line begins.
    begin: usize,
    /// Items of lists that have not ended, those of the innermost last. A list that grows by itself is copied again and again.
    items: Vec<Node>,
}

impl<'a> Walk<'a> {
    /// The next byte that is no blank. The walk stays before it.
    fn next_byte(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            match byte {
                b' ' => self.at += spaces(self.text.as_bytes().get(self.at..).unwrap_or_default()),
                b'\t' | b'\r' => self.at += 1,
                b'\n' => {
                    self.at += 1;
                    (self.line, self.begin) = (self.line.saturating_add(1), self.at);
                }
                _ => return Some(byte),
            }
        }
    }

    /// Goes past a byte, if it is the next one.
    fn past(&mut self, wanted: u8) -> Option<()> {
        (self.next_byte()? == wanted).then(|| self.at += 1)
    }

    /// The place of what begins here and has so many letters on this line.
    fn place(&self, width: usize) -> Place {
        let column = count(self.at - self.begin).saturating_add(1);
        Place { line: self.line, column, width: count(width.clamp(1, WIDEST)) }
    }

    fn value(&mut self, deeper: usize) -> Option<Node> {
        match self.next_byte()? {
            b'"' => self.text().map(|(place, text)| Node { place, value: Value::Text(text.to_owned()) }),
            b'{' => self.within(|walk| walk.members(deeper.checked_sub(1)?).map(Value::Object)),
            b'[' => self.within(|walk| walk.items(deeper.checked_sub(1)?).map(Value::List)),
            b't' => self.word("true", Value::Flag(true)),
            b'f' => self.word("false", Value::Flag(false)),
            b'n' => self.word("null", Value::Null),
            b'1'..=b'9' => self.number(),
            _ => None,
        }
    }

    /// A list or an object. Of one on several lines the first is underlined.
    fn within(&mut self, inside: impl FnOnce(&mut Self) -> Option<Value>) -> Option<Node> {
        let (start, place) = (self.at, self.place(1));
        self.at += 1;
        let value = inside(self)?;
        let end = self.at.min(end_of_line(self.text, start));
        Some(Node { place: Place { width: count((end - start).min(WIDEST)), ..place }, value })
    }

    fn members(&mut self, deeper: usize) -> Option<Vec<(Name, Node)>> {
        let mut members = Vec::new();
        if self.past(b'}').is_some() {
            return Some(members);
        }
        loop {
            self.next_byte().filter(|byte| *byte == b'"')?;
            let (place, text) = self.text()?;
            self.past(b':')?;
            members.push((Name { place, text: text.to_owned() }, self.value(deeper)?));
            if self.ends(b'}')? {
                return Some(members);
            }
        }
    }

    fn items(&mut self, deeper: usize) -> Option<Vec<Node>> {
        if self.past(b']').is_some() {
            return Some(Vec::new());
        }
        let first = self.items.len();
        loop {
            let item = self.value(deeper)?;
            self.items.push(item);
            if self.ends(b']')? {
                return Some(self.items.drain(first..).collect());
            }
        }
    }

    /// Whether a list or an object ends here; else it goes on behind a comma.
    fn ends(&mut self, close: u8) -> Option<bool> {
        let byte = self.next_byte()?;
        self.at += 1;
        if byte == close { Some(true) } else { (byte == b',').then_some(false) }
    }

    /// The text whose quote is the next byte.
    fn text(&mut self) -> Option<(Place, &'a str)> {
        let start = self.at + 1;
        let rest = self.text.as_bytes().get(start..)?;
        let length = plain_length(rest);
        let text = self.text.get(start..start + length).filter(|_| rest.get(length) == Some(&b'"'))?;
        let place = self.place(length + 2);
        self.at = start + length + 1;
        Some((place, text))
    }

    fn word(&mut self, word: &str, value: Value) -> Option<Node> {
        self.text.get(self.at..)?.strip_prefix(word)?;
        let place = self.place(word.len());
        self.at += word.len();
        Some(Node { place, value })
    }

    fn number(&mut self) -> Option<Node> {
        let rest = self.text.get(self.at..)?;
        let digits = rest.get(..rest.find(|letter: char| !letter.is_ascii_digit())?)?;
        let node = Node { place: self.place(digits.len()), value: Value::Number(number_of(digits)) };
        self.at += digits.len();
        (digits.len() <= LONGEST).then_some(node)
    }
}

/// How many spaces a text begins with, the first of which was seen; up to eight, which are looked at together.
fn spaces(bytes: &[u8]) -> usize {
    const SPACES: u64 = u64::from_ne_bytes([b' '; 8]);
    let others = |eight: &[u8; 8]| u64::from_le_bytes(*eight) ^ SPACES;
    bytes.first_chunk().map_or(1, |eight| others(eight).trailing_zeros() as usize / 8)
}

/// How many bytes come before the first that is a quote, a backslash or no letter of ASCII. They are looked at eight at a
/// time: this is most of what reading settings takes.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let (eights, rest) = bytes.as_chunks::<8>();
    for (number, eight) in eights.iter().enumerate() {
        let word = u64::from_le_bytes(*eight);
        // The highest bit of each byte that is less than so much. After the first one it may be set for others, too.
        let less = |word: u64, than: u8| word.wrapping_sub(ONES * u64::from(than)) & !word;
        let equal = |letter: u8| less(word ^ (ONES * u64::from(letter)), 1);
        // 0x7f is a control character that JSON allows; the parser says what becomes of it.
        let found = (less(word, b' ') | equal(b'"') | equal(b'\\') | equal(0x7f) | word) & HIGH;
        if found != 0 {
            return 8 * number + found.trailing_zeros() as usize / 8;
        }
    }
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'!' | b'#'..=b'[' | b']'..=b'~');
    8 * eights.len() + rest.iter().take_while(|byte| is_plain(byte)).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Document, parsed};
    use super::*;

    /// Both ways read the same, or this one leaves the text to the parser.
    fn agree(text: &str) -> Option<Node> {
        let root = read(text)?;
        assert_eq!(parsed(&text.into()).as_ref().map(|document| &document.root), Ok(&root), "{text}");
        Some(root)
    }

    #[test]
    fn plain_settings_take_the_short_way() {
        let text = "{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls:*)\", \"Read(./a b)\"],\r\n\t\"deny\": []\n  },\n  \
                    \"sandbox\": {\"enabled\": true, \"x\": false, \"n\": null, \"count\": 42}, \"none\": {}\n}\n";
        assert!(agree(text).is_some());
        let wide = format!("[\"{}\", [\n1]]", "w".repeat(3 * WIDEST));
        assert!(agree(&wide).is_some());
    }

    #[test]
    fn a_text_ends_at_every_byte_that_is_not_plain() {
        for byte in 0..=u8::MAX {
            let is_plain = (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
            for at in 0..20 {
                let mut bytes = [b'a'; 20];
                bytes[at] = byte;
                assert_eq!(plain_length(&bytes), if is_plain { 20 } else { at }, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn spaces_are_counted() {
        for count in 1..20 {
            let counted = spaces(format!("{}x       ", " ".repeat(count)).as_bytes());
            assert_eq!(counted, count.min(8));
        }
        assert_eq!(spaces(b"  x"), 1, "the others are seen later");
    }

    #[test]
    fn everything_else_is_left_to_the_parser() {
        let deep = format!("{}{}", "[".repeat(DEEPEST + 1), "]".repeat(DEEPEST + 1));
        let others = [
            "",
            "{",
            "[1,]",
            "{\"a\": 1,}",
            "{\"a\" 1}",
            "{a: 1}",
            "{'a': 1}",
            "[1 2]",
            "[1] 2",
            "// why\n[]",
            "[/* */]",
            "[\"a\\n\"]",
            "[\"ü\"]",
            "[\"\t\"]",
            "[\"",
            "[-1]",
            "[1.5]",
            "[1e3]",
            "[01]",
            "[0]",
            "[1234567890123456]",
            "7",
            "[truth]",
            "[nul]",
            "\u{a0}[]",
            &deep,
        ];
        for text in others {
            assert_eq!(agree(text), None, "{text}");
        }
        assert!(Document::parse("// why\n[0, -1.5, \"ü\\n\",]").is_ok(), "which reads more");
    }

    proptest! {
        #[test]
        fn both_ways_read_the_same(text in "([\\[\\]{}:,\" \n\r\ttrueflsn0-9./*\\\\ü-]|\"a\":|true|null|\\{\\}|\\[\\]){0,24}") {
            agree(&text);
        }

        #[test]
        fn both_ways_read_the_same_documents(value in values(), wide in any::<bool>()) {
            let text = if wide { format!("{value:#}") } else { value.to_string() };
            agree(&text);
        }
    }

    fn values() -> impl Strategy<Value = serde_json::Value> {
        use serde_json::Value as Json;
        let leaf = prop_oneof![
            Just(Json::Null),
            any::<bool>().prop_map(Json::from),
            any::<i64>().prop_map(Json::from),
            "[a-z\"\\\\ü/* \n]{0,6}".prop_map(Json::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
                proptest::collection::btree_map("[a-c ü]{0,3}", inner, 0..5)
                    .prop_map(|members| members.into_iter().collect::<Json>()),
            ]
        })
    }
}

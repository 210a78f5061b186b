//! Messages that are too long to be read. As much is taken from them as it takes to know who waits for an answer, while
//! the rest goes by and is not kept.

use serde_json::Value;

use super::wire::Id;

/// The longest name or id that is kept.
const KEPT: usize = 256;

/// A message that goes by.
#[derive(Debug, Default)]
pub(crate) struct Skim {
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// What was written last in the outermost object, as far as it is no object or array itself.
    word: Vec<u8>,
    name: Option<String>,
    id: Option<Id>,
    has_method: bool,
    has_answer: bool,
}

/// What went by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Skimmed {
    /// A request, whose sender waits for an answer.
    Request(Id),
    /// The answer to a request.
    Answer(Id),
}

impl Skim {
    /// Reads a piece.
    pub(crate) fn read(&mut self, piece: &[u8]) {
        for byte in piece {
            match byte {
                _ if self.in_text => self.in_text(*byte),
                b'"' => {
                    self.in_text = true;
                    self.keep(*byte);
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.end_member();
                    self.depth = self.depth.saturating_sub(1);
                }
                b':' if self.depth == 1 => {
                    self.name = serde_json::from_slice(&self.word).ok();
                    self.word.clear();
                }
                b',' => self.end_member(),
                other if other.is_ascii_whitespace() => {}
                other => self.keep(*other),
            }
        }
    }

    fn in_text(&mut self, byte: u8) {
        self.keep(byte);
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_text = false,
            _ => {}
        }
    }

    fn keep(&mut self, byte: u8) {
        // One more than is good, so that a word that was cut is not taken for a whole one.
        if self.depth == 1 && self.word.len() <= KEPT {
            self.word.push(byte);
        }
    }

    fn end_member(&mut self) {
        if self.depth != 1 {
            return;
        }
        match self.name.take().as_deref() {
            Some("id") if self.word.len() <= KEPT => {
                self.id = serde_json::from_slice::<Value>(&self.word).ok().and_then(Id::new);
            }
            Some("method") => self.has_method = true,
            Some("result" | "error") => self.has_answer = true,
            Some(_) | None => {}
        }
        self.word.clear();
    }

    /// What went by, if somebody waits for it or for its answer.
    pub(crate) fn seen(self) -> Option<Skimmed> {
        match (self.has_method, self.has_answer) {
            (true, false) => self.id.map(Skimmed::Request),
            (false, true) => self.id.map(Skimmed::Answer),
            (true, true) | (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_goes_by_is_the_same_however_it_is_cut() {
        let id = |json: Value| Id::new(json).unwrap();
        let long = format!(r#"{{"id":"{}","result":1}}"#, "x".repeat(KEPT));
        let rows = [
            (r#"{"id":1,"result":{}}"#, Some(Skimmed::Answer(id(json!(1))))),
            (r#" { "error" : {"id":2} , "id" : "a\"}" } "#, Some(Skimmed::Answer(id(json!("a\"}"))))),
            (r#"{"id":3,"method":"x","params":[{"result":1}]}"#, Some(Skimmed::Request(id(json!(3))))),
            (r#"{"result":{"id":4}}"#, None),
            (r#"{"text":"\"id\":5,","result":"\\"}"#, None),
            (r#"{"id":{"id":6},"result":1}"#, None),
            (r#"{"id":7,"method":"x","result":1}"#, None),
            (r#"{"method":"x"}"#, None),
            (r#"[{"id":8,"result":1}]"#, None),
            (r#"}}]"id":9,"result":1"#, None),
            (&long, None),
        ];
        for (text, seen) in rows {
            for size in 1..=text.len() {
                let mut skim = Skim::default();
                text.as_bytes().chunks(size).for_each(|piece| skim.read(piece));
                assert_eq!(skim.seen(), seen, "{text} in pieces of {size}");
            }
        }
    }
}

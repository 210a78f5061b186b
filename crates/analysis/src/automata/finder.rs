//! Finding patterns: which of thousands may match a text, without trying them one by one. Each pattern is found by a
//! piece that it spells, the one that fewest others share: whatever it matches holds this piece. Whether it does match
//! is for the pattern itself to say. The work is counted.

use mayi_core::path::Case;
use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::path::{PathPattern, Segment};
use mayi_core::rule::text::{Ending, Glob, TextPattern};
use rustc_hash::FxHashMap;

use super::meaning::Pattern;
use super::path::end_of_class;
use super::search::Budget;

/// Patterns by what they spell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finder {
    case: Case,
    /// By what a text begins with.
    beginnings: Trie,
    /// By what stands anywhere in a text.
    within: Trie,
    /// Those that spell nothing.
    others: Vec<usize>,
}

/// A text that everything holds that a pattern matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Piece {
    text: String,
    stands: Stands,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Stands {
    First,
    Anywhere,
}

impl Finder {
    /// Of numbered patterns.
    pub(crate) fn of<'a>(patterns: impl Iterator<Item = (usize, &'a Pattern)>, case: Case) -> Self {
        let spelled: Vec<(usize, Vec<Piece>)> =
            patterns.map(|(number, pattern)| (number, pieces(pattern, case))).collect();
        let mut shared: FxHashMap<&Piece, usize> = FxHashMap::default();
        for piece in spelled.iter().flat_map(|(_, pieces)| pieces) {
            *shared.entry(piece).or_default() += 1;
        }
        let mut finder = Self { case, ..Self::default() };
        for (number, pieces) in &spelled {
            let rarity = |piece: &&Piece| (shared.get(*piece).copied(), usize::MAX - piece.text.len());
            match pieces.iter().min_by_key(rarity) {
                None => finder.others.push(*number),
                Some(Piece { text, stands: Stands::First }) => finder.beginnings.insert(text, *number),
                Some(Piece { text, stands: Stands::Anywhere }) => finder.within.insert(text, *number),
            }
        }
        finder
    }

    /// The patterns that may match a text, in order; `None` when there is no work left to find them.
    pub(crate) fn candidates(&self, text: &str, budget: &mut Budget) -> Option<Vec<usize>> {
        let folded = self.case.fold(text);
        let mut found = self.others.clone();
        let mut is_left = budget.take(1 + self.beginnings.walk(folded.as_bytes(), &mut found));
        let mut rest = folded.as_bytes();
        while is_left && !self.within.is_empty() && !rest.is_empty() {
            is_left = budget.take(self.within.walk(rest, &mut found));
            rest = rest.get(1..).unwrap_or_default();
        }
        found.sort_unstable();
        found.dedup();
        (is_left && budget.take(found.len())).then_some(found)
    }
}

/// Numbers by text, byte by byte.
#[derive(Clone, Debug, Default)]
struct Trie {
    next: FxHashMap<(u32, u8), u32>,
    /// What ends at a node.
    ends: FxHashMap<u32, Vec<usize>>,
}

impl Trie {
    fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    fn insert(&mut self, text: &str, number: usize) {
        let mut node = 0;
        for byte in text.bytes() {
            let new = u32::try_from(self.next.len() + 1).unwrap_or(u32::MAX);
            node = *self.next.entry((node, byte)).or_insert(new);
        }
        self.ends.entry(node).or_default().push(number);
    }

    /// Finds everything that the text begins with; gives how far it had to go.
    fn walk(&self, text: &[u8], found: &mut Vec<usize>) -> usize {
        let mut node = 0;
        for (steps, byte) in text.iter().enumerate() {
            let Some(next) = self.next.get(&(node, *byte)) else { return steps + 1 };
            node = *next;
            found.extend(self.ends.get(&node).into_iter().flatten());
        }
        text.len()
    }
}

/// The pieces that a pattern spells. None of them is empty.
fn pieces(pattern: &Pattern, case: Case) -> Vec<Piece> {
    let mut spelling = Spelling { pieces: Vec::new(), text: String::new(), stands: Stands::First };
    match pattern {
        Pattern::Text(text) => spelling.text(text),
        Pattern::Host(host) => spelling.host(host),
        Pattern::Path(path) => spelling.path(path, case),
    }
    spelling.open();
    spelling.pieces
}

/// Pieces in the making.
struct Spelling {
    pieces: Vec<Piece>,
    text: String,
    stands: Stands,
}

impl Spelling {
    /// Something follows that is not spelled.
    fn open(&mut self) {
        let (text, stands) = (std::mem::take(&mut self.text), self.stands);
        if !text.is_empty() {
            self.pieces.push(Piece { text, stands });
        }
        self.stands = Stands::Anywhere;
    }

    fn text(&mut self, pattern: &TextPattern) {
        match pattern {
            TextPattern::Exact(text) | TextPattern::Prefix(text) => self.text.push_str(text),
            TextPattern::Glob(Glob { first, middle, last: Ending::Text(last) | Ending::Word(last) }) => {
                self.text.push_str(first);
                for piece in middle.iter().chain([last]) {
                    self.open();
                    self.text.push_str(piece);
                }
            }
        }
    }

    fn host(&mut self, pattern: &DomainPattern) {
        match pattern {
            DomainPattern::Any => {}
            DomainPattern::Host(host) => self.text.push_str(host),
            DomainPattern::Below(apex) => {
                self.open();
                self.text = format!(".{apex}");
            }
            DomainPattern::Labels(labels) => {
                for (number, label) in labels.iter().enumerate() {
                    self.text.push_str(if number > 0 { "." } else { "" });
                    self.text(label);
                }
            }
        }
    }

    fn path(&mut self, path: &PathPattern, case: Case) {
        self.text.push_str(case.fold(path.root()).trim_end_matches('/'));
        for segment in path.segments() {
            match segment {
                Segment::Any => self.open(),
                Segment::Name(name) => {
                    self.text.push('/');
                    self.text.push_str(&case.fold(name));
                }
                Segment::Like(like) => {
                    self.text.push('/');
                    self.name_like(&case.fold(like));
                }
            }
        }
    }

    fn name_like(&mut self, like: &str) {
        let mut rest = like;
        while let Some(letter) = rest.chars().next() {
            let length = match letter {
                '*' | '?' => {
                    self.open();
                    1
                }
                '[' => {
                    self.open();
                    end_of_class(rest.as_bytes(), 0)
                }
                '\\' => {
                    let escaped = rest.chars().nth(1);
                    self.text.push(escaped.unwrap_or(letter));
                    1 + escaped.map_or(0, char::len_utf8)
                }
                other => {
                    self.text.push(other);
                    other.len_utf8()
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

//! Sets of bytes: the letters of every automaton here. A pattern says which bytes it tells apart, and nothing ever
//! looks at more of them than that.

/// A set of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub(super) const NONE: Self = Self([0; 4]);
    /// Every byte.
    pub(super) const ALL: Self = Self([u64::MAX; 4]);

    /// One byte.
    pub(super) fn one(byte: u8) -> Self {
        Self::NONE.with(byte)
    }

    /// The bytes of a text.
    pub(super) fn of(text: &str) -> Self {
        text.bytes().fold(Self::NONE, Self::with)
    }

    /// The bytes from `low` to `high`.
    pub(super) fn range(low: u8, high: u8) -> Self {
        (low..=high).fold(Self::NONE, Self::with)
    }

    /// The same with one byte more.
    pub(super) fn with(mut self, byte: u8) -> Self {
        if let Some(word) = self.0.get_mut(usize::from(byte >> 6)) {
            *word |= 1 << (byte & 63);
        }
        self
    }

    /// What is in either.
    pub(super) fn or(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a | e, b | f, c | g, d | h])
    }

    /// What is in this one and not in the other.
    pub(super) fn minus(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a & !e, b & !f, c & !g, d & !h])
    }

    /// What is in both.
    pub(super) fn and(self, other: Self) -> Self {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, other.0);
        Self([a & e, b & f, c & g, d & h])
    }

    /// Whether a byte is in it.
    pub(super) fn holds(self, byte: u8) -> bool {
        self.0.get(usize::from(byte >> 6)).is_some_and(|word| word & (1 << (byte & 63)) != 0)
    }

    /// Whether no byte is in it.
    pub(super) fn is_empty(self) -> bool {
        let [a, b, c, d] = self.0;
        a | b | c | d == 0
    }

    /// The one byte in it, if it is one.
    pub(super) fn single(self) -> Option<u8> {
        let count: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        self.least().filter(|_| count == 1)
    }

    /// The least byte in it.
    fn least(self) -> Option<u8> {
        let (place, word) = self.0.iter().enumerate().find(|(_, word)| **word != 0)?;
        u8::try_from(place * 64 + word.trailing_zeros() as usize).ok()
    }
}

/// Parts the bytes into classes that none of the sets tells apart.
pub(super) fn classes(sets: impl Iterator<Item = ByteSet>) -> Vec<ByteSet> {
    let mut classes = vec![ByteSet::ALL];
    for set in sets {
        let mut parted = Vec::with_capacity(classes.len() + 1);
        for class in classes {
            let (inside, outside) = (class.and(set), class.minus(set));
            parted.extend([inside, outside].into_iter().filter(|part| !part.is_empty()));
        }
        classes = parted;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_parted_as_far_as_the_sets_tell_them_apart() {
        let parted = classes([ByteSet::range(b'a', b'f'), ByteSet::of("ace"), ByteSet::one(b'z')].into_iter());
        assert_eq!(parted.len(), 4);
        assert!(parted.contains(&ByteSet::of("bdf")) && parted.contains(&ByteSet::of("ace")));
        assert_eq!(ByteSet::of("zz").single(), Some(b'z'));
        assert_eq!(ByteSet::of("ab").single(), None);
        assert!(ByteSet::range(0, 255) == ByteSet::ALL && ByteSet::ALL.holds(255) && !ByteSet::NONE.holds(0));
    }
}

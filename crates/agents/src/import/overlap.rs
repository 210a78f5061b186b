//! Whether two wildcard patterns can match one text: `*` is any text, `?` any single letter.

/// Whether some text matches both. Time is the product of their lengths; patterns beyond [`LONGEST`] are taken to meet.
pub(super) fn meet(one: &str, two: &str) -> bool {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().collect(), two.chars().collect());
    if one.len().max(two.len()) > LONGEST {
        return true;
    }
    // `reached[j]`: the letters before here of the first and the first `j` of the second can be one text.
    let mut reached = vec![true];
    for letter in &two {
        let last = reached.last().copied().unwrap_or_default();
        reached.push(last && *letter == '*');
    }
    for letter in &one {
        let mut next = vec![*letter == '*' && reached.first().copied().unwrap_or_default()];
        for (other, pair) in two.iter().zip(reached.windows(2)) {
            let [diagonal, above] = pair else { continue };
            let left = next.last().copied().unwrap_or_default();
            next.push(match (*letter, *other) {
                ('*', _) | (_, '*') => *diagonal || *above || left,
                ('?', _) | (_, '?') => *diagonal,
                (same, other) => *diagonal && same == other,
            });
        }
        reached = next;
    }
    reached.last().copied().unwrap_or_default()
}

/// Longer patterns are not held against each other.
const LONGEST: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::meet;

    #[test]
    fn patterns_meet_when_one_text_matches_both() {
        for (one, two) in
            [("git *", "git push *"), ("*", ""), ("a*c", "ab*"), ("?b", "a*"), ("git *", "* push"), ("a", "a")]
        {
            assert!(meet(one, two) && meet(two, one), "{one} and {two}");
        }
        for (one, two) in
            [("git *", "npm *"), ("a", ""), ("a?", "a"), ("*x", "*y"), ("ab*", "a?"), ("rm -rf *", "rm -r *")]
        {
            let expected = one == "ab*";
            assert_eq!(meet(one, two), expected, "{one} and {two}");
            assert_eq!(meet(two, one), expected, "{two} and {one}");
        }
    }
}

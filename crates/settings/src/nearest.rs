//! The nearest known word to a misspelt one.

/// The known word that is nearest, if it is near enough to be what was meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer than any word there is: not worth comparing.
    if word.chars().count() > 64 {
        return None;
    }
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let lower = word.to_lowercase();
    let distances = known.into_iter().map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate));
    distances.filter(|(distance, _)| *distance <= allowed).min_by_key(|(distance, _)| *distance).map(|(_, near)| near)
}

/// How many letters must be put in, taken out or changed; two swapped neighbours count once.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut older: Vec<usize> = Vec::new();
    let mut old: Vec<usize> = (0..=to.len()).collect();
    let mut before: Option<char> = None;
    for (row, letter) in from.chars().enumerate() {
        let mut new = vec![row + 1];
        for (column, other) in to.iter().enumerate() {
            let at = |row: &[usize], column: usize| row.get(column).copied().unwrap_or(usize::MAX / 2);
            let mut best = (at(&old, column) + usize::from(letter != *other)).min(at(&old, column + 1) + 1);
            best = best.min(at(&new, column) + 1);
            let left = column.checked_sub(1).and_then(|left| to.get(left));
            if let (Some(left_at), true) = (column.checked_sub(1), left == Some(&letter) && before == Some(*other)) {
                best = best.min(at(&older, left_at) + 1);
            }
            new.push(best);
        }
        older = std::mem::replace(&mut old, new);
        before = Some(letter);
    }
    old.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["allow", "ask", "deny", "defaultMode", "Bash"];
        assert_eq!(nearest("alow", known), Some("allow"));
        assert_eq!(nearest("dney", known), Some("deny"));
        assert_eq!(nearest("defaultmode", known), Some("defaultMode"));
        assert_eq!(nearest("bash", known), Some("Bash"));
        assert_eq!(nearest("hooks", known), None);
        assert_eq!(nearest(&"x".repeat(1000), known), None);
    }

    #[test]
    fn distances_are_counted_right() {
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ab", "ba"), 1);
    }
}

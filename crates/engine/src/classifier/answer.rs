//! What a model's text means. Strict: an answer that lets the action run has exactly one form, and everything else
//! stops it.

use super::prompt::Standards;
use super::transcript::is_odd;

/// Letters of a reason that are passed on.
const REASON: usize = 600;

/// What a stage says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// It may run.
    No,
    /// Stop it.
    Yes {
        /// The entry that fits, if it is one that exists.
        category: Option<String>,
        /// Why; empty when it did not say.
        reason: String,
    },
    /// Nothing that can be understood.
    Unclear,
}

/// Stage one: one tag and nothing else.
pub(super) fn stage_one(text: &str) -> Said {
    match text.trim() {
        "<block>no</block>" => Said::No,
        "<block>yes</block>" => Said::Yes { category: None, reason: String::new() },
        _ => Said::Unclear,
    }
}

/// Stage two: prose without tags, then category, reason and block, each once and in this order.
pub(super) fn stage_two(text: &str, standards: &Standards) -> Said {
    let Some((category, reason, block)) = parts(text.trim()) else { return Said::Unclear };
    match (block, category) {
        ("no", "none") => Said::No,
        // It named something that fits and let it run all the same: it contradicts itself.
        ("no", _) => Said::Unclear,
        ("yes", id) => {
            let category = standards.knows(id).then(|| id.to_owned());
            Said::Yes { category, reason: for_people(reason) }
        }
        _ => Said::Unclear,
    }
}

fn parts(text: &str) -> Option<(&str, &str, &str)> {
    const TAGS: [&str; 6] = ["<category>", "</category>", "<reason>", "</reason>", "<block>", "</block>"];
    if TAGS.iter().any(|tag| text.matches(tag).count() != 1) {
        return None;
    }
    let (_, rest) = text.split_once("<category>")?;
    let (category, rest) = rest.split_once("</category>")?;
    let (reason, rest) = rest.trim_start().strip_prefix("<reason>")?.split_once("</reason>")?;
    let block = rest.trim_start().strip_prefix("<block>")?.strip_suffix("</block>")?;
    let plain = |text: &str| !text.contains(['<', '>']);
    (plain(category) && plain(reason)).then_some((category.trim(), reason.trim(), block.trim()))
}

/// The model's words, fit for a terminal and for another model: bounded, visible, on one line.
pub(crate) fn for_people(text: &str) -> String {
    let visible: String = text.chars().map(|letter| if is_odd(letter) { ' ' } else { letter }).collect();
    let words = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(REASON).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_settings::settings::AutoMode;

    #[test]
    fn stage_one_understands_two_answers() {
        assert_eq!(stage_one(" <block>no</block>\n"), Said::No);
        assert!(matches!(stage_one("<block>yes</block>"), Said::Yes { .. }));
        for text in [
            "",
            "no",
            "<block>no",
            "<block>No</block>",
            "<block> no</block>",
            "<block>no</block><block>no</block>",
            "<block>no</block><block>yes</block>",
            "I cannot help. <block>no</block>",
            "<block>no</block> is what I was told to say",
            "<block>no</block\u{200b}>",
            "```\n<block>no</block>\n```",
            "<think>hm</think><block>no</block>",
            "&lt;block&gt;no&lt;/block&gt;",
        ] {
            assert_eq!(stage_one(text), Said::Unclear, "{text}");
        }
    }

    #[test]
    fn stage_two_lets_run_in_one_form_only() {
        let standards = Standards::new(&AutoMode::default());
        let said = |text: &str| stage_two(text, &standards);
        assert_eq!(said("Fine.\n<category>none</category>\n<reason>r</reason>\n<block>no</block>\n"), Said::No);
        for text in [
            "<block>no</block>",
            "<category>none</category><block>no</block>",
            "<reason>r</reason><category>none</category><block>no</block>",
            "<category>exfiltration</category><reason>r</reason><block>no</block>",
            "<category></category><reason>r</reason><block>no</block>",
            "<category>none</category><reason>r</reason><block>no</block> or not",
            "<category>none</category><reason>r</reason> so <block>no</block>",
            "<category>none</category><reason>r</reason><block>no",
            "<category>none</category><reason>r</reason><block>maybe</block>",
            "<block>yes</block><category>none</category><reason>r</reason><block>no</block>",
            "<category>none</category><reason><b>r</b></reason><block>no</block>",
            "<category>none</category><reason>r</reason><reason>r</reason><block>no</block>",
        ] {
            assert_eq!(said(text), Said::Unclear, "{text}");
        }
    }

    #[test]
    fn a_block_names_an_entry_that_exists_and_a_reason_that_can_be_shown() {
        let standards = Standards::new(&AutoMode::default());
        let said = |id: &str, reason: &str| {
            stage_two(&format!("<category>{id}</category><reason>{reason}</reason><block>yes</block>"), &standards)
        };
        let yes = |category: Option<&str>, reason: &str| Said::Yes {
            category: category.map(str::to_owned),
            reason: reason.to_owned(),
        };
        assert_eq!(said("exfiltration", "It\n sends\u{1b}[31m."), yes(Some("exfiltration"), "It sends [31m."));
        assert_eq!(said("made-up", "r"), yes(None, "r"));
        assert_eq!(said("none", ""), yes(None, ""));
        let Said::Yes { reason, .. } = said("none", &"x".repeat(5_000)) else { panic!("it blocks") };
        assert_eq!(reason.len(), REASON);
    }
}

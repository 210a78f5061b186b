//! The version of a policy: a short digest of everything in it that a decision looks at. Records, approvals and bundles
//! name it, so that it can be told whether a decision was made by the policy of today.

use std::fmt::Write as _;

use mayi_core::policy::Policy;
use sha2::{Digest as _, Sha256};

/// The version of a policy, in 32 hexadecimal digits. Where its rules stand (file and line) does not matter, what they
/// say and in which layer does.
pub fn version(policy: &Policy) -> String {
    let mut hasher = Sha256::new();
    for (root, entry) in policy.rooted() {
        for part in [entry.origin.layer.word(), root, entry.verdict.word(), &entry.text] {
            hasher.update(part.as_bytes());
            hasher.update([0]);
        }
    }
    hasher.update(format!("{:?}", policy.options).as_bytes());
    let digest: [u8; 32] = hasher.finalize().into();
    digest.iter().take(16).fold(String::with_capacity(32), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use mayi_core::call::Workspace;
    use mayi_core::policy::{Layer, Options, Policy, Source, Written};
    use mayi_core::verdict::Verdict;

    use super::version;

    fn policy(layer: Layer, verdict: Verdict, text: &str) -> Policy {
        let workspace = Workspace { directory: "/w".to_owned(), ..Workspace::default() };
        let source = Source::of(layer, "/w", vec![Written::new(verdict, text)]);
        Policy::build(workspace, vec![source], Options::default())
    }

    #[test]
    fn a_version_changes_with_what_rules_say_and_with_options() {
        let of = |layer, verdict, text| version(&policy(layer, verdict, text));
        let one = of(Layer::User, Verdict::Allow, "Bash(ls:*)");
        assert_eq!(one, of(Layer::User, Verdict::Allow, "Bash(ls:*)"));
        assert_eq!(one.len(), 32);
        assert_ne!(one, of(Layer::User, Verdict::Deny, "Bash(ls:*)"));
        assert_ne!(one, of(Layer::Project, Verdict::Allow, "Bash(ls:*)"));
        assert_ne!(one, of(Layer::User, Verdict::Allow, "Bash(ls)"));
        let mut other = policy(Layer::User, Verdict::Allow, "Bash(ls:*)");
        other.options.bypass_disabled = true;
        assert_ne!(one, version(&other));
    }
}

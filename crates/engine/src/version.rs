//! The version of a policy: a short digest of everything in it that a decision looks at. Records, approvals and bundles
//! name it, so that it can be told whether a decision was made by the policy of today.

use mayi_core::catalogue::DeclaredTool;
use mayi_core::mode::Mode;
use mayi_core::path::Case;
use mayi_core::policy::{Options, Origin, Policy, Sandbox, Source, Written};
use mayi_core::session::Limits;

use crate::digits::{Digester, hexadecimal};

/// The version of a policy, in 32 hexadecimal digits. Where its rules stand (file and line) does not matter, what they
/// say and in which layer does.
pub fn version(policy: &Policy) -> String {
    let mut read = Read { digester: Digester::default(), held: Vec::with_capacity(HELD) };
    // One without rules says nothing.
    let sources = || policy.sources().iter().filter(|source| !source.rules.is_empty());
    read.number(sources().count() as u64);
    for Source { layer, root, rules, .. } in sources() {
        read.text(layer.word());
        read.text(root);
        read.number(rules.len() as u64);
        for Written { verdict, text, reading, .. } in rules {
            // What cannot be read may look like a rule that can.
            let is_unreadable = reading.as_deref().is_some_and(Result::is_err);
            read.number(2 * *verdict as u64 + u64::from(is_unreadable));
            read.text(text);
        }
    }
    read.options(&policy.options);
    read.digest().first_chunk::<16>().map(|half| hexadecimal(half)).unwrap_or_default()
}

/// So much is digested in one go: a rule is a few short pieces.
const HELD: usize = 512;

/// What was read of a policy so far.
struct Read {
    digester: Digester,
    /// The last of it, not digested yet.
    held: Vec<u8>,
}

impl Read {
    fn bytes(&mut self, bytes: &[u8]) {
        if self.held.len() + bytes.len() > HELD {
            self.digester.add(&self.held);
            self.held.clear();
        }
        self.held.extend_from_slice(bytes);
    }

    fn digest(mut self) -> [u8; 32] {
        self.digester.add(&self.held);
        self.digester.digest()
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes(text.as_bytes());
    }

    /// Seven bits to a byte, the last one below 128. Nearly all are small, and what is digested takes time.
    fn number(&mut self, mut number: u64) {
        while let (rest @ 1.., last) = (number >> 7, number & 127) {
            self.bytes(&[128 | last as u8]);
            number = rest;
        }
        self.bytes(&[number as u8]);
    }

    fn flags<const COUNT: usize>(&mut self, flags: [bool; COUNT]) {
        self.bytes(&flags.map(u8::from));
    }

    fn texts(&mut self, texts: &[String]) {
        self.number(texts.len() as u64);
        texts.iter().for_each(|text| self.text(text));
    }

    /// Every option by its name, so that a new one cannot be forgotten here.
    fn options(&mut self, options: &Options) {
        let Options {
            default_mode,
            bypass_disabled,
            auto_disabled,
            plan_without_auto,
            block_outside_reads,
            sandbox: Sandbox { enabled, auto_allow, allow_unsandboxed, excluded },
            limits: Limits { in_a_row, total },
            strict_grants,
            classify_all_shell,
            safe_tools,
            tools,
            broken,
            protected_files,
            case,
        } = options;
        self.text(default_mode.map_or("", Mode::word));
        self.flags([*bypass_disabled, *auto_disabled, *plan_without_auto, *block_outside_reads]);
        self.flags([*enabled, *auto_allow, *allow_unsandboxed, *strict_grants, *classify_all_shell]);
        self.flags([*case == Case::Sensitive]);
        self.number((*in_a_row).into());
        self.number((*total).into());
        for texts in [excluded, safe_tools, protected_files] {
            self.texts(texts);
        }
        self.number(tools.len() as u64);
        for DeclaredTool { name, kind, field } in tools {
            self.text(name);
            self.text(&format!("{kind:?}"));
            self.text(field.as_deref().unwrap_or_default());
        }
        self.number(broken.len() as u64);
        for Origin { layer, file, .. } in broken {
            self.text(layer.word());
            self.text(file.as_deref().unwrap_or_default());
        }
    }
}

#[cfg(test)]
mod tests {
    use mayi_core::call::Workspace;
    use mayi_core::policy::{Layer, Options, Policy, Source, Written};
    use mayi_core::rule::RuleError;
    use mayi_core::verdict::Verdict;

    use super::version;

    fn policy(layer: Layer, verdict: Verdict, text: &str) -> Policy {
        let workspace = Workspace { directory: "/w".to_owned(), ..Workspace::default() };
        let source = Source::of(layer, "/w", vec![Written::new(verdict, text)]);
        Policy::build(workspace, vec![source], Options::default())
    }

    /// However much is held back of it at a time.
    #[test]
    fn a_version_is_of_all_rules() {
        let long = |last: &str| format!("Bash({}{last})", "x".repeat(2000));
        let of = |text: &str| version(&policy(Layer::User, Verdict::Allow, text));
        assert_ne!(of(&long("a")), of(&long("b")));
        let many = |last: &str| {
            let texts = (0..100).map(|number| format!("Bash(tool {number}:*)")).chain([last.to_owned()]);
            let rules = texts.map(|text| Written::new(Verdict::Allow, &text)).collect();
            let workspace = Workspace { directory: "/w".to_owned(), ..Workspace::default() };
            version(&Policy::build(workspace, vec![Source::of(Layer::User, "/w", rules)], Options::default()))
        };
        assert_ne!(many("Read"), many("Edit"));
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
        let unreadable = Written {
            reading: Some(Box::new(Err(RuleError::WrongType))),
            ..Written::new(Verdict::Allow, "Bash(ls:*)")
        };
        let sources =
            vec![Source::of(Layer::Session, "/w", Vec::new()), Source::of(Layer::User, "/w", vec![unreadable])];
        let workspace = Workspace { directory: "/w".to_owned(), ..Workspace::default() };
        assert_ne!(one, version(&Policy::build(workspace.clone(), sources, Options::default())));
        let with_empty = [Source::of(Layer::Session, "/w", Vec::new())].into_iter().chain(other.sources().to_vec());
        assert_eq!(one, version(&Policy::build(workspace, with_empty.collect(), Options::default())));
    }
}

//! Any text is a rule or refused; a rule that is read prints to a text that reads as the same rule.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayi_core::call::Workspace;
use mayi_core::policy::{Access, Layer, Options, Policy, Source, Text, Written};
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;

fuzz_target!(|text: &str| {
    if let Ok(rule) = text.parse::<Rule>() {
        assert_eq!(rule.to_string().parse::<Rule>().as_ref(), Ok(&rule));
    }
    // Whatever it is, a policy can be built with it and asked.
    let rules = Verdict::ALL.map(|verdict| Written::new(verdict, text));
    let source = Source::of(Layer::User, "/w", rules.to_vec());
    let policy = Policy::build(Workspace::at("/w").with_home("/home/u"), vec![source], Options::default());
    for verdict in Verdict::ALL {
        let _ = policy.text(verdict, "Bash", Text::every(text));
        let _ = policy.path(verdict, Access::Read, "/w/src/main.rs");
        let _ = policy.host(verdict, "a.example.com");
    }
});

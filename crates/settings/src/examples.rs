//! Examples beside rules: texts that a rule must match, and texts that it must leave alone. They change nothing; one
//! that does not hold is a problem with its place.
//!
//! A rule is tried alone, in the list it stands in, by the matchers that decide calls: a deny sees a command in every
//! form it can denote, an allow in the most literal one.

use mayi_core::call::Call;
use mayi_core::catalogue::Kind;
use mayi_core::inspect::inspect;
use mayi_core::policy::{Grants, Options, Origin, Policy, Source, Text, Written};
use mayi_core::reason::Reason;
use mayi_core::rule::Rule;
use mayi_core::rule::text::fold_blanks;
use mayi_core::session::Session;
use mayi_core::verdict::Verdict;
use mayi_shell::observe::Observations;
use serde_json::json;

use crate::document::{Name, Node, Value};
use crate::load::{Loaded, ReadDocument};
use crate::problem::{Code, Page, Problem};

/// Every example that does not hold.
pub(crate) fn problems(loaded: &Loaded) -> Vec<Problem> {
    let mut found = Vec::new();
    for read in &loaded.read {
        let examples = read.document.root().member("ruleExamples").and_then(Node::members);
        for (name, node) in examples.unwrap_or_default() {
            let page = Page { layer: read.layer, file: read.file.clone(), text: read.document.text.clone() };
            of_rule(&Subject { loaded, read, page: &page }, name, node, &mut found);
        }
    }
    found
}

/// What examples are about.
struct Subject<'a> {
    loaded: &'a Loaded,
    read: &'a ReadDocument,
    page: &'a Page,
}

fn of_rule(subject: &Subject<'_>, name: &Name, node: &Node, found: &mut Vec<Problem>) {
    let Ok(rule) = name.text.parse::<Rule>() else {
        let message = format!("examples are given for `{}`, which is no rule", name.text);
        found.push(subject.page.problem(Code::FailedExample, name.place, message).fix("write `Tool(content)`"));
        return;
    };
    let lists = subject.lists(&rule);
    if lists.is_empty() {
        let message = format!("examples are given for `{}`, which stands in no list of these settings", name.text);
        let fix = "write the rule as it is written in its list, or remove the examples";
        found.push(subject.page.problem(Code::FailedExample, name.place, message).fix(fix));
    }
    for (list, root) in lists {
        let alone = Alone::of(subject.loaded, &rule, (list, root));
        for (key, wanted) in [("match", Match::Wanted), ("reject", Match::Unwanted)] {
            let Some(Value::List(items)) = node.member(key).map(|node| &node.value) else { continue };
            for item in items {
                let Some(example) = item.text() else { continue };
                let message = match (wanted, alone.matches(example)) {
                    (Match::Wanted, true) | (Match::Unwanted, false) => continue,
                    (Match::Wanted, false) => format!("`{rule}` does not match its example `{example}`"),
                    (Match::Unwanted, true) => format!("`{rule}` matches `{example}`, which it should leave alone"),
                };
                let problem = subject.page.problem(Code::FailedExample, item.place, message).about(&name.text, list);
                found.push(problem.fix("change the rule until every example holds, or correct the example"));
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    Wanted,
    Unwanted,
}

impl Subject<'_> {
    /// The lists of this document that the rule stands in, with what `/p` in it starts from. One that waits for trust
    /// is tried as well.
    fn lists(&self, rule: &Rule) -> Vec<(Verdict, String)> {
        let is_here = |origin: &Origin| origin.layer == self.read.layer && origin.file == self.read.file;
        let counted = self.loaded.policy.rooted().filter(|(_, entry)| entry.rule == *rule && is_here(&entry.origin));
        let mut lists: Vec<(Verdict, String)> = counted.map(|(root, entry)| (entry.verdict, root.to_owned())).collect();
        let withheld = self.loaded.withheld.iter().filter(|held| is_here(&held.origin));
        let of_rule = withheld.filter(|held| held.written.rule().as_ref() == Ok(rule));
        lists.extend(of_rule.map(|held| (held.written.verdict, self.loaded.policy.workspace.directory.clone())));
        lists.sort();
        lists.dedup();
        lists
    }
}

/// A policy of one rule.
struct Alone {
    policy: Policy,
    rule: Rule,
    list: Verdict,
}

impl Alone {
    fn of(loaded: &Loaded, rule: &Rule, (list, root): (Verdict, String)) -> Self {
        let written = Written { reading: Some(Box::new(Ok(rule.clone()))), ..Written::new(list, &rule.to_string()) };
        let source = Source { layer: mayi_core::policy::Layer::User, file: None, root, rules: vec![written] };
        let Options { tools, case, .. } = loaded.policy.options.clone();
        let options = Options { tools, case, ..Options::default() };
        let policy = Policy::build(loaded.policy.workspace.clone(), vec![source], options);
        Self { policy, rule: rule.clone(), list }
    }

    /// Whether the rule matches: a command, a path, an address or host, an agent, a skill, the value of a parameter;
    /// and the name of a tool where the rule has no content.
    fn matches(&self, example: &str) -> bool {
        let Rule { tool: name, content } = &self.rule;
        let Some(content) = content else {
            return self.policy.whole_tool(self.list, example, Grants::All).is_some();
        };
        let tool = self.policy.tool(name);
        let parameter = content.split_once(':').map(|(name, _)| name.trim());
        if let Some(parameter) = parameter.filter(|name| tool.params.contains(name) && self.list != Verdict::Allow) {
            let call = Call::new(name, json!({ parameter: example }));
            if self.policy.parameter(self.list, &call).is_some() {
                return true;
            }
        }
        let Some(field) = tool.field else { return false };
        let text = match tool.kind == Kind::Fetch && !example.contains("://") {
            true => format!("https://{example}/"),
            false => example.to_owned(),
        };
        let call = Call::new(name, json!({ field: text }));
        let inspection = inspect(&call, &self.policy, &Session::default(), &Observations::of_nothing());
        let said = match self.list {
            Verdict::Allow => inspection.allow,
            Verdict::Ask => inspection.ask,
            Verdict::Deny => inspection.deny,
        };
        match said {
            Some(Reason::Rule { .. } | Reason::Covered { .. }) => true,
            // What only reads needs no rule, so none is asked about it.
            Some(Reason::ReadOnly) => self.policy.text(self.list, name, Text::every(&fold_blanks(example))).is_some(),
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::load::{Given, of_values};
    use mayi_core::call::Workspace;
    use mayi_core::policy::Layer;
    use serde_json::json;

    fn messages(settings: serde_json::Value) -> Vec<String> {
        let workspace = Workspace::at("/w").with_home("/home/u");
        let loaded = of_values(&[(Layer::User, &settings)], &workspace, &Given::default());
        loaded.problems().into_iter().map(|problem| format!("{}: {}", problem.code, problem.message)).collect()
    }

    #[test]
    fn examples_that_hold_say_nothing() {
        let settings = json!({
            "permissions": {
                "allow": ["Bash(npm test:*)", "Bash(ls:*)", "Read(//data/**)", "Agent(Explore)", "mcp__files__*"],
                "deny": ["Bash(curl:*)", "WebFetch(domain:*.x.org)", "Edit(.env)", "Bash(run_in_background:true)"],
                "ask": ["Bash(git push:*)"],
            },
            "ruleExamples": {
                "Bash(npm test:*)": {"match": ["npm test", "timeout 5 npm test -- x"], "reject": ["npm testx", "npm test; rm x"]},
                "Bash(ls:*)": {"match": ["ls -la"], "reject": ["lsof"]},
                "Read(//data/**)": {"match": ["/data/x"], "reject": ["/database"]},
                "Agent(Explore)": {"match": ["Explore"], "reject": ["Plan"]},
                "mcp__files__*": {"match": ["mcp__files__read"], "reject": ["mcp__files2__read"]},
                "Bash(curl:*)": {"match": ["sudo curl x", "sh -c '/usr/bin/curl x'"], "reject": ["echo curl"]},
                "WebFetch(domain:*.x.org)": {"match": ["https://a.x.org/b", "a.x.org"], "reject": ["x.org"]},
                "Edit(.env)": {"match": ["a/.env"], "reject": [".envrc"]},
                "Bash(run_in_background:true)": {"match": ["true"], "reject": ["false"]},
                "Bash(git push:*)": {"match": ["git -C d push"], "reject": ["git pull"]},
            },
        });
        assert_eq!(messages(settings), Vec::<String>::new());
    }

    #[test]
    fn an_example_that_does_not_hold_is_told_of() {
        let settings = json!({
            "permissions": {"deny": ["Bash(npm publish)"]},
            "ruleExamples": {
                "Bash(npm publish)": {"match": ["npm publish --tag x"], "reject": ["npm publish"]},
                "Bash(npm pack)": {"match": ["npm pack"]},
                "Bash(": {},
            },
        });
        assert_eq!(
            messages(settings),
            [
                "failed-example: `Bash(npm publish)` does not match its example `npm publish --tag x`",
                "failed-example: `Bash(npm publish)` matches `npm publish`, which it should leave alone",
                "failed-example: examples are given for `Bash(npm pack)`, which stands in no list of these settings",
                "failed-example: examples are given for `Bash(`, which is no rule",
            ]
        );
    }
}

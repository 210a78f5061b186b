//! Files of each agent, and what becomes of them.

use super::*;

fn said(agent: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let imported = named(agent).unwrap().import(text).unwrap();
    let rules = imported.rules.iter().map(|rule| format!("{} {}", rule.list, rule.rule)).collect();
    let remark = |remark: &Remark| format!("{:?} {}: {}", remark.effect, remark.line, remark.message);
    (rules, imported.remarks.iter().map(remark).collect())
}

#[test]
fn prefix_rules_become_command_rules_with_every_spelling() {
    let text = r#"
# A comment.
prefix_rule(
    pattern = ["git", ["push", "fetch"], "origin"],
    decision = "prompt",
    justification = 'Ask "first".',
    match = ["git push origin main"],
)
prefix_rule(pattern = ["ls"])
prefix_rule(pattern = ["rm", "-rf"], decision = "forbidden")
host_executable(name = "git", paths = ["/usr/bin/git"])
"#;
    let (rules, remarks) = said("codex", text);
    assert_eq!(
        rules,
        ["ask Bash(git push origin:*)", "ask Bash(git fetch origin:*)", "allow Bash(ls:*)", "deny Bash(rm -rf:*)"]
    );
    assert!(matches!(remarks.as_slice(), [only] if only.starts_with("Stricter 11:")), "{remarks:?}");
}

#[test]
fn what_is_no_rule_file_is_refused_with_its_line() {
    for (agent, text, line) in [
        ("codex", "x = 1\n", 1),
        ("codex", "\nprefix_rule(pattern = [\"a\"\n", 3),
        ("codex", "prefix_rule(pattern = [\"a\"], decision = \"maybe\")", 1),
        ("codex", "prefix_rule(pattern = \"a", 1),
        ("gemini", "[[rule]]\ntoolName = 3\n", 2),
        ("gemini", "[[rule]]\ndecision = \"perhaps\"", 1),
        ("opencode", "{\n \"permission\": 7 }", 2),
        ("opencode", "{\"permission\": {\n\"bash\": \"perhaps\"}}", 2),
        ("opencode", "{", 1),
        ("cline", "{\"allow\": 3}", 1),
        ("cline", "", 1),
    ] {
        let refused = named(agent).unwrap().import(text).unwrap_err();
        assert_eq!(refused.line, line, "{agent} {text}: {refused}");
    }
}

#[test]
fn words_that_need_quotes_are_left_out_and_told() {
    let (rules, remarks) = said("codex", "prefix_rule(pattern = [\"a b\"], decision = \"forbidden\")");
    assert!(rules.is_empty());
    assert!(remarks.iter().any(|remark| remark.starts_with("Lost 1:")), "{remarks:?}");
}

#[test]
fn policies_become_rules_and_a_regular_expression_is_lost_aloud() {
    let text = r#"
[[rule]]
toolName = "run_shell_command"
commandPrefix = ["git status", "git diff"]
decision = "allow"
priority = 100

[[rule]]
commandPrefix = "rm -rf"
decision = "deny"
priority = 900

[[rule]]
toolName = ["write_file", "replace"]
decision = "ask_user"
priority = 10

[[rule]]
mcpName = "tracker"
toolName = "close"
decision = "deny"

[[rule]]
mcpName = "docs"
decision = "allow"

[[rule]]
toolName = "run_shell_command"
commandRegex = "curl .*"
decision = "deny"

[[rule]]
toolName = "read_file"
decision = "allow"
modes = ["yolo"]
"#;
    let (rules, remarks) = said("gemini", text);
    assert_eq!(
        rules,
        [
            "allow Bash(git status:*)",
            "allow Bash(git diff:*)",
            "deny Bash(rm -rf*)",
            "ask Write",
            "ask Edit",
            "deny mcp__tracker__close",
            "allow mcp__docs"
        ]
    );
    assert!(remarks.iter().any(|remark| remark.starts_with("Lost 27:")), "{remarks:?}");
    assert!(remarks.iter().any(|remark| remark.starts_with("Stricter 32:")), "{remarks:?}");
}

#[test]
fn an_exception_from_a_stricter_rule_is_told() {
    let text = "[[rule]]\ncommandPrefix = \"git\"\ndecision = \"deny\"\npriority = 1\n\
                [[rule]]\ncommandPrefix = \"git status\"\ndecision = \"allow\"\npriority = 2\n";
    let (rules, remarks) = said("gemini", text);
    assert_eq!(rules, ["deny Bash(git*)", "allow Bash(git status:*)"]);
    assert!(remarks.iter().any(|remark| remark.starts_with("Stricter 5:")), "{remarks:?}");
}

#[test]
fn a_default_with_exceptions_becomes_the_exceptions() {
    let text = r#"{
  // Everything asks but what is here.
  "permission": {
    "*": "ask",
    "bash": { "*": "ask", "git *": "allow", "git push *": "deny", "rm ?": "deny", },
    "edit": { "*": "deny", "docs/*.md": "allow", "*.env": "deny" },
    "webfetch": { "https://docs.rs/*": "allow", "http*": "deny" },
    "read": "allow",
  },
  "tools": { "websearch": false },
}"#;
    let (rules, remarks) = said("opencode", text);
    assert_eq!(
        rules,
        [
            "deny WebSearch",
            "allow Bash(git *)",
            "deny Bash(git push *)",
            "deny Bash(rm *)",
            "allow Edit(./docs/*.md)",
            "deny Edit(*.env)",
            "allow WebFetch(domain:docs.rs)",
            "allow Read"
        ]
    );
    assert!(remarks.iter().any(|remark| remark.starts_with("Asks 6:")), "{remarks:?}");
    assert!(remarks.iter().any(|remark| remark.starts_with("Lost 7:")), "{remarks:?}");
}

#[test]
fn command_permissions_become_rules_and_the_rest_asks() {
    let text = "{\"allow\": [\"npm *\", \"git *\"], \"deny\": [\"rm -rf *\"], \"allowRedirects\": true}";
    let (rules, remarks) = said("cline", text);
    assert_eq!(rules, ["deny Bash(rm -rf *)", "allow Bash(npm *)", "allow Bash(git *)"]);
    assert_eq!(remarks.len(), 2, "{remarks:?}");
}

#[test]
fn every_imported_rule_is_read_by_us_as_it_is_written() {
    for (agent, text) in [
        ("codex", "prefix_rule(pattern = [\"a*b\", \"c\"], decision = \"forbidden\")"),
        ("opencode", "{\"permission\": {\"bash\": {\"a (b) \\\\ *\": \"deny\"}, \"edit\": {\"/etc/*\": \"deny\"}}}"),
        ("cline", "{\"deny\": [\"echo (x)\", \"a\\\\b\"]}"),
    ] {
        for rule in named(agent).unwrap().import(text).unwrap().rules {
            let read: Rule = rule.rule.parse().unwrap();
            assert_eq!(read.to_string(), rule.rule, "{agent}");
        }
    }
}

//! Runs the rows of a page and says what came back otherwise than expected.

use std::fmt;

use serde_json::Value;

use super::{Expected, Row};

/// A row that was answered otherwise than it says.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The row.
    pub row: Row,
    /// The answer.
    pub got: Value,
}

/// Puts every row to `answer`, which answers lines of the batch format.
pub fn run(rows: &[Row], mut answer: impl FnMut(&Value) -> Value) -> Vec<Failure> {
    let answered = rows.iter().map(|row| (row, answer(&row.request)));
    let wrong = answered.filter(|(row, got)| !row.expected.is_met_by(got));
    wrong.map(|(row, got)| Failure { row: row.clone(), got }).collect()
}

impl Expected {
    pub(in crate::policy_test) fn is_met_by(&self, got: &Value) -> bool {
        let text = |field: &str| got.get(field).and_then(Value::as_str);
        let step = self.step.as_deref().is_none_or(|step| text("step") == Some(step));
        let because = self.because.as_deref();
        let message = because.is_none_or(|part| text("message").is_some_and(|message| message.contains(part)));
        let rule = self.rule.as_deref().is_none_or(|rule| got.get("reason").is_some_and(|reason| names(reason, rule)));
        text("verdict") == Some(self.verdict.word()) && step && message && rule
    }
}

/// Whether a reason, or the one behind it, names a rule.
fn names(reason: &Value, rule: &str) -> bool {
    let is_it = |entry: &Value| entry.get("rule").and_then(Value::as_str) == Some(rule);
    let rules = reason.get("rules").and_then(Value::as_array).into_iter().flatten();
    reason.get("rule").into_iter().chain(rules).any(is_it)
        || reason.get("because").is_some_and(|because| names(because, rule))
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.verdict)?;
        if let Some(step) = &self.step {
            write!(f, " at {step}")?;
        }
        if let Some(because) = &self.because {
            write!(f, " because `{because}`")?;
        }
        if let Some(rule) = &self.rule {
            write!(f, " by `{rule}`")?;
        }
        Ok(())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, got } = self;
        let text = |field: &str| got.get(field).and_then(Value::as_str).unwrap_or("-");
        writeln!(f, "{}: {}", row.at, row.text)?;
        writeln!(f, "  expected {}", row.expected)?;
        match got.get("error") {
            Some(error) => writeln!(f, "  got      an error: {error}")?,
            None => writeln!(f, "  got      {} at {} because `{}`", text("verdict"), text("step"), text("message"))?,
        }
        for line in got.get("trace").and_then(Value::as_array).into_iter().flatten() {
            let part = |field: &str| line.get(field).and_then(Value::as_str).unwrap_or_default();
            let shown = format!("    {:<4} {:<18} {:<6} {}", part("step"), part("name"), part("finding"), part("note"));
            writeln!(f, "{}", shown.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use mayi_core::verdict::Verdict;
    use serde_json::json;

    use super::super::At;
    use super::*;

    fn row() -> Row {
        Row {
            at: At { page: "p.md".to_owned(), line: 7 },
            text: "`ls` | allow | 2b | reads".to_owned(),
            request: json!({"tool": "Bash"}),
            expected: Expected {
                verdict: Verdict::Allow,
                step: Some("2b".to_owned()),
                because: Some("reads".to_owned()),
                rule: None,
            },
        }
    }

    #[track_caller]
    fn check(got: Value, failures: usize) {
        assert_eq!(run(&[row()], |_| got.clone()).len(), failures, "{got}");
    }

    #[test]
    fn every_expectation_counts() {
        check(json!({"verdict": "allow", "step": "2b", "message": "it only reads"}), 0);
        check(json!({"verdict": "ask", "step": "2b", "message": "it only reads"}), 1);
        check(json!({"verdict": "allow", "step": "2a", "message": "it only reads"}), 1);
        check(json!({"verdict": "allow", "step": "2b", "message": "a rule"}), 1);
        check(json!({"error": "no"}), 1);
        check(json!({}), 1);
    }

    #[test]
    fn a_rule_is_found_in_the_reason_and_behind_it() {
        let expected =
            |rule: &str| Expected { verdict: Verdict::Deny, step: None, because: None, rule: Some(rule.into()) };
        let entry = json!({"rule": "Bash(a)", "list": "deny"});
        for reason in [
            json!({"kind": "rule", "rule": entry}),
            json!({"kind": "covered", "rules": [{"rule": "Bash(b)"}, entry]}),
            json!({"kind": "never-asks", "because": {"kind": "rule", "rule": entry}}),
        ] {
            let got = json!({"verdict": "deny", "reason": reason});
            assert!(expected("Bash(a)").is_met_by(&got), "{got}");
            assert!(!expected("Bash(c)").is_met_by(&got), "{got}");
        }
    }

    #[test]
    fn a_failure_says_where_what_and_how() {
        let trace = json!([{"step": "3", "name": "fallback", "finding": "ask", "note": "nobody spoke"}]);
        let got = json!({"verdict": "ask", "step": "3", "message": "nobody spoke", "trace": trace});
        let shown = Failure { row: row(), got }.to_string();
        let expected = "p.md:7: `ls` | allow | 2b | reads\n  expected allow at 2b because `reads`\n  \
             got      ask at 3 because `nobody spoke`\n    3    fallback           ask    nobody spoke\n";
        assert_eq!(shown, expected);
    }
}

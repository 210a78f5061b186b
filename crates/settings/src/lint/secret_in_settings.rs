//! A secret in a settings file. The report never holds the secret.

use mayi_core::policy::Origin;

use crate::document::{Node, Value};
use crate::load::{Loaded, ReadDocument};
use crate::problem::{Code, Problem};
use crate::secret;

pub(super) fn check(loaded: &Loaded, found: &mut Vec<Problem>) {
    for read in &loaded.read {
        visit(read, read.document.root(), "", found);
    }
}

fn visit(read: &ReadDocument, node: &Node, name: &str, found: &mut Vec<Problem>) {
    match &node.value {
        Value::Text(text) => {
            if let Some(what) = what(text, name) {
                let origin = Origin {
                    layer: read.layer,
                    file: read.file.clone(),
                    line: node.place.line,
                    column: node.place.column,
                };
                let problem = Problem::new(Code::SecretInSettings, origin, format!("{what} stands here"));
                found.push(problem.fix("take it out, change it at its issuer, and keep it in a credential store"));
            }
        }
        Value::List(items) => items.iter().for_each(|item| visit(read, item, name, found)),
        Value::Object(members) => members.iter().for_each(|(name, value)| visit(read, value, &name.text, found)),
        Value::Null | Value::Flag(_) | Value::Number(_) => {}
    }
}

fn what(text: &str, name: &str) -> Option<&'static str> {
    let is_value = text.len() >= 8 && !text.contains(['$', ' ', '/', '<']);
    secret::find(text).map(|secret| secret.what).or((secret::is_secret_name(name) && is_value).then_some("a secret"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lint;
    use crate::load::{Flag, Given, of_values};
    use mayi_core::call::Workspace;

    #[test]
    fn a_secret_is_reported_by_its_place_and_nowhere_printed() {
        let token = format!("ghp_{}", "s3cr3tS3cr3t".repeat(3));
        let rule = format!("Bash(curl -H {token} x)");
        let text = format!(
            "{{\n \"permissions\": {{\"allow\": [\"{rule}\", \"{rule}\", \"Bash({token}\"], \"{token}\": 1}},\n \"env\": {{\"A\": \"{token}\"}}\n}}"
        );
        let given = Given { flags: vec![Flag::Inline(text)], ..Given::default() };
        let loaded = of_values(&[], &Workspace::at("/w"), &given);
        let found = lint::report(&loaded, lint::checks(&loaded));
        let secrets: Vec<_> = found.iter().filter(|problem| problem.code == Code::SecretInSettings).collect();
        assert_eq!(secrets.len(), 4);
        assert_eq!((secrets[3].origin.line, secrets[3].origin.column), (3, 15));
        for problem in &found {
            let json = serde_json::to_string(problem).unwrap();
            assert!(!format!("{problem} {json}").contains("s3cr3t"), "{problem}");
        }
    }
}

//! The findings as SARIF 2.1.0, for code hosts and editors that show them beside the line.

use mayi_core::policy::Origin;
use mayi_settings::lint::articles;
use mayi_settings::{Problem, Severity};
use serde_json::{Value as Json, json};

/// The log of one run.
pub fn sarif(problems: &[Problem]) -> Json {
    let codes: Vec<_> = articles().map(|article| article.code.word()).collect();
    let rules: Vec<Json> = articles()
        .map(|article| {
            let what = article.what.split_whitespace().collect::<Vec<_>>().join(" ");
            json!({
                "id": article.code.word(),
                "shortDescription": {"text": article.code.word().replace('-', " ")},
                "fullDescription": {"text": what},
                "help": {"text": article.fix, "markdown": article.page},
                "defaultConfiguration": {"level": level(article.code.severity())},
            })
        })
        .collect();
    let results: Vec<Json> = problems
        .iter()
        .map(|problem| {
            let index = codes.iter().position(|code| *code == problem.code.word());
            result(problem, index.unwrap_or_default())
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "mayi",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn result(problem: &Problem, index: usize) -> Json {
    let text = match &problem.fix {
        Some(fix) => format!("{}\nhelp: {fix}", problem.message),
        None => problem.message.clone(),
    };
    let related: Vec<Json> = problem
        .by
        .iter()
        .filter_map(|cause| {
            let mut place = location(&cause.origin)?;
            let named = format!("`{}` in {}", cause.rule, cause.list);
            place.as_object_mut()?.insert("message".to_owned(), json!({"text": named}));
            Some(place)
        })
        .collect();
    let mut result = json!({
        "ruleId": problem.code.word(),
        "ruleIndex": index,
        "level": level(problem.severity),
        "message": {"text": text},
        "locations": location(&problem.origin).into_iter().collect::<Vec<_>>(),
    });
    if let Some(members) = result.as_object_mut().filter(|_| !related.is_empty()) {
        members.insert("relatedLocations".to_owned(), Json::Array(related));
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Where it stands; `None` for what is no file.
fn location(origin: &Origin) -> Option<Json> {
    let file = origin.file.as_deref()?;
    let mut place = json!({"artifactLocation": {"uri": uri(file)}});
    if let Some(members) = place.as_object_mut().filter(|_| origin.line > 0) {
        let region = json!({"startLine": origin.line, "startColumn": origin.column.max(1)});
        members.insert("region".to_owned(), region);
    }
    Some(json!({ "physicalLocation": place }))
}

/// The file as a reference: relative as it is, absolute with its scheme.
fn uri(file: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    let mut uri = if file.starts_with('/') { "file://".to_owned() } else { String::new() };
    for byte in file.bytes() {
        match plain(byte) {
            true => uri.push(char::from(byte)),
            false => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

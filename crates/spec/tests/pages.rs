//! Every row of every page in `spec/` is a test, run through the batch format.

use std::fs;
use std::path::Path;

use mayi_engine::batch::Batch;
use mayi_spec::pages::{self, Row};
use serde_json::Value;

/// Where a row happens that names no directory.
const DIRECTORY: &str = "/w";

#[test]
fn every_row_of_every_page_holds() {
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    for (name, text) in pages_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec")) {
        let page = pages::read(&name, &text);
        rows.extend(page.rows);
        problems.extend(page.problems.iter().map(ToString::to_string));
    }
    assert!(problems.is_empty(), "pages that cannot be read:\n{}", problems.join("\n"));
    assert!(!rows.is_empty(), "no page has a row");
    let failures = run(&rows);
    eprintln!("{} rows, {} failures", rows.len(), failures.len());
    assert!(failures.is_empty(), "{} of {} rows fail\n\n{}", failures.len(), rows.len(), failures.join("\n"));
}

/// The one place where rows meet the engine.
fn run(rows: &[Row]) -> Vec<String> {
    let mut batch = Batch::new(DIRECTORY);
    let answer = |request: &Value| {
        let text = batch.answer(request.to_string());
        serde_json::from_str(&text).unwrap_or_else(|_| serde_json::json!({ "error": text }))
    };
    pages::run(rows, answer).iter().map(ToString::to_string).collect()
}

/// The pages below a folder, by name.
fn pages_of(folder: &Path) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    files.sort();
    let named = files.into_iter().map(|path| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        (format!("spec/{name}"), fs::read_to_string(&path).unwrap_or_default())
    });
    named.collect()
}

//! Tests in TOML: fields of the batch format that hold for all, then one table for each test.
//!
//! ```toml
//! mode = "default"
//!
//! [[test]]
//! call = "git push origin main"
//! verdict = "ask"
//! step = "1f"
//! rule = "Bash(git push:*)"
//!
//! [[test]]
//! tool = "Read"
//! input = { file_path = "/etc/shadow" }
//! verdict = "deny"
//! ```

use serde_json::{Map, Value};
use toml::Spanned;

use super::pages::{self, At, Expected, Problem, Row, call};

/// The tests of a sheet, and what cannot be read in it.
pub(super) fn read(name: &str, text: &str) -> (Vec<Row>, Vec<Problem>) {
    let problem = |line, what: String| Problem { at: pages::at(name, line), what };
    let sheet: Sheet = match toml::from_str(text) {
        Ok(sheet) => sheet,
        Err(error) => {
            let line = error.span().map_or(1, |span| line_of(text, span.start));
            return (Vec::new(), vec![problem(line, format!("this TOML cannot be read: {}", error.message()))]);
        }
    };
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    if let Some(unknown) = sheet.rest.keys().find(|key| !pages::FIELDS.contains(&key.as_str())) {
        let what = format!("`{unknown}` is no field of the batch format\nhelp: tests stand in [[test]] tables");
        problems.push(problem(1, what));
    }
    for test in sheet.test {
        let line = line_of(text, test.span().start);
        match row(test.into_inner(), &sheet.rest, pages::at(name, line)) {
            Ok(row) => rows.push(row),
            Err(what) => problems.push(problem(line, what)),
        }
    }
    (rows, problems)
}

#[derive(serde::Deserialize)]
struct Sheet {
    #[serde(default)]
    test: Vec<Spanned<Map<String, Value>>>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

fn line_of(text: &str, byte: usize) -> usize {
    text.bytes().take(byte).filter(|byte| *byte == b'\n').count() + 1
}

fn row(mut test: Map<String, Value>, defaults: &Map<String, Value>, at: At) -> Result<Row, String> {
    let mut take = |field: &str| match test.remove(field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(format!("`{field}` is no text but `{other}`")),
    };
    let expected = Expected {
        verdict: pages::verdict(&take("verdict")?.unwrap_or_default())?,
        step: take("step")?,
        because: take("because")?,
        rule: take("rule")?,
    };
    let (name, spelled, tool) = (take("name")?, take("call")?, take("tool")?);
    let input = test.remove("input");
    let (tool, input) = match (&spelled, tool, input) {
        (Some(call), None, None) => call::read(&format!("`{call}`"))?,
        (None, Some(tool), input) => (tool, input.unwrap_or_else(|| Value::Object(Map::new()))),
        _ => return Err("a test has a `call`, or a `tool` and its `input`".to_owned()),
    };
    if let Some(unknown) = test.keys().find(|key| !pages::FIELDS.contains(&key.as_str())) {
        return Err(format!("`{unknown}` is no field of a test"));
    }
    let text = name.or(spelled).unwrap_or_else(|| format!("{tool} {input}"));
    let mut request = defaults.clone();
    request.extend(test);
    for (field, value) in [("tool", Value::String(tool)), ("input", input), ("id", Value::String(at.to_string()))] {
        request.insert(field.to_owned(), value);
    }
    Ok(Row { at, text, request: Value::Object(request), expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_gives_rows_with_their_lines() {
        let text = "mode = \"plan\"\n\n[[test]]\ncall = \"ls -la\"\nverdict = \"allow\"\nrule = \"Bash(ls:*)\"\n\n\
                    [[test]]\nname = \"secrets\"\ntool = \"Read\"\ninput = { file_path = \"/x\" }\nverdict = \"deny\"\nmode = \"auto\"\n";
        let (rows, problems) = read("t.toml", text);
        assert_eq!(problems, []);
        assert_eq!(rows[0].request["input"]["command"], "ls -la");
        assert_eq!((rows[0].at.line, rows[0].request["mode"].as_str()), (3, Some("plan")));
        assert_eq!((rows[1].text.as_str(), rows[1].request["mode"].as_str()), ("secrets", Some("auto")));
    }

    #[track_caller]
    fn check_problem(text: &str, line: usize, part: &str) {
        let (rows, problems) = read("t.toml", text);
        assert_eq!(rows, []);
        let [problem] = problems.as_slice() else { panic!("{problems:?}") };
        assert_eq!(problem.at.line, line, "{problem}");
        assert!(problem.what.contains(part), "{problem}");
    }

    #[test]
    fn what_cannot_be_read_is_a_problem() {
        check_problem("x = [", 1, "cannot be read");
        check_problem("\n[[test]]\ncall = \"ls\"\nverdict = \"perhaps\"\n", 2, "no verdict");
        check_problem("[[test]]\ncall = \"ls\"\nverdict = \"ask\"\nmodus = 1\n", 1, "`modus`");
        check_problem("[[test]]\nverdict = \"ask\"\n", 1, "`call`");
        check_problem("tests = 1\n", 1, "`tests`");
    }
}

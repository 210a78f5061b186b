//! JUnit's XML, which every CI reads.

use std::fmt::Write as _;

use super::Outcome;

/// All outcomes as one document.
pub fn junit(outcomes: &[Outcome]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for outcome in outcomes {
        suite(outcome, &mut xml);
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// Writing to a string cannot fail.
fn suite(outcome: &Outcome, xml: &mut String) {
    let (name, tests) = (escaped(&outcome.name), outcome.tests.len() + outcome.problems.len());
    let (failures, errors) = (outcome.failures().count(), outcome.problems.len());
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"0\">"
    );
    for (row, failure) in &outcome.tests {
        let (test, line) = (escaped(&row.text), row.at.line);
        let head = format!("<testcase classname=\"{name}\" name=\"{test}\" file=\"{name}\" line=\"{line}\"");
        let _ = match failure {
            None => writeln!(xml, "    {head}/>"),
            Some(failure) => {
                let expected = escaped(&format!("expected {}", row.expected));
                let trace = escaped(&failure.to_string());
                writeln!(xml, "    {head}>\n      <failure message=\"{expected}\">{trace}</failure>\n    </testcase>")
            }
        };
    }
    for problem in &outcome.problems {
        let (what, line) = (escaped(&problem.what), problem.at.line);
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{name}\" name=\"line {line}\" file=\"{name}\" line=\"{line}\">\n      \
             <error message=\"{what}\"/>\n    </testcase>"
        );
    }
    xml.push_str("  </testsuite>\n");
}

/// Text as XML takes it. What XML has no way to write is left out.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            letter if letter.is_control() => safe.push('\u{fffd}'),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_ends_its_attribute() {
        assert_eq!(escaped("a\"<b>&\n\u{1}"), "a&quot;&lt;b&gt;&amp;&#10;\u{fffd}");
    }
}

//! What is said after a run, in words that an agent can act on: what was refused, why, and what would allow it.

use std::collections::BTreeMap;
use std::path::Path;

use mayi_sandbox::report::{Report, Violation};

/// Lines beyond this are counted only.
const LINES: usize = 20;

/// The words about a run; `None` when nothing was refused or removed, or settings silence it.
pub fn told(report: &Report, command: &str, silenced: &BTreeMap<String, Vec<String>>) -> Option<String> {
    let refused = report.violations.iter().map(refusal);
    let removed = report.scrubbed.iter().map(|path| removal(path));
    let lines: Vec<String> = refused.chain(removed).filter(|line| !is_silenced(line, command, silenced)).collect();
    if lines.is_empty() {
        return None;
    }
    let more = lines.len().saturating_sub(LINES) + report.more;
    let mut text = "mayi: this command ran confined, and was refused some of what it tried".to_owned();
    for line in lines.iter().take(LINES) {
        text = format!("{text}\n  {line}");
    }
    if more > 0 {
        text = format!("{text}\n  and {more} more");
    }
    Some(text)
}

/// One refusal: what, and what would allow it.
pub fn refusal(violation: &Violation) -> String {
    match violation {
        Violation::Write { path } => format!(
            "write {}: it is not writable inside; `sandbox.filesystem.allowWrite` or an `Edit` allow rule can open it, unless it is protected",
            path.display()
        ),
        Violation::Read { path } => {
            format!("read {}: it is hidden inside; `sandbox.filesystem.allowRead` can open it", path.display())
        }
        Violation::Connect { host, port, why } => {
            format!("connect {host}:{port}: {why}; `sandbox.network.allowedDomains` can allow the host")
        }
        Violation::UnixSocket { path } => {
            let path = path.as_deref().unwrap_or("a Unix socket");
            format!(
                "connect {path}: Unix sockets are closed inside; `sandbox.network.allowAllUnixSockets` opens them all"
            )
        }
        Violation::Call { name } => format!("system call {name}: no command may use it inside"),
    }
}

fn removal(path: &Path) -> String {
    let why = match path.file_name().is_some_and(|name| name == "commondir") {
        true => "it would have led git to another repository, whose hooks git runs",
        false => "it would have made the folder a bare git repository, whose hooks git runs",
    };
    format!("removed {}: {why}", path.display())
}

/// `ignoreViolations`: parts of commands, and for each the parts of reports that are not shown.
fn is_silenced(line: &str, command: &str, silenced: &BTreeMap<String, Vec<String>>) -> bool {
    let concerns = |part: &str| part == "*" || command.contains(part);
    silenced.iter().any(|(part, reports)| concerns(part) && reports.iter().any(|report| line.contains(report.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_sandbox::enforcement::{Enforcement, Mechanism};
    use mayi_sandbox::report::Ending;

    fn report(violations: Vec<Violation>) -> Report {
        Report {
            ending: Ending::Code(1),
            mechanism: Mechanism::Native,
            enforcement: Enforcement::Full,
            violations,
            more: 0,
            scrubbed: vec!["/p/HEAD".into()],
        }
    }

    #[test]
    fn only_what_settings_silence_is_not_said() {
        let host = Violation::Connect { host: "x.org".into(), port: 443, why: "not listed".into() };
        let report = report(vec![host, Violation::Write { path: "/etc/x".into() }]);
        let told = |silenced: &[(&str, &str)]| {
            let silenced = silenced.iter().map(|(part, line)| ((*part).to_owned(), vec![(*line).to_owned()])).collect();
            told(&report, "npm test", &silenced)
        };
        let all = told(&[]).unwrap();
        assert!(all.contains("connect x.org:443: not listed") && all.contains("write /etc/x"), "{all}");
        assert!(all.contains("removed /p/HEAD"), "{all}");
        assert!(!told(&[("npm", "x.org")]).unwrap().contains("x.org"));
        assert!(told(&[("cargo", "x.org")]).unwrap().contains("x.org"));
        assert_eq!(told(&[("*", "")]), None);
    }

    #[test]
    fn a_long_report_is_counted() {
        let writes = (0..30).map(|n| Violation::Write { path: format!("/x{n}").into() }).collect();
        let text = told(&report(writes), "x", &BTreeMap::new()).unwrap();
        assert!(text.ends_with("and 11 more"), "{text}");
    }
}

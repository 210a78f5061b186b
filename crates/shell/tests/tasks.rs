//! What task files bring in: their commands are listed like all others, and say how they got there.

use mayi_shell::command::{Analysis, Via};
use mayi_shell::observe::{Answer, Observations, Question};
use mayi_shell::{Context, analyse};

/// The analysis once every question is answered: these files are there, and nothing else.
fn settled(line: &str, files: &[(&str, &str)]) -> Analysis {
    let context = Context { directory: "/project".into(), home: Some("/home/u".into()) };
    let mut observations = Observations::default();
    for _ in 0..8 {
        let analysis = analyse(line, &context, &observations);
        let open: Vec<_> =
            analysis.questions.iter().filter(|question| observations.answer(question).is_none()).cloned().collect();
        if open.is_empty() {
            return analysis;
        }
        for question in open {
            let answer = match &question {
                Question::File(path) => files
                    .iter()
                    .find(|(name, _)| path == &format!("/project/{name}"))
                    .map_or(Answer::Absent, |(_, text)| Answer::Text((*text).to_string())),
                Question::Path(path) => Answer::Real(path.clone()),
                Question::Repository(_) => Answer::Configuration(Vec::new()),
                Question::Program(_) => Answer::System,
            };
            observations.insert(question, answer);
        }
    }
    unreachable!("`{line}` keeps asking");
}

/// The texts that were brought in, and how.
fn brought_in(analysis: &Analysis) -> Vec<(String, Via)> {
    let parent =
        |script: &mayi_shell::command::Script| Some((script.text.clone(), script.parent.as_ref()?.via.clone()));
    analysis.scripts.iter().filter_map(parent).collect()
}

#[test]
fn each_runner_brings_in_its_script() {
    for (line, name, file) in [
        ("npm run t", "package.json", r#"{"scripts": {"t": "ls src"}}"#),
        ("make t", "Makefile", "t:\n\tls src\n"),
        ("just t", "justfile", "t:\n  ls src\n"),
        ("mise run t", "mise.toml", "[tasks]\nt = 'ls src'\n"),
        ("deno task t", "deno.json", r#"{"tasks": {"t": "ls src"}}"#),
        ("composer run t", "composer.json", r#"{"scripts": {"t": "ls src"}}"#),
    ] {
        let analysis = settled(line, &[(name, file)]);
        let tool = line.split(' ').next().unwrap();
        assert_eq!(brought_in(&analysis), [("ls src".to_string(), Via::Task(format!("{tool} t")))], "{line}");
        assert_eq!(analysis.commands.len(), 2, "{line}");
        assert_eq!(analysis.is_reading(), tool != "composer", "{line}");
    }
}

#[test]
fn without_its_file_a_task_is_the_projects_code() {
    for line in ["npm run t", "make t", "just t", "mise run t", "deno task t", "composer run t"] {
        let analysis = settled(line, &[]);
        assert!(!analysis.is_reading() && brought_in(&analysis).is_empty(), "{line}");
    }
}

#[test]
fn hooks_and_arguments_count() {
    let package = r#"{"scripts": {"show": "ls -la", "built": "ls", "prebuilt": "rm -rf dist"}}"#;
    let files = [("package.json", package)];
    assert!(settled("npm run show", &files).is_reading());
    for line in ["npm run built", "npm run absent", "npm run show -- --flag", "npm run"] {
        assert_eq!(settled(line, &files).is_reading(), line == "npm run", "{line}");
    }
}

#[test]
fn a_program_ahead_of_the_systems_own_is_the_projects() {
    let package = ("package.json", r#"{"scripts": {"t": "timeout 5 ls"}}"#);
    assert!(settled("npm run t", &[package]).is_reading());
    assert!(!settled("npm run t", &[package, ("node_modules/.bin/ls", "x")]).is_reading());
    assert!(settled("ls", &[("node_modules/.bin/ls", "x")]).is_reading());
}

#[test]
fn tasks_that_need_each_other_many_times_over_end() {
    let level = |at: usize| format!("t{at}: t{0} t{0} t{0} t{0}\n  ls\n", at + 1);
    let text: String = (0..40).map(level).chain(["t40:\n  ls\n".to_string()]).collect();
    assert!(settled("just t0", &[("justfile", &text)]).is_reading());
    let make = text.replace("  ls", "\tls");
    assert!(settled("make t0", &[("Makefile", &make)]).is_reading());
    let many = format!("t:\n{}", "  ls\n".repeat(500));
    assert!(!settled("just t", &[("justfile", &many)]).is_reading());
}

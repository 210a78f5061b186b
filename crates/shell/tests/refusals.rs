//! What must never be taken for mere reading, each with its reason; and the harmless neighbours that must be.

use mayi_shell::command::Analysis;
use mayi_shell::effect::{Act, Executes, Place};
use mayi_shell::observe::{Answer, Observations, Question};
use mayi_shell::{Context, analyse};

fn context() -> Context {
    Context { directory: "/project".into(), home: Some("/home/me".into()) }
}

fn read(text: &str) -> Analysis {
    analyse(text, &context(), &Observations::default())
}

fn assert_refused(lines: &[&str]) {
    let wrong: Vec<&&str> = lines.iter().filter(|line| read(line).is_reading()).collect();
    assert!(wrong.is_empty(), "taken for reading: {wrong:#?}");
}

fn assert_reading(lines: &[&str]) {
    for line in lines {
        let analysis = read(line);
        let acts: Vec<_> = analysis.commands.iter().flat_map(|command| &command.effects).collect();
        assert!(analysis.is_reading(), "{line}: {acts:?} {:?}", analysis.opaque);
    }
}

#[test]
fn neighbours_of_harmless_commands() {
    let lines: Vec<&str> = include_str!("refused.txt").lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.len() > 300);
    assert_refused(&lines);
}

#[test]
fn places_outside_are_named() {
    let outside = |act: &Act| {
        let (Act::Lists(Place::Path(path)) | Act::Reads(Place::Path(path))) = act else { return false };
        !path.starts_with("/project")
    };
    for line in include_str!("outside.txt").lines().filter(|line| !line.starts_with('#')) {
        let analysis = read(line);
        let acts: Vec<_> = analysis.commands.iter().flat_map(|command| &command.effects).collect();
        assert!(acts.iter().any(|effect| outside(&effect.act)), "{line}: {acts:?}");
    }
}

#[test]
fn special_variables() {
    assert_refused(&[
        "PATH=. ls",
        "IFS=x; ls",
        "LD_PRELOAD=./x ls",
        "DYLD_INSERT_LIBRARIES=x ls",
        "BASH_ENV=x bash -c ls",
        "ENV=x sh -c ls",
        "PROMPT_COMMAND=id",
        "PS4='$(id)' ls",
        "GIT_SSH_COMMAND=x git status",
        "GIT_EXTERNAL_DIFF=x git diff",
        "PAGER=./x git log",
        "LESSOPEN='|x %s' less f",
        "EDITOR=x git log",
        "BROWSER=x ls",
        "PYTHONPATH=. ls",
        "PERL5OPT=-Mx ls",
        "NODE_OPTIONS=-rx ls",
        "FOO=1 ls",
        "export PAGER=sh",
        "env PATH=. ls",
        "declare -x LD_PRELOAD=x",
    ]);
    assert_reading(&[
        "LANG=C ls",
        "LC_ALL=C sort f",
        "TZ=UTC date",
        "NO_COLOR=1 ls",
        "GIT_PAGER=cat git log",
        "PAGER=cat git diff",
        "x=1; echo $x",
    ]);
}

#[test]
fn globs_and_variables_that_could_become_flags() {
    assert_refused(&[
        "sort *.txt",
        "find . -name *.x",
        "git diff *",
        "rg $x",
        "sort $f",
        "git log $x",
        "tree *",
        "sort \"$f\"",
    ]);
    assert_reading(&[
        "ls *.ts",
        "wc -l src/*.py",
        "grep foo *.log",
        "cat \"$f\"",
        "sort src/*.txt",
        "git log -- src/*.rs",
    ]);
}

#[test]
fn directories() {
    assert_refused(&[
        "cd other && git status",
        "cd sub && ls > out.txt",
        "git -C /elsewhere status",
        "cd $x && git log",
    ]);
    assert_reading(&[
        "cd . && git status",
        "cd /project && git log",
        "cd lib && ls -a",
        "cd app; grep -r p . 2>/dev/null",
        "git -C . status",
    ]);
}

#[test]
fn redirections() {
    assert_refused(&[
        "ls > out",
        "ls >> out",
        "ls 2> err",
        "ls &> x",
        "ls >| x",
        "ls <> x",
        "echo x > /dev/tcp/h/80",
        "cat < /dev/tcp/h/80",
        ": > f",
        "> f",
    ]);
    assert_reading(&[
        "ls -a 2>/dev/null",
        "ls > /dev/null 2>&1",
        "ls >&2",
        "wc -l < f",
        "cat <<'E'\n$(id)\nE\n",
        "cat <<< hi",
    ]);
}

#[test]
fn spelling() {
    assert_refused(&[
        "ls \\-la",
        "\u{441}at f",
        "\u{e9}cho hi",
        "./ls",
        "bin/grep x",
        "/tmp/cat f",
        "/proc/self/root/bin/ls",
        "$x",
        "$(echo ls)",
        "find lib -ex\\ec id",
    ]);
    assert_reading(&["/bin/ls -la", "/usr/bin/git status", "\"ls\" -la"]);
}

#[test]
fn evaluation() {
    assert_refused(&[
        "echo $((a[$(id)]))",
        "[[ -v a[$(id)] ]]",
        "printf -v 'a[$(id)]' x",
        "test -v 'a[$(id)]'",
        "echo ${x@P}",
        "unset 'a[$(id)]'",
        "let 'x=a[$(id)]'",
        "read 'a[$(id)]'",
        "eval \"$x\"",
        "source f",
        ". f",
        "trap \"$x\" EXIT",
        "alias ls=rm",
    ]);
}

#[test]
fn long_text_is_never_reading() {
    let long = format!("echo {}", "a".repeat(10_001));
    assert!(!read(&long).is_reading());
}

#[test]
fn secrets() {
    assert_refused(&[
        "env | grep -i secret",
        "printenv AWS_SECRET_ACCESS_KEY",
        "set | grep -i credential",
        "gh auth token",
        "gpg --export-secret-keys",
        "kubectl config view --raw --minify",
    ]);
    assert_reading(&["env | grep GOROOT", "printenv PATH", "env"]);
}

#[test]
fn a_repository_that_names_programs_is_not_read_freely() {
    let question = Question::Repository("/project".into());
    assert_eq!(read("git status").questions, std::slice::from_ref(&question));
    let mut observations = Observations::default();
    observations.insert(question, Answer::Configuration(vec![("core.fsmonitor".into(), "./x".into())]));
    let analysis = analyse("git status", &context(), &observations);
    assert!(!analysis.is_reading());
    assert!(analysis.questions.is_empty());
}

#[test]
fn git_aliases_are_followed() {
    let mut observations = Observations::default();
    let keys = vec![("alias.st".into(), "status -sb".into()), ("alias.x".into(), "!rm -rf build".into())];
    observations.insert(Question::Repository("/project".into()), Answer::Configuration(keys));
    assert!(analyse("git st", &context(), &observations).is_reading());
    let analysis = analyse("git x", &context(), &observations);
    let removes =
        |command: &mayi_shell::command::Command| command.effects.iter().any(|e| matches!(e.act, Act::Removes { .. }));
    assert!(analysis.commands.iter().any(removes));
    assert!(!analyse("git unheard", &context(), &observations).is_reading());
}

#[test]
fn script_files_are_followed_when_they_are_shell() {
    let mut observations = Observations::default();
    observations.insert(Question::File("/project/a.sh".into()), Answer::Text("#!/bin/sh\nls -la\n".into()));
    observations.insert(Question::File("/project/b.sh".into()), Answer::Text("#!/usr/bin/python3\nprint(1)\n".into()));
    for line in ["./a.sh", "bash a.sh", "source a.sh"] {
        assert!(analyse(line, &context(), &observations).is_reading(), "{line}");
    }
    assert!(!analyse("./b.sh", &context(), &observations).is_reading());
    let analysis = read("./a.sh");
    let file = |effect: &mayi_shell::effect::Effect| matches!(effect.act, Act::Executes(Executes::File(_)));
    assert!(analysis.commands.iter().any(|command| command.effects.iter().any(file)));
}

#[test]
fn a_planted_program_is_not_the_system_s() {
    let mut observations = Observations::default();
    observations.insert(Question::Program("ls".into()), Answer::Planted("/project/bin/ls".into()));
    assert!(!analyse("ls -la", &context(), &observations).is_reading());
    observations.insert(Question::Program("ls".into()), Answer::System);
    assert!(analyse("ls -la", &context(), &observations).is_reading());
}

#[test]
fn outputs_that_are_one_plain_word_cannot_become_flags() {
    assert_reading(&["sort /tmp/x$(nproc)", "git log $(git rev-parse HEAD)", "sort \"$(pwd)/a\""]);
    assert_refused(&["sort $(cat f)", "sort $(pwd)", "git log $(cat f)"]);
}

#[test]
fn tools_that_run_the_project_say_so_once() {
    for line in [
        "pytest -x -k foo tests",
        "eslint --fix src",
        "mvn -q test",
        "python -m pytest -v",
        "cargo test -- --nocapture",
        "make -j$(nproc) all",
    ] {
        let analysis = read(line);
        let acts: Vec<_> = analysis.commands.iter().flat_map(|command| &command.effects).collect();
        assert!(
            acts.iter().any(|effect| matches!(effect.act, Act::Executes(Executes::Project(_)))),
            "{line}: {acts:?}"
        );
        assert!(!acts.iter().any(|effect| matches!(effect.act, Act::Unknown(_))), "{line}: {acts:?}");
    }
}

//! The observer of the real machine, on real folders: links in every shape, files that cannot or must not be read,
//! planted programs, repositories. Whatever cannot be found out is unknown, and nothing keeps it waiting.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use mayi_engine::observe::{Machine, Observer};
use mayi_shell::observe::{Answer, Question};
use tempfile::TempDir;

struct World {
    folder: TempDir,
    root: PathBuf,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["w/src", "outside"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        Self { folder, root }
    }

    fn path(&self, name: &str) -> String {
        assert!(self.folder.path().exists());
        self.root.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.root.join(name).parent().unwrap()).unwrap();
        fs::write(self.root.join(name), text).unwrap();
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.root.join(name)).unwrap();
    }

    fn real(&self, name: &str) -> Answer {
        let question = Question::Path(self.path(name));
        let seen = Machine::default().look(&question);
        // Whoever remembers what is no link sees the same, the second time too.
        let remembering = Machine::for_one_decision(Vec::new(), "".as_ref());
        assert_eq!([remembering.look(&question), remembering.look(&question)], [seen.clone(), seen.clone()], "{name}");
        seen
    }

    fn text(&self, name: &str) -> Answer {
        Machine::default().look(&Question::File(self.path(name)))
    }

    fn keys(&self, name: &str) -> Vec<String> {
        let answer = Machine::default().look(&Question::Repository(self.path(name)));
        let Answer::Configuration(keys) = answer else { panic!("{answer:?}") };
        keys.into_iter().map(|(key, _)| key).collect()
    }

    fn at(&self, name: &str) -> Answer {
        Answer::Real(self.path(name))
    }
}

#[test]
fn a_path_without_links_is_itself_whether_it_exists_or_not() {
    let world = World::new();
    world.write("w/a", "");
    for name in ["w/a", "w/src", "w/new", "w/new/deeper/file"] {
        assert_eq!(world.real(name), world.at(name), "{name}");
    }
}

#[test]
fn links_are_followed_also_on_the_way_to_what_does_not_exist() {
    let world = World::new();
    world.link("w/out", "../outside");
    world.write("outside/here", "");
    assert_eq!(world.real("w/out/here"), world.at("outside/here"));
    assert_eq!(world.real("w/out/new"), world.at("outside/new"));
}

#[test]
fn a_dangling_link_leads_to_what_would_be_made() {
    let world = World::new();
    world.link("w/dangling", &world.path("outside/new"));
    assert_eq!(world.real("w/dangling"), world.at("outside/new"));
    assert_eq!(world.real("w/dangling/below"), world.at("outside/new/below"));
}

#[test]
fn a_dangling_link_over_another_link_leads_out_all_the_same() {
    let world = World::new();
    world.link("w/folder", "../outside");
    world.link("w/chain", "folder/new");
    world.link("w/longer", "chain");
    assert_eq!(world.real("w/chain"), world.at("outside/new"));
    assert_eq!(world.real("w/longer"), world.at("outside/new"));
}

#[test]
fn a_dangling_link_is_relative_to_the_folder_it_really_is_in() {
    let world = World::new();
    fs::create_dir_all(world.root.join("outside/deep")).unwrap();
    world.link("w/folder", "../outside/deep");
    world.link("outside/deep/up", "../new");
    assert_eq!(world.real("w/folder/up"), world.at("outside/new"));
}

#[test]
fn a_loop_of_links_is_a_loop() {
    let world = World::new();
    world.link("w/a", "b");
    world.link("w/b", "a");
    world.link("w/self", "self");
    for name in ["w/a", "w/b/below", "w/self"] {
        assert_eq!(world.real(name), Answer::Loop, "{name}");
    }
}

#[test]
fn what_is_below_a_file_is_unknown() {
    let world = World::new();
    world.write("w/file", "");
    assert_eq!(world.real("w/file/below"), Answer::Unknown);
    assert_eq!(Machine::default().look(&Question::Path("/w/a\0b".to_owned())), Answer::Unknown);
}

#[test]
fn small_files_are_read_and_everything_else_is_not() {
    let world = World::new();
    world.write("w/Makefile", "all:\n\techo ä\n");
    world.write("w/big", vec![b'x'; 256 * 1024 + 1]);
    world.write("w/bytes", [0xff, 0xfe]);
    world.link("w/a", "a");
    assert_eq!(world.text("w/Makefile"), Answer::Text("all:\n\techo ä\n".to_owned()));
    assert_eq!(world.text("w/none"), Answer::Absent);
    for name in ["w/big", "w/bytes", "w/src", "w/a", "w/Makefile/below"] {
        assert_eq!(world.text(name), Answer::Unknown, "{name}");
    }
}

#[test]
fn a_file_that_may_not_be_read_is_unknown() {
    let world = World::new();
    world.write("w/secret", "x");
    fs::set_permissions(world.root.join("w/secret"), Permissions::from_mode(0o000)).unwrap();
    // The superuser may read everything, so the answer depends on who runs the test.
    let may_read = fs::read(world.root.join("w/secret")).is_ok();
    let expected = if may_read { Answer::Text("x".to_owned()) } else { Answer::Unknown };
    assert_eq!(world.text("w/secret"), expected);
}

#[test]
fn a_pipe_does_not_keep_anybody_waiting() {
    let world = World::new();
    assert!(Command::new("mkfifo").arg(world.root.join("w/pipe")).status().unwrap().success());
    world.link("w/link", "pipe");
    assert_eq!(world.text("w/pipe"), Answer::Unknown);
    assert_eq!(world.text("w/link"), Answer::Unknown);
    fs::create_dir(world.root.join("w/.git")).unwrap();
    world.link("w/.git/config", "../pipe");
    assert_eq!(Machine::default().look(&Question::Repository(world.path("w"))), Answer::Unknown);
}

fn planted(world: &World, search: &[&str]) -> Answer {
    let search: Vec<OsString> = search.iter().map(|name| world.root.join(name).into()).collect();
    let search = std::env::join_paths(search).unwrap();
    let question = Question::Program("tool".to_owned());
    let (writable, once) = (vec![world.path("w")], vec![world.path("w")]);
    let answer = Machine::new(writable, &search).look(&question);
    // What a decision remembers of a look changes nothing.
    let machine = Machine::for_one_decision(once, &search);
    assert_eq!([machine.look(&question), machine.look(&question)], [answer.clone(), answer.clone()]);
    answer
}

#[test]
fn a_program_in_the_project_is_planted_and_the_first_on_the_path_counts() {
    let world = World::new();
    world.write("w/bin/tool", "");
    world.write("outside/bin/tool", "");
    assert_eq!(planted(&world, &["w/bin", "outside/bin"]), Answer::Planted(world.path("w/bin/tool")));
    assert_eq!(planted(&world, &["outside/bin", "w/bin"]), Answer::System);
    assert_eq!(planted(&world, &["outside"]), Answer::Absent);
}

#[test]
fn a_program_that_links_into_the_project_is_planted() {
    let world = World::new();
    world.write("w/bin/tool", "");
    fs::create_dir(world.root.join("outside/bin")).unwrap();
    world.link("outside/bin/tool", "../../w/bin/tool");
    assert_eq!(planted(&world, &["outside/bin"]), Answer::Planted(world.path("w/bin/tool")));
    // The folder may be the link, and the file in it none.
    world.link("outside/link", "../w/bin");
    assert_eq!(planted(&world, &["outside/link"]), Answer::Planted(world.path("w/bin/tool")));
    // A link that leads nowhere is no program.
    fs::remove_file(world.root.join("w/bin/tool")).unwrap();
    assert_eq!(planted(&world, &["outside/bin"]), Answer::Absent);
}

#[test]
fn a_relative_path_entry_starts_in_the_working_directory() {
    let world = World::new();
    world.write("w/tool", "");
    for search in ["", ".", "./"] {
        let machine = Machine::new(vec![world.path("w")], search.as_ref());
        let answer = machine.look(&Question::Program("tool".to_owned()));
        // Nothing at all in the variable is no entry for some systems, and the working directory for others.
        let expected = [Answer::Planted(world.path("w/tool")), Answer::Absent];
        assert!(
            expected.contains(&answer) && (search.is_empty() || answer != Answer::Absent),
            "{search:?}: {answer:?}"
        );
    }
}

#[test]
fn a_repository_is_found_above_and_its_programs_are_named() {
    let world = World::new();
    world.write("w/.git/config", "[core]\n\tbare = false\n\tfsmonitor = ./evil\n");
    assert_eq!(world.keys("w/src"), ["core.fsmonitor"]);
    assert_eq!(world.keys("outside"), [""; 0]);
}

#[test]
fn a_work_tree_points_to_its_repository() {
    let world = World::new();
    world.write("repo/.git/config", "[core]\n\tpager = ./evil\n");
    world.write("repo/.git/worktrees/w/commondir", "../..\n");
    world.write("w/.git", format!("gitdir: {}\n", world.path("repo/.git/worktrees/w")));
    assert_eq!(world.keys("w/src"), ["core.pager"]);
    world.write("w/.git", "gitdir: ../nowhere\n");
    assert_eq!(Machine::default().look(&Question::Repository(world.path("w"))), Answer::Unknown);
}

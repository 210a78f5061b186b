//! From what the kernel leaves in a layer to changes.

use super::*;

#[test]
fn what_a_command_does_is_what_is_shown() {
    for (script, expected) in [
        (":", &[][..]),
        ("cat one > /dev/null; ls -R > /dev/null", &[]),
        ("echo new > new", &["added new"]),
        ("echo more >> one", &["modified one"]),
        ("echo x > x; mv x one", &["modified one"]),
        ("rm one", &["deleted one"]),
        ("rm -r folder", &["deleted folder"]),
        ("rm folder/a", &["deleted folder/a"]),
        ("mkdir -p new/deep; echo x > new/deep/x", &["added new", "added new/deep", "added new/deep/x"]),
        ("chmod 600 one", &["mode one"]),
        ("chmod 700 folder", &["mode folder"]),
        ("chmod 700 .", &["mode "]),
        ("chmod 600 one; echo more >> one", &["modified one"]),
        ("mv one uno", &["deleted one", "added uno"]),
        (
            "mv folder renamed",
            &[
                "deleted folder",
                "added renamed",
                "added renamed/a",
                "added renamed/inner",
                "added renamed/inner/b",
                "added renamed/two-again",
            ],
        ),
        (
            "rm -r folder; mkdir folder; echo n > folder/n",
            &["deleted folder/a", "deleted folder/inner", "deleted folder/two-again", "added folder/n"],
        ),
        ("rm -r folder; mkdir folder; echo a > folder/a", &["deleted folder/inner", "deleted folder/two-again"]),
        ("rm one; mkdir one; echo x > one/x", &["type one", "added one/x"]),
        ("rm -r folder; echo x > folder", &["type folder"]),
        ("rm one; ln -s two one", &["type one"]),
        ("rm link; echo x > link", &["type link"]),
        ("ln -sf two link", &["modified link"]),
        ("ln -s /etc/passwd outside", &["added outside"]),
        ("ln one uno", &["added uno"]),
        ("rmdir empty", &["deleted empty"]),
        ("mkfifo pipe", &["added pipe withheld"]),
    ] {
        let world = World::furnished();
        let before = picture(&world.work());
        let preview = world.preview(script);
        assert_eq!(told(&preview), expected, "{script}");
        assert_eq!(picture(&world.work()), before, "{script}: a preview touches nothing");
    }
}

#[test]
fn copies_that_nobody_changed_are_not_shown() {
    for script in [
        "touch one",
        "chmod 600 one; chmod 644 one",
        "echo one > one",
        "echo x > x; rm x",
        "mv one uno; mv uno one",
        "rm one; echo one > one; chmod 644 one",
        "mkdir new; rmdir new",
        "chown $(id -u) folder",
    ] {
        let world = World::furnished();
        sh(&world.work(), "chmod 644 one");
        assert_eq!(told(&world.preview(script)), [""; 0], "{script}");
    }
}

#[test]
fn text_is_shown_as_a_diff_and_the_rest_is_summarised() {
    let world = World::furnished();
    world.write("text", "a\nb\nc\n");
    let script = "sed -i s/b/B/ text; printf 'a\\0b' > bytes; head -c 600000 /dev/zero | tr '\\0' x > big";
    let preview = world.preview(script);
    let text = preview.shown().unwrap().to_string();
    assert!(text.contains("\n-b\n+B\n"), "{text}");
    assert!(text.contains("bytes  binary, 3 bytes, sha256 59b271ae1bbc…"), "{text}");
    assert!(text.contains("big  large, 600000 bytes, sha256 "), "{text}");
}

#[test]
fn nothing_of_a_name_or_a_file_commands_the_terminal() {
    let world = World::new();
    let script = "printf 'x\\033[2Jy\\n' > $'a\\033]0;owned\\a\\nb'; ln -s $'\\033[1m' l; mkdir $'\\377'";
    let preview = world.preview(script);
    let set = preview.shown().unwrap();
    let text = set.to_string();
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()), "{text:?}");
    assert!(text.contains("a\\u{1b}]0;owned\\u{7}\\nb"), "{text}");
    assert!(text.contains("+x\\u{1b}[2Jy"), "{text}");
    assert!(text.contains("\\xff/"), "{text}");
    assert!(set.json().to_string().chars().all(|letter| !letter.is_control()));
}

#[test]
fn a_program_reads_the_same_as_json() {
    let world = World::furnished();
    let mut plan = world.plan();
    let mut preview = Preview::prepare(&mut plan, "x", &world.previews()).unwrap();
    run_over(&preview, "echo more >> one; chmod 755 run.sh; rm -r folder");
    let mut told = report(3);
    told.violations.push(Violation::Write { path: PathBuf::from("/etc/hosts") });
    let json = preview.changes(&told).unwrap().json();
    assert_eq!(json["exit_code"], 3);
    assert_eq!(json["changes"][1]["change"], "modified");
    assert_eq!(json["changes"][1]["path"], world.work().join("one").to_str().unwrap());
    assert_eq!(json["changes"][1]["lines_added"], 1);
    assert_eq!(json["changes"][0]["entries"], 4);
    assert_eq!(json["changes"][2]["after"]["mode"], "755");
    assert_eq!(json["refused"][0]["path"], "/etc/hosts");
    assert!(preview.shown().unwrap().to_string().contains("the command was refused:\n  to write /etc/hosts"));
}

#[test]
fn attributes_that_a_command_sets_are_not_taken_for_the_kernels() {
    let world = World::furnished();
    let script = "python3 -c \"
import os
os.mkdir('fake'); open('fake/x', 'w').close(); open('zero', 'w').close()
for name, value in [('opaque', b'y'), ('whiteout', b'y'), ('redirect', b'/etc'), ('metacopy', b'')]:
    for path in ['fake', 'zero', 'folder']:
        try: os.setxattr(path, 'user.overlay.' + name, value)
        except OSError: pass
\"";
    assert_eq!(told(&world.preview(script)), ["added fake", "added fake/x", "added zero"]);
}

#[test]
fn modes_that_shut_a_file_do_not_hide_it() {
    let world = World::furnished();
    let script = "mkdir shut; echo x > shut/x; chmod 0 shut/x; chmod 0 shut; chmod 0 folder; chmod 200 one";
    let mut preview = world.preview(script);
    let expected = ["mode folder", "mode one", "added shut", "added shut/x"];
    assert_eq!(told(&preview), expected);
    preview.changes(&report(0)).unwrap();
    assert_eq!(told(&preview), expected, "looking changes nothing");
}

#[test]
fn a_vast_file_of_nothing_is_told_at_once() {
    let world = World::new();
    let preview = world.preview("truncate -s 2T vast; echo end >> vast");
    assert!(preview.shown().unwrap().to_string().contains("vast  large, 2199023255556 bytes"));
    preview.apply().unwrap();
    let metadata = world.work().join("vast").metadata().unwrap();
    assert_eq!(metadata.len(), 2_199_023_255_556);
    assert!(metadata.blocks() < 1000, "it is still mostly holes");
}

//! The pictures of a terminal in the book and in the README are what the program prints. `MAYI_BLESS=1` draws them.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../support/mod.rs"]
mod support;
mod svg;

use std::path::Path;

use support::World;

/// A picture: the files that are there, what was done before, and what is typed.
struct Scene {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    before: &'static str,
    typed: &'static str,
}

const POLICY: &str = r#"{
  "permissions": {
    "allow": ["Bash(npm test:*)", "Bash(curl:*)"],
    "ask": ["Bash(npm publish:*)"],
    "deny": ["Bash(npm:*)", "Read(./.env)"]
  }
}
"#;

const BETTER: &str = r#"{
  "permissions": {
    "allow": ["Bash(npm test:*)"],
    "ask": ["Bash(npm publish:*)"],
    "deny": ["Read(./.env)", "WebFetch(domain:pastebin.example)"]
  }
}
"#;

/// What an agent asks before a push, and a rule that stops it.
const ASKED: &str = r#"printf '{"session_id":"s","hook_event_name":"PreToolUse","cwd":"%s","permission_mode":"default","tool_name":"Bash","tool_use_id":"1","tool_input":{"command":"%s"}}' "$PWD" 'git push' | mayi hook claude-code > answer.json"#;

const SCENES: [Scene; 5] = [
    Scene { name: "check", files: &[], before: "true", typed: "mayi check 'git push --force origin main'" },
    Scene {
        name: "lint",
        files: &[("policy.json", POLICY)],
        before: "true",
        typed: "mayi lint --settings policy.json",
    },
    Scene {
        name: "diff",
        files: &[("policy.json", POLICY), ("better.json", BETTER)],
        before: "true",
        typed: "mayi diff policy.json better.json",
    },
    Scene {
        name: "why",
        files: &[(".claude/settings.json", "{\n  \"permissions\": {\n    \"deny\": [\"Bash(git push:*)\"]\n  }\n}\n")],
        before: ASKED,
        typed: "mayi why",
    },
    Scene { name: "plan", files: &[], before: "true", typed: "mayi run --plan -- npm test | head -22" },
];

#[test]
fn every_picture_is_what_the_program_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images");
    let mut stale = Vec::new();
    for scene in &SCENES {
        let file = folder.join(format!("{}.svg", scene.name));
        let picture = svg::drawn(scene.typed, &answer(scene));
        if std::env::var_os("MAYI_BLESS").is_some() {
            std::fs::write(&file, picture).unwrap();
        } else if std::fs::read_to_string(&file).unwrap_or_default() != picture {
            stale.push(format!("docs/images/{}.svg", scene.name));
        }
    }
    assert!(stale.is_empty(), "{stale:?} are old\nhelp: MAYI_BLESS=1 cargo test -p mayi --test pictures");
}

#[test]
fn every_picture_is_shown_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = [
        "README.md",
        "docs/README.md",
        "docs/workbench.md",
        "docs/sandbox.md",
        "docs/server.md",
        "docs/start/person.md",
    ];
    let shown: String = pages.iter().map(|page| std::fs::read_to_string(root.join(page)).unwrap()).collect();
    for entry in std::fs::read_dir(root.join("docs/images")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(shown.contains(&format!("images/{name})")), "no page shows {name}");
    }
}

fn answer(scene: &Scene) -> String {
    let world = World::drawn();
    for (name, text) in scene.files {
        world.write(name, text);
    }
    let said = world.shell(&format!("{} || exit 9\nexport CLICOLOR_FORCE=1\n{}", scene.before, scene.typed));
    assert!(![1, 2, 9].contains(&said.code) || scene.name == "lint", "{}: {}", scene.name, said.out);
    let homely = said.out.replace("[ROOT]", support::DRAWN);
    homely.lines().map(timeless).collect::<Vec<_>>().join("\n")
}

/// The time of a record and its name, which comes from what is in it, differ each time.
fn timeless(line: &str) -> String {
    let Some((_, rest)) = line.split_once("  mode default  in ") else { return line.to_owned() };
    format!("  \u{1b}[2m2026-03-02 09:14:07  8d20c1f7ab  mode default  in {rest}")
}

//! The made pages of the book, compared with what is in `docs/reference`. `UPDATE=1` writes them instead.

use std::path::Path;
use std::{env, fs};

#[test]
fn the_made_pages_say_what_the_code_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference");
    for (name, now) in mayi_spec::book::made() {
        let file = folder.join(name);
        if env::var_os("UPDATE").is_some_and(|value| value == "1") {
            fs::write(&file, now).unwrap();
            continue;
        }
        let then = fs::read_to_string(&file).unwrap_or_default();
        let differs = now.lines().find(|line| !then.lines().any(|old| old == *line));
        assert!(
            then == now,
            "docs/reference/{name} is old: {differs:?}\nhelp: UPDATE=1 cargo test -p mayi-spec --test book"
        );
    }
}

#[test]
fn every_chapter_of_the_book_is_there_and_every_page_is_a_chapter() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let summary = fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let chapters: Vec<&str> = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    for chapter in &chapters {
        assert!(docs.join(chapter).is_file(), "the chapter `{chapter}` is missing");
    }
    for folder in ["", "start", "reference", "benchmarks", "decisions"] {
        for entry in fs::read_dir(docs.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(&docs).unwrap().to_string_lossy().into_owned();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                assert!(chapters.contains(&name.as_str()), "`{name}` is no chapter of SUMMARY.md");
            }
        }
    }
}

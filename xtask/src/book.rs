//! `cargo xtask book`: the book, built by the real mdBook, and every link in what came out of it followed.
//!
//! A warning, a page that SUMMARY.md does not name and a link that leads nowhere are failures. Where mdBook cannot be had,
//! that is said loudly and never counted as passed. Nothing is asked of any network but the registry of crates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::real::{Installed, report, target};
use crate::run::root;

/// Pinned: a new version is a change somebody looks at.
const MDBOOK: &str = "0.5.4";

/// Where links out of the book lead: files of this repository, as it is published.
const PUBLISHED: [&str; 2] =
    ["https://github.com/mayi-engine/mayi/blob/main/", "https://github.com/mayi-engine/mayi/tree/main/"];

/// What cargo says when the registry cannot be reached.
const OUT_OF_REACH: [&str; 6] =
    ["Could not resolve", "Couldn't connect", "Could not connect", "spurious network error", "offline", "timed out"];

/// Builds the book and looks through it.
pub(crate) fn book() -> Result<()> {
    match installed()? {
        Installed::Ready => {
            let out = built()?;
            check(&root().join("docs"), &out)?;
            eprintln!("book: {}", out.join("index.html").display());
            Ok(())
        }
        Installed::Unavailable(why) => report("BOOK", &[format!("mdbook ({why})")]),
    }
}

fn prefix() -> PathBuf {
    target().join("tools")
}

fn mdbook() -> PathBuf {
    prefix().join("bin/mdbook")
}

/// Makes mdBook available, built quickly rather than to be quick: it runs for a second.
fn installed() -> Result<Installed> {
    let version = Command::new(mdbook()).arg("--version").output();
    if version.is_ok_and(|version| String::from_utf8_lossy(&version.stdout).trim() == format!("mdbook v{MDBOOK}")) {
        return Ok(Installed::Ready);
    }
    let words = ["install", "mdbook", "--version", MDBOOK, "--locked", "--no-default-features", "--debug", "--force"];
    eprintln!("+ cargo {}", words.join(" "));
    let output = Command::new("cargo")
        .args(words)
        .arg("--root")
        .arg(prefix())
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .current_dir(root())
        .output()
        .context("cannot run `cargo install`")?;
    if output.status.success() {
        return Ok(Installed::Ready);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    if OUT_OF_REACH.iter().any(|words| said.contains(words)) {
        return Ok(Installed::Unavailable("the registry of crates cannot be reached".to_owned()));
    }
    bail!("`cargo install mdbook` failed: {}", said.trim())
}

/// Builds it, and says where it is.
fn built() -> Result<PathBuf> {
    let out = target().join("book");
    eprintln!("+ mdbook build docs");
    let mut command = Command::new(mdbook());
    // Whoever set these for something else would change what is built, or hide a warning.
    for name in ["RUST_LOG", "MDBOOK_LOG"] {
        command.env_remove(name);
    }
    let output = command.args(["build", "docs", "--dest-dir"]).arg(&out).current_dir(root()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    let is_complaint = |line: &&str| line.split_whitespace().any(|word| word == "WARN" || word == "ERROR");
    let complaints: Vec<&str> = said.lines().filter(is_complaint).collect();
    if !output.status.success() || !complaints.is_empty() {
        bail!("mdbook complains:\n{}", said.trim());
    }
    Ok(out)
}

/// Looks for pages that are no chapters and for links that lead nowhere.
fn check(docs: &Path, out: &Path) -> Result<()> {
    let mut found = Vec::new();
    for page in files(docs, "md")? {
        let name = page.strip_prefix(docs).unwrap_or(&page).to_owned();
        if name != Path::new("SUMMARY.md") && !out.join(html_of(&name)).is_file() {
            found.push(format!("docs/{}: SUMMARY.md does not name it", name.display()));
        }
    }
    let mut pages = BTreeMap::new();
    // mdBook's own page for addresses that are not there names the place that a server would give the book.
    for file in files(out, "html")?.into_iter().filter(|file| *file != out.join("404.html")) {
        pages.insert(file.clone(), Page::read(&fs::read_to_string(&file)?));
    }
    for (file, page) in &pages {
        let name = file.strip_prefix(out).unwrap_or(file).display();
        let broken = page.links.iter().filter_map(|link| Some((link, broken(link, file, &pages)?)));
        found.extend(broken.map(|(link, why)| format!("{name}: `{link}` {why}")));
    }
    if found.is_empty() {
        return Ok(());
    }
    bail!("the book has {} flaws:\n{}", found.len(), found.join("\n"))
}

/// The name of a chapter's page: a README is the first page of its folder.
fn html_of(chapter: &Path) -> PathBuf {
    let is_readme = chapter.file_name().is_some_and(|name| name == "README.md");
    if is_readme { chapter.with_file_name("index.html") } else { chapter.with_extension("html") }
}

/// What is looked at in a page.
#[derive(Debug, Default)]
struct Page {
    links: BTreeSet<String>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let all = |attribute: &str| -> BTreeSet<String> {
            let mark = format!(" {attribute}=\"");
            let values = text.split(mark.as_str()).skip(1).filter_map(|rest| rest.split('"').next());
            values.map(|value| value.replace("&amp;", "&")).collect()
        };
        Self { links: all("href").union(&all("src")).cloned().collect(), anchors: all("id") }
    }
}

/// Why a link leads nowhere, if it does. Other people's pages are not looked at.
fn broken(link: &str, file: &Path, pages: &BTreeMap<PathBuf, Page>) -> Option<&'static str> {
    if let Some(path) = PUBLISHED.iter().find_map(|place| link.strip_prefix(place)) {
        let path = path.split('#').next().unwrap_or_default();
        return (!root().join(path).exists()).then_some("is not in the repository");
    }
    if link.contains("://") || link.starts_with("data:") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let folder = file.parent().unwrap_or(file);
    let mut aim = if path.is_empty() { file.to_owned() } else { flat(&folder.join(path)) };
    if aim.is_dir() {
        aim = aim.join("index.html");
    }
    if !aim.is_file() {
        return Some("leads to no file of the book");
    }
    let has_anchor = |page: &Page| anchor.is_empty() || page.anchors.contains(anchor);
    pages.get(&aim).is_some_and(|page| !has_anchor(page)).then_some("leads to no such place in that page")
}

/// A path without the dots in it.
fn flat(path: &Path) -> PathBuf {
    let mut flat = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(flat.pop()),
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => flat.push(part),
        }
    }
    flat
}

fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, ending)?);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    /// A folder with a book of two pages, one of them with a link.
    fn book(name: &str, link: &str) -> (PathBuf, PathBuf) {
        let folder = std::env::temp_dir().join(format!("mayi-book-{}-{name}", std::process::id()));
        let (docs, out) = (folder.join("docs"), folder.join("out"));
        for (path, text) in [
            ("docs/README.md", "# A"),
            ("docs/guide/b.md", "# B"),
            ("docs/SUMMARY.md", "- [A](README.md)"),
            ("out/index.html", &format!("<h1 id=\"top\">A</h1> <a href=\"{link}\">x</a>")),
            ("out/guide/b.html", "<h1 id=\"b\">B</h1> <a href=\"../index.html#top\">a</a>"),
        ] {
            fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
            fs::write(folder.join(path), text).unwrap();
        }
        (docs, out)
    }

    #[test]
    fn links_that_lead_nowhere_are_found() {
        for (name, link, flaw) in [
            ("page", "guide/b.html", None),
            ("anchor", "guide/b.html#b", None),
            ("self", "#top", None),
            ("elsewhere", "https://example.com/x", None),
            ("published", "https://github.com/mayi-engine/mayi/blob/main/README.md", None),
            ("gone", "https://github.com/mayi-engine/mayi/blob/main/GONE.md", Some("not in the repository")),
            ("unmade", "guide/b.md", Some("no file")),
            ("outside", "../docs/nothing", Some("no file")),
            ("unnamed", "guide/b.html#c", Some("no such place")),
        ] {
            let (docs, out) = book(name, link);
            let said = check(&docs, &out).map_err(|error| error.to_string());
            match flaw {
                None => assert_eq!(said, Ok(()), "{link}"),
                Some(flaw) => assert!(said.clone().is_err_and(|error| error.contains(flaw)), "{link}: {said:?}"),
            }
            fs::remove_dir_all(docs.parent().unwrap()).unwrap();
        }
    }

    #[test]
    fn a_page_that_is_no_chapter_is_found() {
        let (docs, out) = book("chapter", "#top");
        fs::write(docs.join("forgotten.md"), "# F").unwrap();
        let said = check(&docs, &out).unwrap_err().to_string();
        assert!(said.contains("docs/forgotten.md: SUMMARY.md does not name it"), "{said}");
        fs::remove_dir_all(docs.parent().unwrap()).unwrap();
    }
}

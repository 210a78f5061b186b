//! The release build: one static binary that starts without a dynamic linker and without relocations, because a hook
//! is started afresh for every call of a tool.

mod layout;
mod order;
mod practice;
mod touched;
#[cfg_attr(not(target_os = "linux"), path = "dist/elsewhere.rs")]
mod watch;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

pub(crate) use order::order;

use crate::man::man;
use crate::run::{root, run, succeeds};

const TARGET: &str = "x86_64-unknown-linux-musl";
/// Bound to fixed addresses: there is nothing to relocate at every start.
const FLAGS: &str = "-C target-feature=+crt-static -C relocation-model=static";
/// Keeps apart what runs often and what does not: constants, and parts of one function. What practice never came to is of the
/// second kind.
const APART: [&str; 6] = [
    "-C",
    "llvm-args=-partition-static-data-sections",
    "-C",
    "llvm-args=-enable-split-machine-functions",
    "-C",
    "llvm-args=-mfs-psi-cutoff=0",
];

/// Code that was counted often is not made part of whoever calls it more readily than other code, and all less than usual: a
/// hook runs most of it once, so what it fetches counts for more than what it calls.
const SMALL: &str = "-C llvm-args=-hot-callsite-threshold=100 -C llvm-args=-inline-threshold=100";

/// In a static program musl makes nothing read-only again once it has started, so nothing is set apart for that.
const UNPARTED: &str = "relro-level=off";

/// What goes with the program as it is.
const BESIDE: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Builds it, packs it with its manual pages and completions, and says where both are.
pub(crate) fn dist() -> Result<()> {
    let binary = build()?;
    let archive = packed(&binary, &root().join("target/dist"))?;
    eprintln!("{}\n{}", binary.display(), archive.display());
    Ok(())
}

/// The archive that is published. Its bytes depend on what is in it alone, not on when or by whom it was packed.
fn packed(binary: &Path, home: &Path) -> Result<PathBuf> {
    let name = format!("mayi-{}-{TARGET}", version()?);
    let folder = home.join(&name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    man(&folder)?;
    fs::copy(binary, folder.join("mayi")).with_context(|| format!("cannot copy `{}`", binary.display()))?;
    for file in BESIDE {
        fs::copy(root().join(file), folder.join(file))?;
    }
    let archive = home.join(format!("{name}.tar.gz"));
    let (to, from) = (archive.display().to_string(), home.display().to_string());
    let bare = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];
    // gzip would write down the time.
    let words =
        [&["--use-compress-program=gzip -n", "--create", "--file", &to, "--directory", &from], &bare[..], &[&name]];
    run("tar", &words.concat(), &[])?;
    Ok(archive)
}

/// The version of the workspace.
fn version() -> Result<String> {
    let manifest = fs::read_to_string(root().join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(line.context("Cargo.toml names no version")?.trim_matches('"').to_owned())
}

/// The binary alone.
pub(crate) fn build() -> Result<PathBuf> {
    run("rustup", &["target", "add", TARGET], &[])?;
    for (program, package) in [("musl-gcc", "musl-tools"), ("valgrind", "valgrind")] {
        if !succeeds(program, &["--version"]) {
            bail!("`{program}` is not installed\nhelp: on Debian it is in the package {package}");
        }
    }
    let counts = practice::counted()?;
    let flags = format!("{FLAGS} {SMALL} -C profile-use={}", counts.display());
    let folder = root().join("target");
    let linker = own_linker()?;
    let called = practice::called(&counts, |leavings| {
        let object = format!("--emit=obj={}", leavings.object.display());
        let list = format!("link-arg=-Wl,-Map={}", leavings.list.display());
        let words = linker.iter().chain([&list]).flat_map(|word| ["-C", word]);
        // The rest as in the release: what it calls through a table, and what its functions are called, depends on it.
        let named = ["-C", "strip=none", "-C", UNPARTED, &object].into_iter().chain(APART);
        compile(&flags, &folder, &named.chain(words).collect::<Vec<_>>())
    })?;
    let linked = laid_out(&called);
    let words = linker.iter().chain(&linked).flat_map(|word| ["-C", word]);
    let words = ["-C", UNPARTED].into_iter().chain(APART).chain(words);
    compile(&flags, &folder, &words.collect::<Vec<_>>())
}

/// What has the compiler's own linker link the program.
fn own_linker() -> Result<[String; 2]> {
    let folder = practice::tools()?.join("gcc-ld");
    Ok(["link-arg=-fuse-ld=lld".to_owned(), format!("link-arg=-B{}", folder.display())])
}

/// What tells it what shall lie beside what.
fn laid_out(called: &practice::Called) -> [String; 3] {
    let words = [
        format!("-Wl,--symbol-ordering-file={}", called.functions.display()),
        // Some names are those of several functions, and this linker may leave one out that the other had kept.
        "-Wl,--no-warn-symbol-ordering".to_owned(),
        format!("-Wl,-T,{}", called.script.display()),
    ];
    words.map(|word| format!("link-arg={word}"))
}

/// Compiles into a folder, the program itself with more words, and says where it is.
fn compile(flags: &str, folder: &Path, words: &[&str]) -> Result<PathBuf> {
    let build = ["rustc", "--profile", "dist", "--package", "mayi", "--bin", "mayi", "--target", TARGET, "--"];
    let into = folder.display().to_string();
    let how = [("RUSTFLAGS", flags), ("CC_x86_64_unknown_linux_musl", "musl-gcc"), ("CARGO_TARGET_DIR", &into)];
    run("cargo", &[&build, words].concat(), &how)?;
    Ok(folder.join(TARGET).join("dist/mayi"))
}

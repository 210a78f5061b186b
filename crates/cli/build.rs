//! How the program is linked: a hook is started afresh for every call of a tool, so what the dynamic linker does at
//! each start counts.

use std::path::PathBuf;
use std::process::Command;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| variable(&format!("CARGO_CFG_TARGET_{name}"));
    if target("OS") == "linux" && target("ENV") == "gnu" && !target("FEATURE").contains("crt-static") {
        // Bound to fixed addresses: otherwise every start writes to every page that holds a pointer.
        println!("cargo::rustc-link-arg-bins=-no-pie");
        unwind_from_within()?;
        if target("ARCH") == "x86_64" && variable("PROFILE") == "release" && is_linked_as_usual() {
            called_together();
        }
    }
    Ok(())
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Whether nobody chose a linker. Some know no scripts.
fn is_linked_as_usual() -> bool {
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    variable("RUSTC_LINKER").is_empty() && !["linker", "fuse-ld"].iter().any(|word| flags.contains(word))
}

/// Lays the functions that a hook calls beside each other: each stretch of the file that is touched costs a page fault.
fn called_together() {
    const SCRIPT: &str = "hook.ld";
    println!("cargo::rerun-if-changed={SCRIPT}");
    println!("cargo::rustc-link-arg-bins=-Wl,-T,{}/{SCRIPT}", variable("CARGO_MANIFEST_DIR"));
}

/// Takes the unwinder from the compiler's archive instead of a library that every start would have to find and map.
/// The standard library asks the linker for `libgcc_s.so`; here it finds a script of that name, which names the
/// archives. Where they are not installed, nothing changes.
fn unwind_from_within() -> std::io::Result<()> {
    let archive = |name: &str| {
        let asked = Command::new("cc").arg(format!("-print-file-name={name}")).output().ok()?;
        let path = PathBuf::from(String::from_utf8(asked.stdout).ok()?.trim());
        path.is_absolute().then_some(path).filter(|path| path.is_file())
    };
    if let (Some(unwinder), Some(rest)) = (archive("libgcc_eh.a"), archive("libgcc.a")) {
        let folder = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
        let script = format!("GROUP ( \"{}\" \"{}\" )\n", unwinder.display(), rest.display());
        std::fs::write(folder.join("libgcc_s.so"), script)?;
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    Ok(())
}

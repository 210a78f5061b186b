//! How the program is linked: a hook is started afresh for every call of a tool, so what the dynamic linker does at
//! each start counts.

use std::path::PathBuf;
use std::process::Command;

fn main() -> std::io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" && !target("FEATURE").contains("crt-static") {
        // Bound to fixed addresses: otherwise every start writes to every page that holds a pointer.
        println!("cargo::rustc-link-arg-bins=-no-pie");
        unwind_from_within()?;
    }
    Ok(())
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

//! How the program is linked: a hook is started afresh for every call of a tool, so what the dynamic linker does at
//! each start counts.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let target = |name: &str| std::env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        // Bound to fixed addresses: otherwise every start writes to every page that holds a pointer.
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

//! Has the linker put side by side what a step runs: `link/order.ld`, made by `link/order.sh`.

/// Where the list was made and what it brings was measured.
const MEASURED: (&str, &str) = ("linux", "x86_64");
/// Linkers that do not understand it, by what flags of the compiler call them.
const WITHOUT_SCRIPTS: [&str; 3] = ["=gold", "mold", "=wild"];

fn main() {
    println!("cargo::rerun-if-changed=link/order.ld");
    println!("cargo::rerun-if-env-changed=UWF_LINK_ORDER");
    let variable = |name| std::env::var(name).unwrap_or_default();
    let (os, arch) = (
        variable("CARGO_CFG_TARGET_OS"),
        variable("CARGO_CFG_TARGET_ARCH"),
    );
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    let takes_scripts = !WITHOUT_SCRIPTS.iter().any(|name| flags.contains(name));
    // For other linkers that take no script there is `UWF_LINK_ORDER=off`; debug builds are not for speed.
    let wanted =
        takes_scripts && variable("UWF_LINK_ORDER") != "off" && variable("OPT_LEVEL") != "0";
    if wanted && (os.as_str(), arch.as_str()) == MEASURED {
        let package = variable("CARGO_MANIFEST_DIR");
        println!("cargo::rustc-link-arg-bin=uwf=-T");
        println!("cargo::rustc-link-arg-bin=uwf={package}/link/order.ld");
    }
}

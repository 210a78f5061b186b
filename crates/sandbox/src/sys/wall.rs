//! Landlock: the second wall. It knows only what may be written where; hiding and subtracting are the mounts' matter.

use std::os::fd::OwnedFd;

use landlock::{ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetError, Scope};

/// The rights beneath a writable folder, as the kernel counts them.
pub(crate) fn writing(version: u32) -> u64 {
    handled(version).bits()
}

/// The rights on a single writable file.
pub(crate) fn writing_a_file(version: u32) -> u64 {
    (AccessFs::from_file(abi(version)) & handled(version)).bits()
}

/// A ruleset that permits no writing yet, no signal and no abstract socket to the outside.
pub(crate) fn ruleset(version: u32) -> Result<Option<OwnedFd>, RulesetError> {
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(handled(version))?;
    if version >= 6 {
        ruleset = ruleset.scope(Scope::from_all(ABI::V6))?;
    }
    Ok(ruleset.create()?.into())
}

fn handled(version: u32) -> BitFlags<AccessFs> {
    AccessFs::from_write(abi(version))
}

/// The newest version that both sides know; beyond the ninth nothing is used.
fn abi(version: u32) -> ABI {
    match version {
        0 => ABI::Unsupported,
        1 => ABI::V1,
        2 => ABI::V2,
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => ABI::V7,
    }
}

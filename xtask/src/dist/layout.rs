//! Where constants and variables lie in the release: beside each other, those first that functions mention which a hook
//! calls. Each stretch of the file that is touched costs a page fault, however little of it is needed.
//!
//! The objects that the release is linked from say which function mentions what; the linker is told by a script.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// What is larger is a table of which little is read, or memory that is not touched in one piece.
const LARGE: u64 = 4096;

/// Code begins at a multiple of this: what the kernel maps in one go shall not begin with something else.
const STRETCH: u64 = 128 * 1024;

/// Where the part of a function lies that is kept apart.
const APART: &str = ".text.split.";

/// The tools that tell what is in an object.
pub(super) struct Tools<'a> {
    pub(super) readobj: &'a Path,
    pub(super) size: &'a Path,
}

/// Sections of objects: how large they are, and what they mention.
#[derive(Default)]
struct Sections {
    sizes: BTreeMap<String, u64>,
    mentions: BTreeMap<String, Vec<String>>,
}

/// The functions that shall lie beside each other, by the linker's names for them: those whose sections were touched, then those
/// that were called besides. Of a function of which a part is kept apart, that part has a name of its own.
pub(super) fn functions(touched: &[&str], called: &[&str]) -> Vec<String> {
    let named = touched.iter().filter_map(|section| match section.strip_prefix(APART) {
        Some(name) => Some(format!("{name}.cold")),
        None => function(section).map(str::to_owned),
    });
    let mut seen = BTreeSet::new();
    named.chain(called.iter().map(|name| (*name).to_owned())).filter(|name| seen.insert(name.clone())).collect()
}

/// The script for the linker: what was touched, then what the called functions mention, in the order of the functions.
pub(super) fn script(objects: &[&Path], tools: &Tools<'_>, touched: &[&str], called: &[&str]) -> Result<String> {
    let sizes = said(Command::new(tools.size).arg("--format=sysv").args(objects))?;
    let mentions = said(Command::new(tools.readobj).arg("--relocations").args(objects))?;
    let sections = Sections { sizes: sizes_of(&sizes), mentions: mentions_of(&mentions) };
    let mut touched: Vec<&str> = touched.iter().copied().filter(|section| Kind::of(section).is_some()).collect();
    // Of a large one a hook reads a few lines: the larger, the further away from the others.
    touched.sort_by_key(|section| sections.large(section));
    let mentioned = sections.mentioned(called, &touched);
    ensure!(!mentioned.is_empty(), "the functions that were called mention nothing");
    Ok(written(&sections, &touched, &mentioned))
}

fn said(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

/// Lines of a name, a size and an address. Some names are those of sections of many objects, which become one.
fn sizes_of(listed: &str) -> BTreeMap<String, u64> {
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    for line in listed.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(Ok(size))) = (words.next(), words.next().map(str::parse::<u64>)) {
            *sizes.entry(name.to_owned()).or_default() += size;
        }
    }
    sizes
}

/// `Section (5) .rela.text.name {`, then a line for each mention: where, how, what, and how far behind it.
fn mentions_of(listed: &str) -> BTreeMap<String, Vec<String>> {
    let mut mentions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut section = None;
    for line in listed.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["Section", _, name, "{"] => section = name.strip_prefix(".rela"),
            [_, _, what, _] => {
                if let Some(section) = section {
                    mentions.entry(section.to_owned()).or_default().push((*what).to_owned());
                }
            }
            _ => {}
        }
    }
    mentions
}

impl Sections {
    /// The constants and variables that functions mention, and those that these mention, each once; but not those that are known
    /// already.
    fn mentioned<'a>(&'a self, called: &[&str], known: &[&'a str]) -> Vec<&'a str> {
        let mut functions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for section in self.mentions.keys() {
            if let Some(name) = function(section) {
                functions.entry(name).or_default().push(section);
            }
        }
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        for section in called.iter().filter_map(|name| functions.get(name)).flatten() {
            let mut ahead = vec![*section];
            while let Some(section) = ahead.pop() {
                let mentions = self.mentions.get(section).into_iter().flatten();
                for mentioned in mentions.flat_map(|what| self.meant(what)) {
                    if seen.insert(mentioned) {
                        found.push(mentioned);
                        ahead.push(mentioned);
                    }
                }
            }
        }
        found.retain(|section| !known.contains(section));
        found
    }

    /// The sections that hold what is mentioned: by its section, or, as C has it, by its name.
    fn meant<'a>(&'a self, what: &'a str) -> Vec<&'a str> {
        if what.starts_with('.') {
            return Vec::from_iter(Kind::of(what).map(|_| what));
        }
        let places = [".rodata", ".data", ".data.rel", ".data.rel.local", ".bss"];
        let named = places.iter().filter_map(|place| self.sizes.get_key_value(&format!("{place}.{what}")));
        named.map(|(section, _)| section.as_str()).collect()
    }

    /// How large a section is that is large.
    fn large(&self, section: &str) -> Option<u64> {
        self.sizes.get(section).copied().filter(|size| *size > LARGE)
    }
}

/// The function whose code a section holds.
fn function(section: &str) -> Option<&str> {
    let name = section.strip_prefix(".text.")?;
    ["hot.", "unlikely."].iter().find_map(|how| name.strip_prefix(how)).or(Some(name))
}

/// What a section holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Constant,
    Variable,
    /// A variable that is nought at first.
    Blank,
}

impl Kind {
    fn of(section: &str) -> Option<Self> {
        let kinds = [(".rodata", Kind::Constant), (".data", Kind::Variable), (".bss", Kind::Blank)];
        let kind = kinds.iter().find(|(start, _)| section.starts_with(start)).map(|(_, kind)| *kind);
        // Those come with what the linker makes read-only again.
        kind.filter(|_| !section.starts_with(".data.rel.ro"))
    }
}

/// What C mentions without a name comes too, because it is little: texts, variables without a section of their own, and
/// musl's dummies for what a program has not got.
///
/// The variables that are touched, and what the C library reads when it begins, lie on one page. The first that are nought are on
/// it as well: the kernel brings that page in any case, because it writes those noughts when it loads the program.
fn written(sections: &Sections, touched: &[&str], mentioned: &[&str]) -> String {
    let listed = |names: &[&str], kind: Kind, large: bool| {
        let wanted =
            names.iter().filter(|name| Kind::of(name) == Some(kind) && sections.large(name).is_some() == large);
        wanted.fold(String::new(), |mut lines, name| {
            let _ = writeln!(lines, "    *({name})");
            lines
        })
    };
    let small = |names, kind| listed(names, kind, false);
    format!(
        "SECTIONS {{
  .rodata.hot : {{
{}{}{}{}    *(.rodata.*.str1.1)
    *(.rodata.hot .rodata.hot.*)
  }}
}} INSERT BEFORE .rodata;
SECTIONS {{
  .init ALIGN({STRETCH}) : {{ KEEP(*(.init)) }}
  .fini : {{ KEEP(*(.fini)) }}
}} INSERT BEFORE .text;
SECTIONS {{
  .data.mentioned : {{
{}  }}
  .got ALIGN(4096) : {{ *(.got) }}
  .data.hot : {{
{}  }}
  .tdata : {{ *(.tdata .tdata.*) }}
  .tbss : {{ *(.tbss .tbss.*) }}
  .init_array : {{ KEEP(*(SORT_BY_INIT_PRIORITY(.init_array.*) .init_array)) }}
  .fini_array : {{ KEEP(*(SORT_BY_INIT_PRIORITY(.fini_array.*) .fini_array)) }}
  .bss.hot (NOLOAD) : {{
{}    *crtbegin.o(.bss .bss.*)
    *(COMMON .bss.dummy .bss.dummy_*)
{}  }}
}} INSERT BEFORE .bss;
",
        small(touched, Kind::Constant),
        listed(touched, Kind::Constant, true),
        small(mentioned, Kind::Constant),
        listed(mentioned, Kind::Constant, true),
        small(mentioned, Kind::Variable),
        small(touched, Kind::Variable),
        small(touched, Kind::Blank),
        small(mentioned, Kind::Blank),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_called_functions_mention_comes_first() {
        let mentions = "
File: x.o
Relocations [
  Section (5) .rela.text.hot.called {
    0x97 R_X86_64_32 .rodata..Lanon.1 0x0
    0x99 R_X86_64_PLT32 another 0xFFFFFFFFFFFFFFFC
    0xA6 R_X86_64_PC32 .bss.arena 0xFFFFFFFFFFFFFFFC
    0xB6 R_X86_64_PC32 .data.count 0xFFFFFFFFFFFFFFFC
  }
  Section (7) .rela.text.idle {
    0x97 R_X86_64_32 .rodata..Lanon.idle 0x0
  }
  Section (8) .rela.rodata..Lanon.1 {
    0x0 R_X86_64_64 .rodata.TABLE 0x10
    0x8 R_X86_64_64 .rodata..Lanon.2 0x10
  }
]";
        let sizes = "x.o  :\nsection  size  addr\n.rodata.TABLE  3000  0\n.rodata.TABLE  3000  0\n.bss.arena  1048576  0\n.bss.another  8  0\n";
        let sections = Sections { sizes: sizes_of(sizes), mentions: mentions_of(mentions) };
        let touched = [".rodata..Lanon.2", ".data.first"];
        let script = written(&sections, &touched, &sections.mentioned(&["called", "unknown"], &touched));
        let names = [".rodata.TABLE", ".rodata..Lanon.1", ".rodata..Lanon.2", ".rodata..Lanon.idle"];
        let others = [".data.count", ".data.first", ".bss.another", ".bss.arena", "another"];
        let place = |name: &&str| script.find(&format!("*({name})"));
        let mut listed: Vec<&str> = names.into_iter().chain(others).filter(|name| place(name).is_some()).collect();
        listed.sort_by_key(place);
        // What was touched comes first, a large table last, and memory that is larger still stays where it is.
        let constants = [".rodata..Lanon.2", ".rodata..Lanon.1", ".rodata.TABLE"];
        let wanted = [&constants[..], &[".data.count", ".data.first", ".bss.another"]].concat();
        assert_eq!(listed, wanted, "{script}");
    }

    #[test]
    fn parts_that_are_kept_apart_have_names_of_their_own() {
        let touched = [".text.hot.one", ".rodata.x", ".text.split.one", ".text.unlikely.two", ".text.three"];
        assert_eq!(functions(&touched, &["two", "four"]), ["one", "one.cold", "two", "three", "four"]);
    }
}

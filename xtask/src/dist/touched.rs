//! Which parts of a program are touched while it runs: code and constants. valgrind says every address, and the linker's own
//! list says what lies there.
//!
//! A function that is called mentions far more constants than it reads, and the half of it that is for rare cases is code of its
//! own. Only this tells them apart.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// The sections that a program was linked from, where they lie, and how many runs touched each.
pub(super) struct Touched {
    program: PathBuf,
    log: PathBuf,
    sections: Vec<Section>,
}

struct Section {
    place: Range<u64>,
    name: String,
    runs: usize,
}

impl Touched {
    /// Of a program that lies where it was linked to, with the linker's list. What valgrind says goes to `log`.
    pub(super) fn over(program: &Path, list: &str, log: PathBuf) -> Result<Self> {
        let sections = sections(list);
        ensure!(!sections.is_empty(), "the linker's list names no section");
        Ok(Self { program: program.to_owned(), log, sections })
    }

    /// Runs the program once with some input, as `ready` prepares it, notes what it touches, and says what it printed.
    pub(super) fn run(
        &mut self,
        ready: impl FnOnce(&Path) -> Command,
        words: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>> {
        if self.log.exists() {
            fs::remove_file(&self.log)?;
        }
        let mut command = ready(Path::new("valgrind"));
        command.args(["--tool=lackey", "--trace-mem=yes"]).arg(format!("--log-file={}", self.log.display()));
        command.arg(&self.program).args(words).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        child.stdin.take().context("the program has no input")?.write_all(input)?;
        let said = child.wait_with_output()?.stdout;
        for number in self.listed()? {
            if let Some(section) = self.sections.get_mut(number) {
                section.runs += 1;
            }
        }
        Ok(said)
    }

    /// The sections that the log names an address of.
    fn listed(&self) -> Result<BTreeSet<usize>> {
        let mut touched = BTreeSet::new();
        let mut last = 0..0;
        for line in BufReader::new(fs::File::open(&self.log)?).split(b'\n') {
            let line = line?;
            let Some(place) = std::str::from_utf8(&line).ok().and_then(address) else { continue };
            if !last.contains(&place) {
                let number = self.sections.partition_point(|section| section.place.start <= place).wrapping_sub(1);
                if let Some(section) = self.sections.get(number).filter(|section| section.place.contains(&place)) {
                    last = section.place.clone();
                    touched.insert(number);
                }
            }
        }
        ensure!(!touched.is_empty(), "`{}` names nothing of the program", self.log.display());
        Ok(touched)
    }

    /// The names of the sections that were touched: by every run first, by one alone last.
    pub(super) fn names(&self) -> Vec<&str> {
        let mut touched: Vec<&Section> = self.sections.iter().filter(|section| section.runs > 0).collect();
        touched.sort_by_key(|section| std::cmp::Reverse(section.runs));
        touched.into_iter().map(|section| section.name.as_str()).collect()
    }
}

/// All sections, in the order of their places. What was written by hand lies in sections without a name of their own: they are
/// called by what lies in them.
fn sections(list: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in list.lines() {
        match (section(line), sections.last_mut(), line.split_whitespace().nth(4)) {
            (Some(section), ..) => sections.push(section),
            (None, Some(Section { name, .. }), Some(symbol)) if name == ".text" && !symbol.contains(['.', ':']) => {
                *name = format!(".text.{symbol}");
            }
            (None, ..) => {}
        }
    }
    sections.sort_by_key(|section| section.place.start);
    sections
}

/// A line of the linker's list about a section of an object: where it lies, there again, its size, its alignment, `object:(name)`.
fn section(line: &str) -> Option<Section> {
    let mut words = line.split_whitespace();
    let mut number = || u64::from_str_radix(words.next()?, 16).ok();
    let (from, _, size) = (number()?, number()?, number()?);
    let (_, name) = line.strip_suffix(')')?.rsplit_once(":(")?;
    // What is there for a debugger lies nowhere.
    [".text", ".rodata", ".data", ".bss"].iter().find(|kind| name.starts_with(**kind))?;
    Some(Section { place: from..from + size, name: name.to_owned(), runs: 0 })
}

/// A line of valgrind's about an instruction or a piece of memory: `I  04001000,3`, ` L 1ffefff8,8`.
fn address(line: &str) -> Option<u64> {
    let (what, rest) = line.split_at_checked(3)?;
    let (address, _) = rest.split_once(',').filter(|_| ["I  ", " L ", " S ", " M "].contains(&what))?;
    u64::from_str_radix(address, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "
             VMA              LMA     Size Align Out     In      Symbol
          200240           200240   18d222    32 .rodata.hot
          200240           200240       18     8         /x/a.o:(.rodata..Lanon.3)
          200260           200260       10     8         /x/a.o:(.rodata..Lanon.4)
          200270           200270       10     8         <internal>:(.rodata.cst16)
          621b60           621b60       40    16         /x/lib.rlib(b.o):(.text.hot.called)
          621b60           621b60        0     1                 called
          621ba0           621ba0       20    16         /x/lib.rlib(c.o):(.text)
          621ba0           621ba0       10     1                 by_hand
          621bb0           621bb0       10     1                 by_hand_too
               0                0   400000     1         /x/a.o:(.debug_str)
";

    #[test]
    fn what_most_runs_touched_comes_first() {
        let mut sections = sections(LIST);
        for (section, runs) in sections.iter_mut().zip([1, 0, 3, 3, 0]) {
            section.runs = runs;
        }
        let touched = Touched { program: PathBuf::new(), log: PathBuf::new(), sections };
        assert_eq!(touched.names(), [".rodata.cst16", ".text.hot.called", ".rodata..Lanon.3"]);
    }

    #[test]
    fn what_a_log_names_was_touched() {
        let folder = std::env::temp_dir().join(format!("mayi-touched-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let log = folder.join("log");
        fs::write(
            &log,
            "==1== Lackey\nI  00621b61,3\nI  00621bb1,3\n L 00200257,8\n S 1ffefff8,8\n M 00200270,1\nI  00700000,1\n",
        )
        .unwrap();
        let touched = Touched { program: PathBuf::new(), log, sections: sections(LIST) };
        let names: Vec<&str> =
            touched.listed().unwrap().into_iter().map(|number| touched.sections[number].name.as_str()).collect();
        assert_eq!(names, [".rodata..Lanon.3", ".rodata.cst16", ".text.hot.called", ".text.by_hand"]);
        fs::write(&touched.log, "==1== nothing\n").unwrap();
        assert!(touched.listed().is_err());
        fs::remove_dir_all(&folder).unwrap();
    }
}

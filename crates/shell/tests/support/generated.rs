//! Scripts made by chance from bash's forms, the same ones every time. They are only ever read, never run.

use crate::support::Chance;

const PROGRAMS: &[&str] = &["alpha", "beta", "gamma", "delta", "./epsilon", "/bin/zeta", "eta-2", "theta.sh"];
const PLAIN: &[&str] = &["one", "-x", "--two=3", "a/b.txt", "'a b; c'", "\"d $e ${f:-g}\"", "h\\ i", "*.c", "$'j\\n'"];
const JOINS: &[&str] = &["; ", " && ", " || ", " | ", " |& ", " & ", "\n"];

/// One script; deeper ones hold more forms in one another.
pub(crate) fn script(chance: &mut Chance, depth: usize) -> String {
    let mut text = command(chance, depth);
    for _ in 0..chance.below(3) {
        text.push_str(chance.pick(JOINS));
        text.push_str(&command(chance, depth));
    }
    text
}

fn command(chance: &mut Chance, depth: usize) -> String {
    if depth == 0 {
        return simple(chance, 0);
    }
    let inside = depth - 1;
    match chance.below(14) {
        0 => format!("( {} )", script(chance, inside)),
        1 => format!("{{ {}; }}", group(chance, inside)),
        2 => format!("if {}; then {}; fi", group(chance, inside), group(chance, inside)),
        3 => {
            format!("if {}; then {}; else {}; fi", simple(chance, 0), group(chance, inside), group(chance, inside))
        }
        4 => format!("while {}; do {}; done", simple(chance, inside), group(chance, inside)),
        5 => format!("for v in {}; do {}; done", word(chance, inside), group(chance, inside)),
        6 => format!("case {} in a|b) {};; *) {};; esac", word(chance, 0), group(chance, inside), simple(chance, 0)),
        7 => format!("name() {{ {}; }}", group(chance, inside)),
        8 => format!("! {}", simple(chance, inside)),
        9 => format!("cat <<END\nbody of {}\nEND\n{}", chance.pick(PROGRAMS), simple(chance, inside)),
        10 => format!("[[ -n {} ]] && {}", word(chance, inside), simple(chance, inside)),
        11 => format!("(( n + 1 )) && {}", simple(chance, inside)),
        _ => simple(chance, depth),
    }
}

/// Commands that may stand before a `;`.
fn group(chance: &mut Chance, depth: usize) -> String {
    let first = command(chance, depth);
    // Behind a here-document the line break has already ended the command before it.
    format!("{first}{}{}", chance.pick(&["; ", " && ", " | ", "\n"]), simple(chance, depth))
}

fn simple(chance: &mut Chance, depth: usize) -> String {
    let mut text = chance.pick(&["", "", "", "v=1 ", "w='x y' "]).to_owned();
    text.push_str(chance.pick(PROGRAMS));
    for _ in 0..chance.below(3) {
        text.push(' ');
        text.push_str(&word(chance, depth));
    }
    text.push_str(chance.pick(&["", "", "", " >out", " 2>&1", " <in", " >>log 2>/dev/null", " <<<'text'"]));
    text
}

fn word(chance: &mut Chance, depth: usize) -> String {
    if depth == 0 {
        return chance.pick(PLAIN).to_owned();
    }
    let inside = depth - 1;
    match chance.below(8) {
        0 => format!("$({})", script(chance, inside)),
        1 => format!("\"x$({})y\"", simple(chance, inside)),
        2 => format!("`{}`", simple(chance, 0)),
        3 => format!("<({})", simple(chance, inside)),
        4 => format!("${{v:-$({})}}", simple(chance, inside)),
        _ => chance.pick(PLAIN).to_owned(),
    }
}

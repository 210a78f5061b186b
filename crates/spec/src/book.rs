//! The pages of the book that are made from the code's own tables, so that they cannot tell something else.

use std::fmt::Write as _;

use mayi_core::step::Step;
use mayi_engine::limits;
use mayi_settings::keys::{KEYS, Key, Merge, Shape};
use mayi_settings::lint::articles;

/// Said at the top of each.
const MADE: &str = "<!-- Made from the code's own tables by `UPDATE=1 cargo test -p mayi-spec --test book`. -->\n\n";

/// Every page, with its name below `docs/reference`.
pub fn made() -> Vec<(&'static str, String)> {
    vec![("settings.md", settings()), ("steps.md", steps()), ("lint.md", lint()), ("limits.md", accepted())]
}

fn steps() -> String {
    let mut page = format!(
        "# Steps\n\n{MADE}Every call walks these steps from the top; the first that speaks decides. Ids are stable: they stand \
         in traces, in JSON, in tests and in the audit. Nothing below the line overrules anything above it, in any mode.\n\n\
         | id | name | when it speaks, and what it says |\n| --- | --- | --- |\n"
    );
    let mut above = true;
    for step in Step::ALL {
        if above && !step.is_above_the_line() {
            page.push_str("| | **the line** | |\n");
            above = false;
        }
        row(&mut page, &[step.id(), step.name(), step.about()]);
    }
    page.push_str(
        "\nStep 0 comes before all of them: a run that was ended decides nothing any more. From 4a on, an ask is given to \
         whoever must answer it.\n",
    );
    page
}

fn lint() -> String {
    let mut page = format!(
        "# Lint\n\n{MADE}What `mayi rules lint` reports, by code. `--fix` mends what can be mended without loosening anything; \
         `--sarif` is for code hosts and editors. Errors and warnings make exit code 1, notes do not.\n"
    );
    for article in articles() {
        let (code, severity) = (article.code.word(), article.code.severity().word());
        let (what, example, mended, fix) = (article.what, article.example, article.mended, article.fix);
        // Writing to a string cannot fail.
        let _ = write!(
            page,
            "\n## {code}\n\n*{severity}.* {what}\n\nIn {layer} settings:\n\n```text\n{example}\n```\n\nMended:\n\n\
             ```text\n{mended}\n```\n\n{fix}\n",
            layer = article.layer,
        );
    }
    page
}

fn accepted() -> String {
    let mut page = format!(
        "# Accepted limits\n\n{MADE}What mayi does not see or does not stop, and why that is accepted. `mayi doctor` shows those \
         that apply on a machine. The examples run as tests.\n\n| limit | why | instead | example |\n| --- | --- | --- | --- |\n"
    );
    for limit in limits::all() {
        let example = limit.example.map_or(String::new(), |example| {
            let command =
                example.call.pointer("/input/command").and_then(|command| command.as_str()).unwrap_or_default();
            format!("`{command}`: {}", example.verdict)
        });
        row(&mut page, &[&format!("{} (`{}`)", limit.what, limit.id), &limit.why, &limit.instead, &example]);
    }
    page
}

fn settings() -> String {
    let mut page = format!(
        "# Settings\n\n{MADE}Every key, with what stands there and who may set it. `mayi schema` prints the same for editors. \
         Scalars: the strongest layer wins (managed, flag, cli, local, project, user); lists unite; objects go key by key. A \
         *sticky* key keeps its strict value from whichever layer says it.\n\n\
         | key | holds | who may set it | what it means |\n| --- | --- | --- | --- |\n"
    );
    keys(&mut page, "", KEYS);
    page
}

fn keys(page: &mut String, prefix: &str, all: &[Key]) {
    for key in all {
        let name = format!("{prefix}{}", key.name);
        let sticky = match key.merge {
            Merge::Sticky => "; sticky",
            Merge::Plain => "",
        };
        row(page, &[&format!("`{name}`"), &holds(&key.shape), &format!("{}{sticky}", key.scope.layers()), key.about]);
        below(page, &name, &key.shape);
    }
}

fn below(page: &mut String, name: &str, shape: &Shape) {
    match shape {
        Shape::Object(members) => keys(page, &format!("{name}."), members),
        Shape::List(members) => keys(page, &format!("{name}[]."), members),
        Shape::Map(inner) => below(page, &format!("{name}.*"), inner),
        Shape::Flag
        | Shape::Count { .. }
        | Shape::Amount
        | Shape::Text
        | Shape::Word(_)
        | Shape::Texts
        | Shape::Path
        | Shape::Paths
        | Shape::Directories
        | Shape::Rules(_)
        | Shape::Hooks
        | Shape::Anything => {}
    }
}

fn holds(shape: &Shape) -> String {
    if let Shape::Word(words) = shape {
        return words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Shape::Count { least, most } = shape {
        return format!("a number from {least} to {most}");
    }
    shape.kind().to_owned()
}

/// A row of a table. A bar in a cell would end it.
fn row(page: &mut String, cells: &[&str]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|").replace('\n', " ")).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(page, "| {} |", cells.join(" | "));
}

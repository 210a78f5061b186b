//! Reads SQL and the clients' own commands: a statement reads when it starts with a reading word, names no word that
//! writes, and calls only functions that are known to compute.

use crate::knowledge::code::Finding;
use crate::knowledge::table::{SQL_FUNCTIONS, SQL_READING_WORDS, SQL_WRITING_WORDS, SQLITE_COMMANDS, SQLITE_PRAGMAS};

/// Whose SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Postgres,
    Mysql,
    Sqlite,
    Duckdb,
}

/// Names that do more than name a table, though no bracket follows them.
const ACTING_NAMES: &[&str] =
    &["pragma", "fsdir", "zipfile", "lsdir", "csv", "sqlite_dbdata", "pg_shadow", "pg_authid", "pg_hba_file_rules"];

/// What the statements do besides reading.
pub(crate) fn findings(dialect: Dialect, text: &str) -> Vec<Finding> {
    let trimmed = text.trim();
    if trimmed.starts_with('.') && matches!(dialect, Dialect::Sqlite | Dialect::Duckdb) {
        return dot(trimmed);
    }
    if trimmed.starts_with('\\') {
        return backslash(dialect, trimmed);
    }
    if dialect == Dialect::Duckdb && trimmed.contains(['\'', '"']) {
        return vec![Finding::Unknown("a name in quotes that may be a file")];
    }
    let Some(tokens) = tokens(dialect, trimmed) else { return vec![Finding::Unknown("SQL that is not followed")] };
    let mut found = Vec::new();
    for statement in tokens.split(|token| *token == Token::Mark(';')) {
        if let Some(finding) = statement_finding(statement) {
            found.push(finding);
        }
    }
    found
}

fn dot(text: &str) -> Vec<Finding> {
    let known = text.lines().all(|line| {
        let name = line.split_whitespace().next().unwrap_or_default();
        line.is_empty() || SQLITE_COMMANDS.has(name)
    });
    if known && !text.contains('|') { Vec::new() } else { vec![Finding::Unknown("a client command that is not known")] }
}

/// `\d`, `\dt`, `\l` and their kind describe; everything else may run, read or write.
fn backslash(dialect: Dialect, text: &str) -> Vec<Finding> {
    let name = text.split_whitespace().next().unwrap_or_default();
    let describes = dialect == Dialect::Postgres
        && (name.starts_with("\\d") && name.bytes().skip(1).all(|b| b.is_ascii_alphabetic() || b == b'+')
            || matches!(name, "\\l" | "\\l+" | "\\conninfo" | "\\z" | "\\sf" | "\\sv" | "\\?" | "\\h"));
    let plain = !text.contains(['`', '|', '\n', ';']) && text.matches('\\').count() == 1;
    if describes && plain { Vec::new() } else { vec![Finding::Unknown("a client command that is not known")] }
}

fn statement_finding(tokens: &[Token<'_>]) -> Option<Finding> {
    let first = tokens.iter().find_map(|token| match token {
        Token::Name(name) => Some(name.to_ascii_lowercase()),
        Token::Text | Token::Mark(_) => None,
    });
    let Some(first) = first else {
        return (!tokens.is_empty()).then_some(Finding::Unknown("SQL that is not followed"));
    };
    if !SQL_READING_WORDS.has(&first) {
        return Some(Finding::Changes);
    }
    if first == "pragma" {
        return pragma(tokens);
    }
    // Some pragmas act while a statement is only explained, and some tables are files.
    if tokens.iter().any(|token| matches!(token, Token::Name(name) if is_one_of(ACTING_NAMES, name))) {
        return Some(Finding::Unknown("SQL that reaches outside the database"));
    }
    let writes = tokens.iter().any(|token| matches!(token, Token::Name(name) if is_one_of(&SQL_WRITING_WORDS, name)));
    if writes {
        return Some(Finding::Changes);
    }
    if tokens.iter().any(|token| matches!(token, Token::Mark('\\'))) {
        return Some(Finding::Unknown("a client command inside SQL"));
    }
    let calls = tokens.windows(2).any(|pair| match pair {
        [Token::Name(name), Token::Mark('(')] => !is_one_of(&SQL_FUNCTIONS, name),
        _ => false,
    });
    calls.then_some(Finding::Unknown("SQL that calls a function that is not known"))
}

fn pragma(tokens: &[Token<'_>]) -> Option<Finding> {
    let sets = tokens.contains(&Token::Mark('='));
    let name = tokens.iter().filter_map(|token| if let Token::Name(name) = token { Some(*name) } else { None }).nth(1);
    let known = name.is_some_and(|name| is_one_of(&SQLITE_PRAGMAS, name));
    let argument = tokens.contains(&Token::Mark('('));
    let sets = sets
        || argument
            && name.is_some_and(|name| is_one_of(&["user_version", "journal_mode", "page_size", "encoding"], name));
    (sets || !known).then_some(Finding::Changes)
}

fn is_one_of(names: &[impl AsRef<str>], wanted: &str) -> bool {
    names.iter().any(|name| name.as_ref().eq_ignore_ascii_case(wanted))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'t> {
    Name(&'t str),
    Text,
    Mark(char),
}

/// The tokens; quoted names count as names, and comments as nothing. Nothing when a quote or comment does not end.
fn tokens(dialect: Dialect, text: &str) -> Option<Vec<Token<'_>>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if differs(dialect, rest) {
            return None;
        }
        let length = match first {
            c if c.is_whitespace() => c.len_utf8(),
            '-' if rest.starts_with("--") => rest.find('\n').unwrap_or(rest.len()),
            // MySQL runs what stands in some comments, so none are followed.
            '/' if rest.starts_with("/*") => return None,
            '\'' => {
                found.push(Token::Text);
                quoted(rest, '\'')?
            }
            '"' | '`' => {
                let length = quoted(rest, first)?;
                found.push(Token::Name(rest.get(1..length - 1)?));
                length
            }
            '$' if rest
                .get(1..2)
                .is_some_and(|next| next == "$" || next.starts_with(|c: char| c.is_ascii_alphabetic())) =>
            {
                return None;
            }
            c if c.is_alphanumeric() || c == '_' => {
                let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                found.push(Token::Name(rest.get(..length)?));
                length
            }
            c => {
                found.push(Token::Mark(c));
                c.len_utf8()
            }
        };
        rest = rest.get(length..)?;
    }
    Some(found)
}

/// Signs that hide text in one dialect and not in another: comments that MySQL knows or does not, names in brackets,
/// and the backtick, which quotes nothing in Postgres.
fn differs(dialect: Dialect, rest: &str) -> bool {
    match dialect {
        Dialect::Mysql => rest.starts_with('#') || rest.starts_with("--"),
        Dialect::Sqlite => rest.starts_with('['),
        Dialect::Postgres | Dialect::Duckdb => rest.starts_with('`'),
    }
}

/// The length of a quoted text. A backslash in one is not followed: servers differ on what it means.
fn quoted(rest: &str, end: char) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' {
            return None;
        }
        if c == end {
            if chars.peek().is_some_and(|(_, next)| *next == end) {
                chars.next();
            } else {
                return Some(at + 1);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Dialect, findings};

    #[test]
    fn statements_that_read() {
        for text in [
            "SELECT * FROM users WHERE id = 1",
            "select count(*) from t;",
            "SHOW TABLES",
            "EXPLAIN SELECT 1",
            "\\dt",
            "\\d+ users",
            "with a as (select 1) select * from a",
            "select 'insert into' from \"order\"",
        ] {
            assert_eq!(findings(Dialect::Postgres, text), [], "{text}");
        }
        for text in [".tables", "PRAGMA table_info(users)", ".schema users", "select name from sqlite_master"] {
            assert_eq!(findings(Dialect::Sqlite, text), [], "{text}");
        }
    }

    #[test]
    fn statements_that_do_not_only_read() {
        for text in [
            "DROP TABLE x",
            "select 1; delete from x",
            "select pg_read_file('/x')",
            "select lo_export(1, '/x')",
            "\\! id",
            "with a as (delete from x returning 1) select * from a",
            "copy x to program 'id'",
            "select * into y from x",
            "select 1 \\! id",
            "explain analyze delete from x",
            "\\d x \\! id",
        ] {
            assert_ne!(findings(Dialect::Postgres, text), [], "{text}");
        }
        for text in [
            "select load_extension('./x')",
            "select writefile('x', 'y')",
            ".shell id",
            ".output x",
            "PRAGMA user_version = 3",
            ".once '|id'",
        ] {
            assert_ne!(findings(Dialect::Sqlite, text), [], "{text}");
        }
        for text in [
            "select 1 as [a'b]; delete from t; --'",
            "select data from fsdir where path = '/x'",
            "explain pragma journal_mode = wal",
        ] {
            assert_ne!(findings(Dialect::Sqlite, text), [], "{text}");
        }
        assert_ne!(findings(Dialect::Postgres, "select 1 `a; delete from x; select 2` b"), []);
        assert_ne!(findings(Dialect::Mysql, "select 1 --1; drop table x"), []);
        assert_ne!(findings(Dialect::Mysql, "select 1 # '\n; drop table x; -- '"), []);
        assert_ne!(findings(Dialect::Mysql, "select 1 into outfile '/x'"), []);
        assert_ne!(findings(Dialect::Mysql, "select /*! sleep(1) */ 1"), []);
    }
}

//! Names: what a server and its tools are called in rules.
//!
//! The name comes from the person, or from the command or address the person wrote. It never comes from the server:
//! a server that may choose its name could choose one that rules allow.

use std::path::Path;

/// Programs that only start others: the server is named by the first word after them that is no option.
const STARTERS: [&str; 9] = ["npx", "bunx", "pnpx", "uvx", "pipx", "node", "deno", "python", "python3"];

/// Words that such programs take before what they start.
const VERBS: [&str; 3] = ["run", "exec", "dlx"];

/// A name as rules can say it: letters, digits, `_` and `-`.
pub(crate) fn plain(name: &str) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    name.chars().map(letter).collect()
}

/// A server's name as rules can say it; nothing when they cannot say any of it. Two underscores end a server's name in a
/// rule, so it cannot hold them.
pub fn server(name: &str) -> Option<String> {
    let mut name = plain(name);
    while name.contains("__") {
        name = name.replace("__", "_");
    }
    let name = name.trim_matches('_');
    (!name.is_empty()).then(|| name.to_owned())
}

/// The same for a name that nobody chose.
fn unchosen(name: &str) -> String {
    server(name).unwrap_or_else(|| "server".to_owned())
}

/// The name of a tool in rules.
pub(crate) fn tool(server: &str, tool: &str) -> String {
    format!("mcp__{server}__{}", plain(tool))
}

/// The name of a server that is started by a command.
pub fn of_command(command: &[String]) -> String {
    let stem = |word: &str| Path::new(word).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let program = command.first().and_then(|word| stem(word)).unwrap_or_default();
    let started = command.iter().skip(1).find(|word| !word.starts_with('-') && !VERBS.contains(&word.as_str()));
    match started.filter(|_| STARTERS.contains(&program.as_str())) {
        Some(word) => unchosen(&stem(&unversioned(word)).unwrap_or_default()),
        None => unchosen(&program),
    }
}

/// A package without its version: `@scope/name@1.2` is `@scope/name`.
fn unversioned(package: &str) -> String {
    match package.char_indices().skip(1).find(|(_, letter)| *letter == '@') {
        Some((at, _)) => package.get(..at).unwrap_or(package).to_owned(),
        None => package.to_owned(),
    }
}

/// The name of a server at an address.
pub fn of_url(url: &reqwest::Url) -> String {
    unchosen(url.host_str().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_named_by_what_the_person_wrote() {
        let rows = [
            ("/usr/local/bin/github-mcp --stdio", "github-mcp"),
            ("npx -y @modelcontextprotocol/server-filesystem@2026.1 /srv", "server-filesystem"),
            ("uvx mcp-server-git", "mcp-server-git"),
            ("node dist/index.js", "index"),
            ("deno run --allow-net main.ts", "main"),
            ("docker run -i --rm mcp/github", "docker"),
            ("npx", "npx"),
            ("___", "server"),
        ];
        for (command, name) in rows {
            let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
            assert_eq!(of_command(&words), name, "{command}");
        }
        assert_eq!(of_url(&"https://mcp.example.com/mcp".parse().unwrap()), "mcp_example_com");
    }

    #[test]
    fn no_name_reaches_into_another_servers_rules() {
        for (name, said) in [("git__hub", Some("git_hub")), ("a b/ü*", Some("a_b")), ("é", None), ("", None)] {
            assert_eq!(server(name).as_deref(), said, "{name}");
        }
        assert_eq!(tool("s", "odd name*(x)\n"), "mcp__s__odd_name__x__");
    }
}

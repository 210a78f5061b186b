//! Texts made to be slow or to nest deeply.

/// As long as a text may be.
pub(crate) const LIMIT: usize = 64 * 1024;

/// The texts by name, in proportion to `limit` and none of them longer.
pub(crate) fn texts(limit: usize) -> Vec<(&'static str, String)> {
    let full = |unit: &str| unit.repeat(limit / unit.len());
    let numbered = |unit: &str, times: usize| -> String {
        (1..times).map(|n| unit.replace("<n>", &n.to_string()).replace("<p>", &(n - 1).to_string())).collect()
    };
    let nested = |open: &str, close: &str, depth: usize, fill: &str| {
        let body = full(fill);
        let room = limit.saturating_sub((open.len() + close.len()) * depth);
        let body = body.get(..room - room % fill.len()).unwrap_or("").to_owned();
        format!("{}{body}{}", open.repeat(depth), close.repeat(depth))
    };
    vec![
        ("$(", full("$(")),
        ("((", full("((")),
        ("$((", full("$((")),
        ("{ ", full("{ ")),
        ("{a,", format!("echo {}", full("{a,").get(..limit - 8).unwrap_or(""))),
        ("{a,b}", format!("echo {}", full("{a,b}").get(..limit - 8).unwrap_or(""))),
        ("quotes", full("\"'\"")),
        ("apostrophes", full("''")),
        ("heredocs", full("cat <<E\n$(x)\nE\n")),
        ("open heredocs", full("<<A ")),
        ("${x:-", full("${x:-")),
        ("`", full("`a`")),
        ("\\`", full("\\`")),
        ("continuations", full("\\\n")),
        ("assignments", full("a=$a$a;")),
        ("known values", format!("a={};{}", "x".repeat(limit / 32), "echo $a;".repeat(limit / 9))),
        (
            "loops",
            format!("{}{}", full("b=1;").get(..limit / 2).unwrap_or(""), "for i in 1;do c;done\n".repeat(limit / 43)),
        ),
        ("functions", format!("f0(){{ a; a; }};{}f{}", numbered("f<n>(){ f<p>;f<p>;};", limit / 320), limit / 320 - 1)),
        ("arithmetic names", format!("{}((x{}))", numbered("x<n>=x<p>+x<p>;", limit / 72), limit / 72 - 1)),
        ("evals", full("eval eval ")),
        ("nested sh -c", full("sh -c \"")),
        ("63 subshells of words", nested("(", ")", 60, "a b c;")),
        ("63 $(( of digits", nested("$((", "))", 60, "1+")),
        ("dashes", full("-")),
        ("cd", full("cd aaaa;")),
        ("redirects around", format!("{{ {} }} {}", "a;".repeat(limit / 32), ">x ".repeat(limit * 15 / 64))),
        ("[[ (", format!("[[ {}", full("( ").get(..limit - 8).unwrap_or(""))),
        ("case", full("case x in ")),
        ("unclosed subscript", full("a[")),
        ("many layers", full("sudo ")),
        ("find -exec", format!("find {}", full("-exec a {} ; ").get(..limit - 8).unwrap_or(""))),
        ("xargs", full("xargs ")),
        ("nested loops", format!("X=a;{}b{}", "while c; do X=$X; ".repeat(40), "; done".repeat(40))),
        ("script files", numbered("./a<n>;", limit / 17)),
        ("repositories", numbered("git -C a<n> log;", limit / 20)),
        ("tasks", numbered("(cd a<n>;npm run b);", limit / 50)),
        ("programs", numbered("p<n> --version;", limit / 19)),
        ("for nested", nested("for i in 1 2 3 4 5 6 7 8; do ", "; done", 40, "a;")),
    ]
}

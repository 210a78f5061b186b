//! Paths in settings that are not rules: `/x` and `//x` absolute, `~/x` from home, anything else from a root.

use mayi_core::path;

/// The absolute, clean path; `None` when nobody can say which one is meant. Pattern characters stay as they are.
pub(crate) fn resolve(text: &str, root: &str, home: Option<&str>) -> Option<String> {
    let trimmed = text.strip_suffix("/**").unwrap_or(text);
    if text.is_empty() || text.contains('\0') {
        return None;
    }
    match trimmed.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => Some(path::clean(&format!("{}/{rest}", home?))),
        Some(_) => None,
        None if trimmed.is_empty() => Some("/".to_owned()),
        None => Some(path::join(root, trimmed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_prefix_has_its_root() {
        let at = |text| resolve(text, "/w", Some("/home/u"));
        assert_eq!(at("/x").as_deref(), Some("/x"));
        assert_eq!(at("//x").as_deref(), Some("/x"));
        assert_eq!(at("~/x/").as_deref(), Some("/home/u/x"));
        assert_eq!(at("~").as_deref(), Some("/home/u"));
        assert_eq!(at("./x").as_deref(), Some("/w/x"));
        assert_eq!(at("../x").as_deref(), Some("/x"));
        assert_eq!(at(".").as_deref(), Some("/w"));
        assert_eq!(at("~/**").as_deref(), Some("/home/u"));
        assert_eq!(at("/**").as_deref(), Some("/"));
        assert_eq!(at("~root/x"), None);
        assert_eq!(at(""), None);
        assert_eq!(resolve("~/x", "/w", None), None);
    }
}

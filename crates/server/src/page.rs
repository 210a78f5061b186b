//! The page that people's browsers load: files written by hand, part of the program, served as they are.
//!
//! They hold nothing about anybody, so whoever asks gets them; what they show comes from the API, where everybody says
//! who they are. Nothing here is ever made from what an agent sent.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::routing::get;
use sha2::{Digest as _, Sha256};

/// A file of the page: its address, its type, what it holds.
struct File {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

const HTML: &str = "text/html; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

macro_rules! files {
    ($($path:literal, $kind:ident, $file:literal;)*) => {
        &[$(File { path: $path, kind: $kind, bytes: include_bytes!(concat!("../page/", $file)) },)*]
    };
}

const FILES: &[File] = files! {
    "/", HTML, "index.html";
    "/base.css", STYLE, "base.css";
    "/views.css", STYLE, "views.css";
    "/icon.svg", IMAGE, "icon.svg";
    "/theme.js", SCRIPT, "theme.js";
    "/activity.js", SCRIPT, "activity.js";
    "/agents.js", SCRIPT, "agents.js";
    "/answer.js", SCRIPT, "answer.js";
    "/api.js", SCRIPT, "api.js";
    "/app.js", SCRIPT, "app.js";
    "/approvals.js", SCRIPT, "approvals.js";
    "/diff.js", SCRIPT, "diff.js";
    "/dom.js", SCRIPT, "dom.js";
    "/inert.js", SCRIPT, "inert.js";
    "/insights.js", SCRIPT, "insights.js";
    "/keys.js", SCRIPT, "keys.js";
    "/live.js", SCRIPT, "live.js";
    "/pipeline.js", SCRIPT, "pipeline.js";
    "/plots.js", SCRIPT, "plots.js";
    "/policy.js", SCRIPT, "policy.js";
    "/question.js", SCRIPT, "question.js";
    "/sign-in.js", SCRIPT, "sign-in.js";
    "/waiting.js", SCRIPT, "waiting.js";
    "/words.js", SCRIPT, "words.js";
};

/// The icon of a page where questions wait; `COUNT` stands where the number goes.
const WAITING_ICON: &str = include_str!("../page/icon-waiting.svg");

/// A file as it is sent.
#[derive(Clone)]
struct Asset {
    kind: HeaderValue,
    tag: HeaderValue,
    bytes: Bytes,
}

impl Asset {
    fn new(kind: &'static str, bytes: Bytes) -> Self {
        let hash: String = Sha256::digest(&bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        // Digits between quotes are always a header's value; without one the file would only be sent again each time.
        let tag = HeaderValue::try_from(format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""));
        Self { kind: HeaderValue::from_static(kind), tag, bytes }
    }

    /// The file, or that the browser has it already. It asks each time: a new program brings a new page.
    fn answer(&self, asked: &HeaderMap) -> Response<Body> {
        let is_known = asked.get_all(IF_NONE_MATCH).iter().any(|tags| self.is_named_in(tags));
        let mut response = Response::new(Body::empty());
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else {
            *response.body_mut() = Body::from(self.bytes.clone());
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, self.kind.clone());
        headers.insert(ETAG, self.tag.clone());
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    fn is_named_in(&self, tags: &HeaderValue) -> bool {
        let names = |tag: &str| tag == "*" || tag.as_bytes() == self.tag.as_bytes();
        tags.to_str().is_ok_and(|tags| tags.split(',').any(|tag| names(tag.trim().trim_start_matches("W/"))))
    }
}

/// Every file with its address; the icons with a number are made from one.
fn assets() -> Vec<(String, Asset)> {
    let files = FILES.iter().map(|file| (file.path.to_owned(), Asset::new(file.kind, Bytes::from_static(file.bytes))));
    let icons = (1..=10).map(|waiting| {
        let count = if waiting > 9 { "9+".to_owned() } else { waiting.to_string() };
        let drawn = WAITING_ICON.replace("COUNT", &count);
        (format!("/icon-{waiting}.svg"), Asset::new(IMAGE, Bytes::from(drawn)))
    });
    files.chain(icons).collect()
}

/// The addresses of the page.
pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    assets().into_iter().fold(Router::new(), |router, (path, asset)| {
        let asset = Arc::new(asset);
        router.route(&path, get(move |asked: HeaderMap| async move { asset.answer(&asked) }))
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn sources() -> Vec<(String, String)> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let read = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().expect("a name");
            let text = fs::read_to_string(entry.path()).expect("a text");
            (name, text)
        };
        fs::read_dir(folder).expect("the page").map(|entry| read(entry.expect("an entry"))).collect()
    }

    /// Ways by which a text could become markup, a script, a style or an address.
    const SINKS: &[&str] = &[
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "createContextualFragment",
        "DOMParser",
        "setHTMLUnsafe",
        "srcdoc",
        "eval(",
        "Function(",
        "importScripts",
        "javascript:",
        "window.open",
        ".cssText",
        "insertRule",
        "postMessage",
        "sessionStorage",
        "document.cookie",
    ];

    #[test]
    fn no_file_of_the_page_has_a_way_from_text_to_markup() {
        for (name, text) in sources() {
            for sink in SINKS {
                assert!(!text.contains(sink), "{name} uses `{sink}`");
            }
            for only_here in ["createElement", "setAttribute(", ".src =", ".href ="] {
                assert!(name == "dom.js" || !text.contains(only_here), "{name}: `{only_here}` belongs to dom.js");
            }
        }
    }

    #[test]
    fn the_page_loads_nothing_from_elsewhere_and_has_no_script_or_style_in_its_markup() {
        for (name, text) in sources() {
            let addresses = text.replace("http://www.w3.org/2000/svg", "").replace("https://example.org", "");
            assert!(!addresses.contains("://") && !addresses.contains("url("), "{name} names an address");
            assert!(!name.ends_with(".css") || !text.contains("@import"), "{name} imports");
        }
        let html = std::str::from_utf8(FILES[0].bytes).expect("text");
        assert!(!html.contains("style=") && !html.contains("<style"), "styles stand in style sheets");
        assert!(html.matches("<script").count() == html.matches("<script src=\"/").count() + 1, "scripts are files");
        assert!(html.contains("<script type=\"module\" src=\"/app.js\"></script>"));
        assert!(!html.split('<').any(|tag| tag.contains(" on")), "no handler in the markup");
    }

    #[test]
    fn every_file_is_served_and_every_file_that_is_named_is_there() {
        for (name, text) in sources() {
            let path = if name == "index.html" { "/".to_owned() } else { format!("/{name}") };
            assert!(name == "icon-waiting.svg" || FILES.iter().any(|file| file.path == path), "{name} is not served");
            let imported = text.split("'./").skip(1).filter_map(|rest| rest.split('\'').next());
            let linked = text.split("=\"/").skip(1).filter_map(|rest| rest.split('"').next());
            for other in imported.chain(linked.filter(|_| name == "index.html")) {
                assert!(FILES.iter().any(|file| file.path == format!("/{other}")), "{name} names `{other}`");
            }
        }
    }

    #[test]
    fn the_page_is_small() {
        let size: usize = FILES.iter().map(|file| file.bytes.len()).sum();
        assert!(size < 150 * 1024, "{size} bytes");
    }

    #[test]
    fn a_browser_that_has_a_file_is_not_sent_it_again() {
        let (_, asset) = assets().remove(0);
        let fresh = asset.answer(&HeaderMap::new());
        assert_eq!((fresh.status(), &fresh.headers()[CONTENT_TYPE]), (StatusCode::OK, &HeaderValue::from_static(HTML)));
        let tag = fresh.headers()[ETAG].to_str().expect("a tag").to_owned();
        for (tags, status) in [
            (tag.clone(), StatusCode::NOT_MODIFIED),
            (format!("\"other\", W/{tag}"), StatusCode::NOT_MODIFIED),
            ("*".to_owned(), StatusCode::NOT_MODIFIED),
            ("\"other\"".to_owned(), StatusCode::OK),
            (tag.trim_matches('"').to_owned(), StatusCode::OK),
        ] {
            let asked = HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::try_from(&tags).expect("a header"))]);
            assert_eq!(asset.answer(&asked).status(), status, "{tags}");
        }
    }

    #[test]
    fn the_icon_shows_how_many_wait() {
        let assets = assets();
        for (path, count) in [("/icon-1.svg", ">1<"), ("/icon-9.svg", ">9<"), ("/icon-10.svg", ">9+<")] {
            let (_, asset) = assets.iter().find(|(own, _)| own == path).expect(path);
            assert!(String::from_utf8_lossy(&asset.bytes).contains(count), "{path}");
        }
    }
}

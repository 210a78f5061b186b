//! The variables by which programs inside a sandbox find the proxy.

/// By which protocol a variable's readers speak to the proxy.
#[derive(Clone, Copy)]
enum Form {
    /// `http://127.0.0.1:PORT`.
    Address,
    /// `127.0.0.1:PORT`.
    Bare,
    /// A word that does not depend on the port.
    Fixed(&'static str),
}

/// Variables, with who reads them.
const VARIABLES: [(&str, Form); 14] = [
    // curl, git, pip, cargo, go, wget and nearly everything else; some read one spelling only.
    ("HTTP_PROXY", Form::Address),
    ("http_proxy", Form::Address),
    ("HTTPS_PROXY", Form::Address),
    ("https_proxy", Form::Address),
    // An HTTP address, although SOCKS is spoken too: Python's httpx fails at its start, for whatever host, when it reads a
    // SOCKS address here and its add-on for SOCKS is not installed.
    ("ALL_PROXY", Form::Address),
    ("all_proxy", Form::Address),
    // What a program serves for itself inside the sandbox.
    ("NO_PROXY", Form::Fixed("localhost,127.0.0.1,::1")),
    ("no_proxy", Form::Fixed("localhost,127.0.0.1,::1")),
    // Node's own `fetch`, which would look at the others only if it is told so.
    ("NODE_USE_ENV_PROXY", Form::Fixed("1")),
    // Yarn from version 2 on.
    ("YARN_HTTP_PROXY", Form::Address),
    ("YARN_HTTPS_PROXY", Form::Address),
    // Downloads of Electron and what is built with it.
    ("ELECTRON_GET_USE_PROXY", Form::Fixed("1")),
    // gRPC.
    ("grpc_proxy", Form::Address),
    ("RSYNC_PROXY", Form::Bare),
];

/// The variables for a proxy at a port of the sandbox's own loopback.
pub fn inside_environment(port: u16) -> Vec<(String, String)> {
    let value = |form| match form {
        Form::Address => format!("http://127.0.0.1:{port}"),
        Form::Bare => format!("127.0.0.1:{port}"),
        Form::Fixed(word) => word.to_owned(),
    };
    VARIABLES.iter().map(|(name, form)| ((*name).to_owned(), value(*form))).collect()
}

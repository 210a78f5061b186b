//! The keys below `sandbox`. What loosens confinement cannot come from a repository.

use super::{Key, Scope, Shape};

const LOOSE_WHEN_TRUE: Scope = Scope::Tightening { loose: true };
const LOOSE_WHEN_FALSE: Scope = Scope::Tightening { loose: false };
const PORT: Shape = Shape::Count { least: 1, most: 65_535 };

const FILESYSTEM: &[Key] = &[
    Key::new("allowWrite", Shape::Paths, "Paths that commands may also write.").only(Scope::Person),
    Key::new("denyWrite", Shape::Paths, "Paths that commands may not write."),
    Key::new("denyRead", Shape::Paths, "Paths that commands may not read."),
    Key::new("allowRead", Shape::Paths, "Narrower paths that are readable again.").only(Scope::Person),
    Key::new("allowManagedReadPathsOnly", Shape::Flag, "Only the organisation may re-open paths for reading.")
        .only(Scope::Managed)
        .sticky(),
    Key::new("disabled", Shape::Flag, "Files are not confined.").only(Scope::Outside),
];

const NETWORK: &[Key] = &[
    Key::new("allowedDomains", Shape::Texts, "Hosts that commands may reach: `x.org`, `*.x.org`, `x.org:443`.")
        .only(Scope::Person),
    Key::new("deniedDomains", Shape::Texts, "Hosts that commands may never reach."),
    Key::new("strictAllowlist", Shape::Flag, "A host that is not listed is refused, never asked about.")
        .only(Scope::Outside)
        .sticky(),
    Key::new("allowManagedDomainsOnly", Shape::Flag, "Only the organisation may allow hosts.")
        .only(Scope::Managed)
        .sticky(),
    Key::new("allowUnixSockets", Shape::Paths, "Unix sockets that commands may use.").only(Scope::Person),
    Key::new("allowAllUnixSockets", Shape::Flag, "Commands may use any Unix socket.").only(LOOSE_WHEN_TRUE),
    Key::new("allowLocalBinding", Shape::Flag, "Commands may listen on local ports.").only(LOOSE_WHEN_TRUE),
    Key::new("allowMachLookup", Shape::Texts, "macOS services that commands may look up.").only(Scope::Person),
    Key::new("httpProxyPort", PORT, "A proxy of your own for HTTP, which then does the filtering.").only(Scope::Person),
    Key::new("socksProxyPort", PORT, "A proxy of your own for SOCKS, which then does the filtering.")
        .only(Scope::Person),
    Key::new("tlsTerminate", Shape::Object(TLS), "The proxy opens TLS to look inside. Experimental.")
        .only(Scope::Outside),
];

const TLS: &[Key] = &[
    Key::new("caCertPath", Shape::Text, "The certificate that signs."),
    Key::new("caKeyPath", Shape::Text, "The key of that certificate."),
];

const MODE: Shape = Shape::Word(&["deny", "mask"]);
const NO_MATCH: Shape = Shape::Word(&["warn", "deny", "error"]);

const SECRET_FILE: &[Key] = &[
    Key::new("path", Shape::Path, "The file with the secret."),
    Key::new("mode", MODE, "deny: it cannot be read. mask: its secret is replaced."),
    Key::new("extract", Shape::Text, "Where the secret stands in the file."),
    Key::new("onExtractNoMatch", NO_MATCH, "What happens when nothing stands there."),
    Key::new("decode", Shape::Word(&["jwt"]), "How the secret is encoded."),
    Key::new("maskClaims", Shape::Texts, "Claims of a token that are masked too."),
    Key::new("maskDuplicates", Shape::Flag, "Masks every other place with the same secret."),
    Key::new("injectHosts", Shape::Texts, "Hosts that the proxy gives the real secret to."),
];

const SECRET_VARIABLE: &[Key] = &[
    Key::new("name", Shape::Text, "The variable with the secret."),
    Key::new("mode", MODE, "deny: it is not set. mask: its secret is replaced."),
    Key::new("extract", Shape::Text, "Where the secret stands in the value."),
    Key::new("onExtractNoMatch", NO_MATCH, "What happens when nothing stands there."),
    Key::new("decode", Shape::Word(&["jwt"]), "How the secret is encoded."),
    Key::new("maskClaims", Shape::Texts, "Claims of a token that are masked too."),
    Key::new("injectHosts", Shape::Texts, "Hosts that the proxy gives the real secret to."),
];

const CREDENTIALS: &[Key] = &[
    Key::new("files", Shape::List(SECRET_FILE), "Files with secrets, kept from commands."),
    Key::new("envVars", Shape::List(SECRET_VARIABLE), "Variables with secrets, kept from commands."),
    Key::new("allowPlaintextInject", Shape::Flag, "Secrets may also be injected without TLS.").only(Scope::Outside),
    Key::new("awsPairs", Shape::Anything, "Pairs of keys for request signing.").only(Scope::Outside),
    Key::new("sigv4", Shape::Anything, "Request signing.").only(Scope::Outside),
];

const RIPGREP: &[Key] = &[
    Key::new("command", Shape::Text, "The program to search with."),
    Key::new("args", Shape::Texts, "Its first arguments."),
];

pub(super) const KEYS: &[Key] = &[
    Key::new("enabled", Shape::Flag, "Shell commands run confined.").only(LOOSE_WHEN_FALSE),
    Key::new("failIfUnavailable", Shape::Flag, "Nothing runs where confinement is not available.")
        .only(LOOSE_WHEN_FALSE),
    Key::new("autoAllowBashIfSandboxed", Shape::Flag, "A confined command needs no question. On unless set to false.")
        .only(LOOSE_WHEN_TRUE),
    Key::new("excludedCommands", Shape::Texts, "Commands that run outside.").only(Scope::Person),
    Key::new("allowUnsandboxedCommands", Shape::Flag, "A call may ask to run outside. On unless set to false.")
        .only(LOOSE_WHEN_TRUE),
    Key::new("derive", Shape::Flag, "What the analysis claims of a command becomes its confinement.")
        .only(LOOSE_WHEN_FALSE),
    Key::new("ignoreViolations", Shape::Map(&Shape::Texts), "Reports that are not shown, by part of the command.")
        .only(Scope::Person),
    Key::new("enableWeakerNestedSandbox", Shape::Flag, "Binds the existing /proc, inside containers.")
        .only(LOOSE_WHEN_TRUE),
    Key::new("enableWeakerNetworkIsolation", Shape::Flag, "Lets macOS check certificates.").only(LOOSE_WHEN_TRUE),
    Key::new("allowAppleEvents", Shape::Flag, "Commands may send Apple events.").only(Scope::Outside),
    Key::new("ripgrep", Shape::Object(RIPGREP), "The search program inside.").only(Scope::Outside),
    Key::new("bwrapPath", Shape::Text, "The bubblewrap to use.").only(Scope::Managed),
    Key::new("socatPath", Shape::Text, "The socat to use.").only(Scope::Managed),
    Key::new("filesystem", Shape::Object(FILESYSTEM), "Files that commands may read and write."),
    Key::new("network", Shape::Object(NETWORK), "Hosts and sockets that commands may reach."),
    Key::new("credentials", Shape::Object(CREDENTIALS), "Secrets that commands never see."),
];

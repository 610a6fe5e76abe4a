//! The environment of a command: built up from what it needs, not inherited.
//!
//! A variable that happens to be set where AgentOS was started (a key of another tool, `GIT_DIR`) would make a run
//! differ from the next one, and hand secrets to programs that have no business with them.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// What every command gets, if it is set.
const NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TZ",
    "LANG",
    "LANGUAGE",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
];

/// Also in small letters.
const PROXIES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "FTP_PROXY"];

/// Everything that begins so.
const LOCALE: &str = "LC_";

/// Where programs are looked for if nobody says so.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment of a command: what it needs of `inherited`, and all of `added`.
///
/// Variables that are not text are left out: nothing in the list above needs to be anything else.
pub fn built_up(
    inherited: impl IntoIterator<Item = (OsString, OsString)>,
    added: impl IntoIterator<Item = (String, String)>,
) -> BTreeMap<String, String> {
    let inherited = inherited.into_iter().filter_map(|(name, value)| {
        let name = name.into_string().ok().filter(|name| is_needed(name))?;
        Some((name, value.into_string().ok()?))
    });
    let mut environment = BTreeMap::from([("PATH".to_owned(), PATH.to_owned())]);
    environment.extend(inherited);
    environment.extend(added);
    environment
}

fn is_needed(name: &str) -> bool {
    let is_proxy =
        || PROXIES.iter().any(|proxy| *proxy == name || proxy.to_ascii_lowercase() == name);
    NAMES.contains(&name) || name.starts_with(LOCALE) || is_proxy()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(inherited: &[(&str, &str)], added: &[(&str, &str)]) -> Vec<String> {
        let inherited = inherited.iter().map(|(name, value)| (name.into(), value.into()));
        let added = added.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        built_up(inherited, added)
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect()
    }

    #[test]
    fn only_what_is_needed_is_inherited() {
        let inherited = [
            ("PATH", "/bin"),
            ("HOME", "/home/a"),
            ("LC_ALL", "C"),
            ("https_proxy", "http://p"),
            ("SSH_AUTH_SOCK", "/s"),
            ("GIT_DIR", "/x"),
            ("OPENAI_API_KEY", "k"),
            ("LD_PRELOAD", "/evil.so"),
        ];
        assert_eq!(
            environment(&inherited, &[]),
            ["HOME=/home/a", "LC_ALL=C", "PATH=/bin", "SSH_AUTH_SOCK=/s", "https_proxy=http://p"]
        );
    }

    #[test]
    fn what_is_added_counts_more_and_there_is_always_a_path() {
        assert_eq!(environment(&[], &[("X", "1")]), [format!("PATH={PATH}"), "X=1".to_owned()]);
        assert_eq!(environment(&[("PATH", "/a")], &[("PATH", "/b")]), ["PATH=/b"]);
    }
}

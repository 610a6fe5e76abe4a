//! What git means when an exchange with a remote ends badly: by its words, which are the only sign that it gives.

/// Words that another try would only hear again. Whatever is not here may pass: trying again is harmless, and bounded.
const LASTING: [&str; 22] = [
    "could not read username",
    "could not read password",
    "authentication failed",
    "invalid username or",
    "permission denied",
    "access denied",
    "terminal prompts disabled",
    "host key verification failed",
    "repository not found",
    "does not appear to be a git repository",
    "' not found",
    "does not exist",
    "returned error: 401",
    "returned error: 403",
    "returned error: 404",
    "unable to find remote helper",
    "is not supported",
    "dubious ownership",
    "shallow update not allowed",
    "not allowed",
    "unable to access",
    "not a git repository",
];

/// Words of trouble with the network, though git says that it was unable to access something.
const PASSING: [&str; 8] = [
    "could not resolve host",
    "failed to connect",
    "couldn't connect",
    "timed out",
    "connection reset",
    "returned error: 5",
    "returned error: 429",
    "empty reply",
];

/// Whether it would be the same however often it is tried.
pub(in crate::version_control) fn is_lasting(said: &str) -> bool {
    let said = said.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
    has(&LASTING) && !has(&PASSING)
}

/// Why a branch was not taken, by the lines that `git push --porcelain` writes: `!`, the two names, `[rejected] (reason)`.
pub(in crate::version_control) fn rejection(output: &str) -> Option<String> {
    let line = output.lines().find_map(|line| line.strip_prefix("!\t"))?;
    let told = line.split('\t').nth(1).unwrap_or(line);
    let reason = told.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    Some(reason.unwrap_or(told).to_owned())
}

/// Whether that reason is about the moment: somebody was faster, or has the lock.
pub(in crate::version_control) fn is_of_the_moment(reason: &str) -> bool {
    ["stale info", "cannot lock ref", "failed to update ref", "fetch first"]
        .iter()
        .any(|word| reason.contains(word))
}

/// What the remote itself said, which git marks.
pub(in crate::version_control) fn remote_words(complaint: &str) -> String {
    let lines = complaint.lines().filter_map(|line| line.strip_prefix("remote: "));
    lines.map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_that_is_down_may_come_back_and_a_wrong_key_stays_wrong() {
        for lasting in [
            "git@host: Permission denied (publickey).",
            "fatal: could not read Username for 'https://host': terminal prompts disabled",
            "fatal: '/x' does not appear to be a git repository",
            "fatal: unable to access 'https://h/': The requested URL returned error: 403",
        ] {
            assert!(is_lasting(lasting), "{lasting}");
        }
        for passing in [
            "fatal: unable to access 'https://h/': Could not resolve host: h",
            "fatal: unable to access 'http://127.0.0.1:1/': Failed to connect to 127.0.0.1 port 1",
            "fatal: unable to access 'https://h/': The requested URL returned error: 503",
            "ssh: connect to host h port 22: Connection refused",
            "fatal: the remote end hung up unexpectedly",
        ] {
            assert!(!is_lasting(passing), "{passing}");
        }
    }

    #[test]
    fn the_reason_is_in_the_line_of_the_branch() {
        let output =
            "To /x\n!\tabc:refs/heads/a\t[remote rejected] (pre-receive hook declined)\nDone\n";
        assert_eq!(rejection(output).as_deref(), Some("pre-receive hook declined"));
        assert_eq!(rejection("To /x\n=\ta:b\t[up to date]\n"), None);
    }
}

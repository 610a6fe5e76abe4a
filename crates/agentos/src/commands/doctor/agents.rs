//! Coding agents: whether they are there, whether they are the ones that were tested, and whether they have a key. No key
//! is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_agent::agent::Facts;
use serde::Serialize;

use super::version_of;
use crate::agents::roster;
use crate::error::Result;
use crate::session::Session;
use crate::terminal::paint::Tone;
use crate::terminal::text::Line;

/// What is known about an agent.
#[derive(Serialize)]
pub(super) struct AgentReport {
    name: String,
    program: String,
    /// What it says about itself; none if it is not there.
    version: Option<String>,
    /// The version that this version of AgentOS was tested with.
    tested_version: &'static str,
    is_tested: bool,
    /// Where it has a key or a login from; none if nothing of that kind was found.
    credentials: Option<String>,
    install: &'static str,
}

/// Looks at every agent that is a program of its own.
pub(super) fn look(session: &Session) -> Result<Vec<AgentReport>> {
    let roster = roster(session, Path::new(""))?;
    let mut found = Vec::new();
    for name in roster.names() {
        let Ok(member) = roster.member(&name, &BTreeMap::new()) else { continue };
        let Some(facts) = member.agent.facts() else { continue };
        let version = version_of(&facts.program);
        let is_tested = version.as_deref().is_some_and(|version| is(version, facts.tested));
        let credentials = key(session, &member.env, &facts).or_else(|| login(session, &facts));
        found.push(AgentReport {
            name,
            program: facts.program,
            version,
            tested_version: facts.tested,
            is_tested,
            credentials,
            install: facts.install,
        });
    }
    Ok(found)
}

/// Whether the version is among what a program says about itself.
fn is(said: &str, version: &str) -> bool {
    said.split(|letter: char| !(letter.is_ascii_alphanumeric() || ".-+".contains(letter)))
        .any(|word| word.trim_start_matches('v') == version)
}

/// A variable that holds a key. Its value does not matter here.
fn key(session: &Session, given: &BTreeMap<String, String>, facts: &Facts) -> Option<String> {
    let is_set = |name: &str| {
        let own = session.surroundings.variable(name).is_some_and(|value| !value.is_empty());
        own || given.contains_key(name)
    };
    let name = facts.keys.iter().find(|name| is_set(name))?;
    Some(format!("key in {name}"))
}

/// A file that is there after a login. It is not opened.
fn login(session: &Session, facts: &Facts) -> Option<String> {
    facts.logins.iter().find_map(|(variable, folder, file)| {
        let said = session.surroundings.variable(variable).map(PathBuf::from);
        let home = || Some(session.surroundings.home.as_ref()?.join(folder));
        let path = said.or_else(home)?.join(file);
        path.exists().then(|| format!("logged in ({})", path.display()))
    })
}

impl AgentReport {
    pub(super) fn line(&self) -> Line {
        let line = Line::of(Tone::Plain, &format!("{:<10}", self.name));
        let Some(version) = &self.version else {
            return line.with(Tone::Faint, &format!("not found ({})", self.install));
        };
        let mut line = line.with(Tone::Good, version);
        if !self.is_tested {
            line.push(Tone::Warning, &format!("  not tested, {} was", self.tested_version));
        }
        match &self.credentials {
            Some(credentials) => line.push(Tone::Faint, &format!("  {credentials}")),
            None => line.push(Tone::Warning, "  no key and no login found"),
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_a_program_says() {
        for said in ["2.1.325 (Claude Code)", "codex-cli 2.1.325", "v2.1.325"] {
            assert!(is(said, "2.1.325"), "{said}");
        }
        assert!(!is("2.1.3251", "2.1.325") && !is("12.1.325", "2.1.325"));
    }
}

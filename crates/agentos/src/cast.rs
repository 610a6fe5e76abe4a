//! Who plays which role of a workflow, and whether they are there: known before a run starts, and before it costs money.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agentos_agent::roster::{Member, Roster};

use crate::agents::roster;
use crate::catalog::Listed;
use crate::error::{Cause, CommandError, Result};
use crate::session::Session;

/// Gives every role of the workflow to an agent: to whom the command line says, else the configuration, else the workflow
/// itself. Beside, who works in whose place stays as it is said.
pub(crate) fn cast(
    session: &Session,
    workflow: &Listed,
    said: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>> {
    let roster = roster(session, Path::new(""))?;
    let mut cast = said.clone();
    for (role, default) in &workflow.agents {
        let configured = session.config.roles.agent(&workflow.name, role);
        let player = said.get(role).map(String::as_str).or(configured).unwrap_or(default);
        cast.insert(role.clone(), player.to_owned());
        // A scenario is played in the role's own name.
        let name = if player.contains(':') { role } else { player };
        let member = roster.member(name, &cast).map_err(|error| {
            let message = format!("the role `{role}` of {}: {error}", workflow.name);
            CommandError::usage(message).because(Cause::Agents).field(format!("/agents/{role}"))
        })?;
        if !is_there(session, &member) {
            return Err(missing(session, &roster, (workflow, role), &member));
        }
    }
    Ok(cast)
}

/// Whether the program of an agent can be found. Where the environment is made by direnv, nobody knows before it is.
fn is_there(session: &Session, member: &Member) -> bool {
    let checkout = session.location().ok().and_then(|found| found.checkout.as_ref().ok()?.as_ref());
    if checkout.is_some_and(|checkout| checkout.root.join(".envrc").exists()) {
        return true;
    }
    let Some(program) = member.agent.program() else { return true };
    if program.contains('/') {
        return is_program(Path::new(&program));
    }
    let own = member.env.get("PATH").map(std::ffi::OsStr::new);
    let path = own.or_else(|| session.surroundings.variable("PATH"));
    // Without one, the system's own is taken; what is in there can't be known.
    path.is_none_or(|path| {
        std::env::split_paths(path).any(|folder| is_program(&folder.join(&program)))
    })
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn missing(
    session: &Session,
    roster: &Roster,
    (workflow, role): (&Listed, &str),
    member: &Member,
) -> CommandError {
    let nobody = BTreeMap::new();
    let names = roster.names();
    let is_installed = |name: &&String| match roster.member(name, &nobody) {
        Ok(member) => is_there(session, &member),
        // It has nothing to play yet, and is here all the same.
        Err(_) => *name == "scripted",
    };
    let installed: Vec<&str> = names.iter().filter(is_installed).map(String::as_str).collect();
    let other = installed.iter().find(|name| **name != "scripted");
    let other = other.copied().unwrap_or("scripted:FILE");
    let message = format!(
        "{} is not installed, and is to be the {role} of {}; installed: {}",
        member.name,
        workflow.name,
        installed.join(", ")
    );
    let install = member.agent.facts().map(|facts| format!("; or install it: {}", facts.install));
    let choose = |how: &str| {
        let install = install.as_deref().unwrap_or_default();
        format!(
            "choose another with `{how}`, or for good with `{role} = \"…\"` under [roles] in .agent/config.toml{install}"
        )
    };
    CommandError::usage(message)
        .because(Cause::Agents)
        .cli_hint(choose(&format!("--agent {role}={other}")))
        .api_hint(choose(&format!("\"agents\": {{\"{role}\": \"{other}\"}}")))
        .field(format!("/agents/{role}"))
}

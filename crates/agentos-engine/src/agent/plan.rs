//! How a try of a session begins: with a new session, or with one that there is already.

use agentos_agent::agent::Session;
use agentos_agent::roster::Member;
use agentos_agent::session;
use agentos_agent::usage::Baseline;
use agentos_core::failure::Failure;
use agentos_core::value::Value;

use super::known::{self, KnownSession};
use super::refused;
use super::request::{Asked, OnRetry};
use crate::performer::Order;

/// How a try begins.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// Which conversation.
    pub(super) session: Session,
    /// What that had used before.
    pub(super) before: Baseline,
    /// What the agent is told first.
    pub(super) opening: Opening,
    /// What a session is called that begins in this try because another one is not known any more.
    pub(super) fresh_id: String,
    /// For people: how it came to be this conversation.
    pub(super) remark: Option<String>,
}

/// What the agent is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Opening {
    /// What it was asked for.
    Prompt,
    /// That it was interrupted, and what it was asked for.
    GoOn,
    /// That somebody else was interrupted, and what was asked for.
    Anew,
}

impl Plan {
    /// Whether earlier sessions of the run are of any interest.
    pub(super) fn looks_back(order: &Order, asked: &Asked) -> bool {
        let is_retried = order.operation.scope().attempt().0 > 1;
        asked.resume.is_some()
            || order.r#try.0 > 1
            || (is_retried && asked.on_retry == OnRetry::Continue)
    }

    pub(super) fn of(
        order: &Order,
        asked: &Asked,
        member: &Member,
        known: &[KnownSession],
    ) -> Result<Self, Failure> {
        let (run, operation) = (order.run.to_string(), order.operation.as_str());
        let id_of = |part: &str| session::id(&run, operation, part).to_string();
        let fresh_id = id_of(&format!("{}-anew", order.r#try));
        let new = Self {
            session: Session::New(id_of("1")),
            before: Baseline::default(),
            opening: Opening::Prompt,
            fresh_id,
            remark: None,
        };
        let go_on = |id: &str, opening, remark: String| Self {
            session: Session::Resumed(id.to_owned()),
            before: known::used(known, id),
            opening,
            remark: Some(remark),
            ..new.clone()
        };
        let named = asked
            .resume
            .as_deref()
            .map(|name| named(known, name, (order, asked, member)))
            .transpose()?;
        if !member.agent.can_resume() {
            let again = order.r#try.0 > 1;
            let remark = "the agent was interrupted and can't go on; it begins anew".to_owned();
            let opening = if again { Opening::Anew } else { Opening::Prompt };
            return Ok(Self { remark: again.then_some(remark), opening, ..new });
        }
        if order.r#try.0 > 1 {
            let said = order.started.as_ref().and_then(|said| said.get("session_id"));
            let said = said.and_then(Value::as_str).map(ToOwned::to_owned);
            // Whoever was told its name before it began has it, even if nobody heard.
            let id = said.or_else(|| named.map(ToOwned::to_owned));
            let id = id.or_else(|| member.agent.takes_session_id().then(|| id_of("1")));
            let Some(id) = id else {
                let remark = "the agent died before it said a word; it begins anew".to_owned();
                return Ok(Self { remark: Some(remark), opening: Opening::Anew, ..new });
            };
            let remark = format!("the agent was interrupted; session {id} is resumed");
            return Ok(go_on(&id, Opening::GoOn, remark));
        }
        if let Some(id) = named {
            let name = asked.resume.as_deref().unwrap_or_default();
            let remark = format!("goes on with the session `{name}` ({id})");
            return Ok(go_on(id, Opening::Prompt, remark));
        }
        let name = order.operation.name();
        let earlier = name.and_then(|name| known::latest(known, name.as_str()).cloned());
        let is_retried = order.operation.scope().attempt().0 > 1;
        match earlier.and_then(|earlier| earlier.session_id) {
            Some(id) if is_retried && asked.on_retry == OnRetry::Continue => {
                let remark = format!("goes on with session {id} of the attempt before");
                Ok(go_on(&id, Opening::GoOn, remark))
            }
            _ => Ok(new),
        }
    }
}

/// The id of an earlier session of the run.
fn named<'a>(
    known: &'a [KnownSession],
    name: &str,
    (order, asked, member): (&Order, &Asked, &Member),
) -> Result<&'a str, Failure> {
    let Some(found) = known::latest(known, name) else {
        return Err(refused(format!(
            "no earlier session of this run is called `{name}`; `resume` takes the name of one"
        )));
    };
    if !member.agent.can_resume() {
        return Err(refused(format!("`{}` can't go on with a session", member.name)));
    }
    let whose = found.agent.as_deref().unwrap_or(&asked.agent);
    let put = |agent: &str| order.home.agents.get(agent).cloned().unwrap_or(agent.to_owned());
    // A scenario plays each agent as another one.
    let is_same = whose == asked.agent || (put(whose) == member.name && member.name != "scripted");
    if !is_same {
        let other = &asked.agent;
        return Err(refused(format!(
            "`{name}` is a session of `{whose}`, and `{other}` does not know it; go on with the same agent"
        )));
    }
    Ok(found.session_id.as_deref().unwrap_or_default())
}

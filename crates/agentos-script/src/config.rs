//! What a workflow says of itself.

use std::collections::BTreeMap;

use agentos_core::concurrency::Concurrency;
use agentos_core::name::Name;
use agentos_core::retry::{Backoff, RetryPolicy};
use agentos_core::time::Millis;
use agentos_core::value::Value;
use serde::{Deserialize, Serialize};

use crate::{limits, order};

/// The config of a workflow, as its author wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkflowConfig {
    /// Its name.
    pub name: String,
    /// What it does, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The author's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// How long a run may be active, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Milliseconds>,
    /// How long a run may take at all, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Milliseconds>,
    /// A JSON schema for the input, which says the order of its properties: see [`order`].
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "order::noted")]
    pub input: Option<Value>,
    /// Where it works: a kind of workspace, or more about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<Value>,
    /// How steps are retried that say nothing about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How many runs of it are at work at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// Its roles, and which agent plays each of them unless somebody says otherwise.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, String>,
}

/// How long a run may be active if nothing is said.
const TIMEOUT_MS: u64 = 3_600_000;

impl WorkflowConfig {
    /// How long a run may be active.
    #[must_use]
    pub fn active_time(&self) -> Millis {
        self.timeout.map_or(Millis::new(TIMEOUT_MS), Milliseconds::millis)
    }

    /// How steps are retried that say nothing about it.
    #[must_use]
    pub fn retry_policy(&self) -> RetryPolicy {
        let default = RetryPolicy::default();
        self.retry.as_ref().map_or(default, |retry| retry.over(default))
    }

    /// Who plays its roles in a run that knows who works in whose place: whom the run names, else whom the config names. A
    /// role that is given to a scenario (`scripted:FILE`) is left to whoever performs sessions.
    pub(crate) fn cast(&self, known: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let played =
            self.agents.iter().map(|(role, agent)| (role, known.get(role).unwrap_or(agent)));
        let by_agents = played.filter(|(_, agent)| !agent.contains(':'));
        by_agents.map(|(role, agent)| (role.clone(), agent.clone())).collect()
    }

    /// A config that is not known yet.
    pub(crate) const fn unnamed() -> Self {
        Self {
            name: String::new(),
            description: None,
            version: None,
            timeout: None,
            deadline: None,
            input: None,
            workspace: None,
            retry: None,
            concurrency: None,
            agents: BTreeMap::new(),
        }
    }

    /// Why the name can't be one.
    pub(crate) fn name_trouble(&self) -> Option<String> {
        let name = &self.name;
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let most = limits::WORKFLOW_NAME_BYTES;
        if name.len() > most {
            Some(format!("the name of the workflow has more than {most} characters"))
        } else if Name::new(name).is_err() || !name.bytes().all(allowed) {
            Some(format!(
                "`{name}` can't be the name of a workflow; use lower-case letters, digits and `-`"
            ))
        } else {
            None
        }
    }
}

/// A span of time as scripts count it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "f64")]
pub struct Milliseconds(f64);

impl Milliseconds {
    /// The same in the unit of the log. What is begun counts as a whole millisecond: nobody is woken early.
    #[must_use]
    pub fn millis(self) -> Millis {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is not negative, and what is too large becomes the largest"
        )]
        let whole = self.0.ceil() as u64;
        Millis::new(whole)
    }
}

impl TryFrom<Value> for Milliseconds {
    type Error = String;

    fn try_from(span: Value) -> Result<Self, String> {
        let wrong = || format!("{span} is not a time in milliseconds");
        span.as_f64().filter(|span| *span >= 0.0).map(Self).ok_or_else(wrong)
    }
}

impl From<Milliseconds> for f64 {
    fn from(span: Milliseconds) -> Self {
        span.0
    }
}

/// A retry policy as scripts write it: all of it may be left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Retry {
    /// `false`: one attempt and no other.
    Whether(bool),
    /// A policy.
    Policy(Box<PartialPolicy>),
}

/// The parts of a retry policy that somebody has written down.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PartialPolicy {
    /// How many attempts the step has in all.
    pub max_attempts: Option<u32>,
    /// How the delay grows.
    pub backoff: Option<Backoff>,
    /// The delay after the first attempt.
    pub delay: Option<Milliseconds>,
    /// What the delay never exceeds.
    pub max_delay: Option<Milliseconds>,
    /// Whether the delay is drawn between its half and its whole.
    pub jitter: Option<bool>,
}

impl Retry {
    /// This policy, where it says something; otherwise another.
    pub(crate) fn over(&self, base: RetryPolicy) -> RetryPolicy {
        match self {
            Self::Whether(true) => base,
            Self::Whether(false) => RetryPolicy::once(),
            Self::Policy(policy) => RetryPolicy {
                max_attempts: policy.max_attempts.unwrap_or(base.max_attempts).max(1),
                backoff: policy.backoff.unwrap_or(base.backoff),
                delay_ms: policy.delay.map_or(base.delay_ms, Milliseconds::millis),
                max_delay_ms: policy.max_delay.map_or(base.max_delay_ms, Milliseconds::millis),
                jitter: policy.jitter.unwrap_or(base.jitter),
            },
        }
    }
}

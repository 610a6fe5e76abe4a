//! The workflows of a program, by name.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::workflow::Workflow;

/// Workflows by name.
#[derive(Debug, Clone, Default)]
pub struct Workflows(BTreeMap<String, Workflow>);

/// Why a workflow was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RegisterError {
    /// There is one of this name.
    #[error("there are two workflows of the name `{0}`; give one of them another name")]
    Duplicate(String),
    /// Its name can't be one.
    #[error("`{0}` can't be the name of a workflow; use lower-case letters, digits and `-`")]
    Name(String),
}

impl Workflows {
    /// None so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// These and one more.
    ///
    /// # Errors
    /// [`RegisterError`], if its name is taken or can't be one.
    pub fn with(mut self, workflow: Workflow) -> Result<Self, RegisterError> {
        self.add(workflow)?;
        Ok(self)
    }

    /// Adds one.
    ///
    /// # Errors
    /// As [`Workflows::with`].
    pub fn add(&mut self, workflow: Workflow) -> Result<(), RegisterError> {
        let name = workflow.name().to_owned();
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if name.is_empty() || name.len() > NAME_BYTES || !name.bytes().all(allowed) {
            return Err(RegisterError::Name(name));
        }
        if self.0.contains_key(&name) {
            return Err(RegisterError::Duplicate(name));
        }
        self.0.insert(name, workflow);
        Ok(())
    }

    /// The one of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Workflow> {
        self.0.get(name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Workflow> {
        self.0.values()
    }
}

/// Longest name of a workflow, in bytes: it becomes part of ids and of file names.
const NAME_BYTES: usize = 100;

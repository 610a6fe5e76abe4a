//! What a workflow asked for becomes a call, and what is answered becomes a value. The name of the operation is the method.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use agentos_workspace::version_control::{
    DiffRequest, LogRequest, Mark, NewBranch, NewCommit, PushRequest, StatusRequest,
    VersionControl, VersionControlError,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::check::Check;
use super::wish::{OnBehind, Wish};

/// A call.
#[derive(Debug)]
pub(super) enum Errand {
    EnsureBranch(NewBranch),
    CurrentBranch,
    Commit(NewCommit),
    CurrentCommit,
    CurrentTree,
    StageAll,
    Status(StatusRequest),
    Diff(DiffRequest),
    Log(LogRequest),
    Push(PushRequest),
    CheckPr(Check),
    CreatePr(Box<Wish>),
}

impl Errand {
    pub(super) fn parse(operation: &OperationId, args: Value) -> Result<Self, Failure> {
        let name = operation.name().map(|name| name.to_string()).unwrap_or_default();
        Ok(match name.as_str() {
            "ensureBranch" => Self::EnsureBranch(read(&name, args)?),
            "getCurrentBranch" => Self::CurrentBranch,
            "commit" => Self::Commit(read(&name, args)?),
            "getCurrentCommit" => Self::CurrentCommit,
            "getCurrentTree" => Self::CurrentTree,
            "stageAll" => Self::StageAll,
            "status" => Self::Status(read(&name, args)?),
            "diff" => Self::Diff(read(&name, args)?),
            "log" => Self::Log(read(&name, args)?),
            "push" => Self::Push(read(&name, args)?),
            "checkPr" => Self::CheckPr(read(&name, args)?),
            "createPr" => {
                let wish: Wish = read(&name, args)?;
                wish.check()?;
                Self::CreatePr(Box::new(wish))
            }
            _ => return Err(refused(format!("there is no `{name}` in ctx.git"))),
        })
    }

    /// Whether it changes the worktree.
    pub(super) fn is_change(&self) -> bool {
        match self {
            Self::EnsureBranch(_) | Self::Commit(_) | Self::StageAll => true,
            Self::CreatePr(wish) => wish.on_behind == OnBehind::Rebase,
            _ => false,
        }
    }

    /// Whether it runs hooks, which may leave something at work.
    pub(super) fn starts_programs(&self) -> bool {
        self.is_change() || matches!(self, Self::Push(_) | Self::CreatePr(_))
    }

    /// The branch that it wants.
    pub(super) fn branch(&self) -> Option<&str> {
        match self {
            Self::EnsureBranch(wanted) => Some(&wanted.branch),
            _ => None,
        }
    }

    /// Does everything but what is about pull requests, which takes more than a repository.
    pub(super) fn run(
        &self,
        repository: &dyn VersionControl,
        mark: &Mark,
    ) -> Result<Value, VersionControlError> {
        Ok(match self {
            Self::EnsureBranch(wanted) => value(repository.ensure_branch(wanted)?),
            Self::CurrentBranch => value(repository.current_branch()?),
            Self::Commit(wanted) => value(repository.commit(wanted, mark)?),
            Self::CurrentCommit => value(repository.current_commit()?),
            Self::CurrentTree => value(repository.current_tree()?),
            Self::StageAll => value(repository.stage_all()?),
            Self::Status(wanted) => value(repository.status(wanted)?),
            Self::Diff(wanted) => value(repository.diff(wanted)?),
            Self::Log(wanted) => value(repository.log(wanted)?),
            Self::Push(wanted) => value(repository.push(wanted)?),
            Self::CheckPr(_) | Self::CreatePr(_) => Value::Null,
        })
    }
}

fn read<T: DeserializeOwned>(name: &str, args: Value) -> Result<T, Failure> {
    serde_json::from_value(args).map_err(|error| refused(format!("ctx.git.{name}: {error}")))
}

/// Answers have text for keys and nothing that JSON can't say.
fn value(answer: impl Serialize) -> Value {
    serde_json::to_value(answer).unwrap_or(Value::Null)
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::NonRetryable, message)
}

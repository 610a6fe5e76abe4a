//! Every kind of problem there is: what a program tells it by, its status, and its title.
//!
//! People read what a problem says; programs decide by its kind. So each kind names one cause, has one status, and keeps
//! its name for ever. The table in `docs/server.md` lists the same.

use axum::http::StatusCode;

/// What every kind begins with.
pub(crate) const PREFIX: &str = "urn:agentos:problem:";

macro_rules! kinds {
    ($($status:ident { $($name:ident $slug:literal $title:literal,)+ })+) => {
        /// A kind of problem. Each has one status and one name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ProblemKind {
            $($(#[doc = concat!($title, ".")] $name,)+)+
        }

        impl ProblemKind {
            /// All of them, by status.
            pub const ALL: &'static [Self] = &[$($(Self::$name,)+)+];

            /// The status of its answers.
            #[must_use]
            pub const fn status(self) -> StatusCode {
                match self {
                    $($(Self::$name)|+ => StatusCode::$status,)+
                }
            }

            /// Its name: the end of `type`.
            #[must_use]
            pub const fn slug(self) -> &'static str {
                match self {
                    $($(Self::$name => $slug,)+)+
                }
            }

            /// What kind of problem it is, in words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $($(Self::$name => $title,)+)+
                }
            }
        }
    };
}

kinds! {
    BAD_REQUEST {
        Unintelligible "bad-request" "The request can't be understood",
        WrongParameter "wrong-parameter" "A parameter or a header is wrong",
        NoJson "no-json" "The body is no JSON",
        UnclearHost "unclear-host" "It is not clear for which host the request is",
    }
    UNAUTHORIZED {
        TokenNeeded "token-needed" "A token is needed",
        TokenInvalid "token-invalid" "The token is not valid",
    }
    FORBIDDEN {
        ForeignPage "foreign-page" "A page of another site asks",
        ScopeTooSmall "scope-too-small" "The token is not good for this",
        AskedByRun "asked-by-run" "A run can't do this",
        UnknownProcess "unknown-process" "It is not known which process asks",
    }
    NOT_FOUND {
        NothingHere "not-found" "There is nothing at this address",
        UnknownRun "unknown-run" "There is no such run",
        UnknownStep "unknown-step" "The run has no such step",
        UnknownWorkflow "unknown-workflow" "There is no such workflow",
        UnknownProject "unknown-project" "There is no such project",
        UnknownArtifact "unknown-artifact" "There is no such artifact",
        UnknownWorkspace "unknown-workspace" "There is no such workspace",
        FileGone "file-gone" "The file is gone",
    }
    METHOD_NOT_ALLOWED {
        OtherMethod "method-not-allowed" "The address does not take this method",
    }
    REQUEST_TIMEOUT {
        TooSlow "too-slow" "The request took too long",
    }
    CONFLICT {
        AmbiguousWorkflow "ambiguous-workflow" "Several projects have this workflow",
        WorkflowNotStartable "workflow-not-startable" "The workflow can't be started as it is",
        WorkflowHasFile "workflow-has-file" "The workflow's file exists",
        WorkflowBuiltIn "workflow-built-in" "The workflow is a part of the program",
        WorkflowHasRuns "workflow-has-runs" "The workflow has runs",
        KeyUsedOtherwise "key-used-otherwise" "The key was used for another request",
        ProjectUnusable "project-unusable" "The project or its configuration can't be used as it is",
        ProjectInUse "project-in-use" "The project's runs are still needed",
        RunHasEnded "run-has-ended" "The run has ended",
        RunIsDriven "run-is-driven" "Somebody drives the run",
        RunIsElsewhere "run-is-elsewhere" "The run goes on in another database",
        LatestDoesNotFit "latest-does-not-fit" "The run can't go on with the workflow as it is now",
        NotRetryable "not-retryable" "There is nothing to be mended in the run",
        NotForkable "not-forkable" "The run can't be forked there",
        FilesNotKept "files-not-kept" "The files are not known as they were",
        AmbiguousStep "ambiguous-step" "Several steps have this name",
        NothingToAnswer "nothing-to-answer" "The run asks nothing",
        AlreadyAnswered "already-answered" "The question has another answer already",
        ArtifactIsFolder "artifact-is-folder" "The artifact is a folder",
        NotAsKept "not-as-kept" "The file is not the one that was kept",
        AmbiguousWorkspace "ambiguous-workspace" "Several projects have this workspace",
        WorkspaceInUse "workspace-in-use" "Somebody works in the workspace",
        WorkspaceUnusable "workspace-unusable" "The workspace can't be used as it is",
        WorkspaceGone "workspace-gone" "The workspace is not there any more",
        WorkspaceThere "workspace-there" "The workspace is still there",
        WorkWouldBeLost "work-would-be-lost" "Work would be lost",
        NoBackup "no-backup" "There is no backup of the workspace",
        BackupUnusable "backup-unusable" "There can be no backup, or it can't be used",
    }
    PAYLOAD_TOO_LARGE {
        BodyTooLarge "body-too-large" "The body is too large",
    }
    UNSUPPORTED_MEDIA_TYPE {
        OtherMediaType "other-media-type" "The body is not said to be JSON",
    }
    RANGE_NOT_SATISFIABLE {
        NoSuchBytes "no-such-bytes" "There are no such bytes",
    }
    MISDIRECTED_REQUEST {
        ForeignHost "foreign-host" "The server does not answer under this name",
    }
    UNPROCESSABLE_ENTITY {
        WrongFields "wrong-fields" "Fields of the body are wrong",
        WrongInput "wrong-input" "The input is not what the workflow takes",
        OutsideProject "outside-project" "A file is not in the project",
        WrongWorkspace "wrong-workspace" "There can be no such workspace",
        WrongAgents "wrong-agents" "These agents can't be had",
        WrongProject "wrong-project" "The body names a project that is not served",
        ProjectNeeded "project-needed" "Several projects have this workflow, so one has to be named",
        WrongPath "wrong-path" "There is no project at this path",
        WrongStep "wrong-step" "The body names no step of the run",
        WrongEvent "wrong-event" "The event can't be sent like this",
        WrongMessage "wrong-message" "The message can't be kept like this",
        WrongQuestion "wrong-question" "The run does not ask this",
        QuestionNeeded "question-needed" "The run asks several questions, so one has to be named",
        WrongBackup "wrong-backup" "There is no such backup",
    }
    UPGRADE_REQUIRED {
        UpgradeNeeded "upgrade-needed" "This is the address of a WebSocket",
    }
    TOO_MANY_REQUESTS {
        TooMuch "too-much" "Too much is asked for by one connection",
    }
    INTERNAL_SERVER_ERROR {
        Failed "failed" "It was tried, and did not work",
    }
    SERVICE_UNAVAILABLE {
        Busy "busy" "There is too much to do right now",
        DatabaseUnusable "database-unusable" "A database can't be used",
        TokensUnchecked "tokens-unchecked" "Tokens can't be checked",
    }
    INSUFFICIENT_STORAGE {
        DiskFull "disk-full" "There is no room on the disk",
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The rows of the table of kinds.
    fn documented() -> BTreeSet<(String, String, String)> {
        let page = include_str!("../../../../docs/server.md");
        let table = page.lines().skip_while(|line| *line != "| `type` | status | `title` |");
        let rows = table.take_while(|line| line.starts_with('|')).filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let [slug, status, title] = cells[..] else { return None };
            let slug = slug.strip_prefix('`')?.strip_suffix('`')?;
            status.parse::<u16>().ok()?;
            Some((slug.to_owned(), status.to_owned(), title.to_owned()))
        });
        rows.collect()
    }

    #[test]
    fn every_kind_has_a_name_of_its_own_and_is_in_the_documentation() {
        let slugs: BTreeSet<&str> = ProblemKind::ALL.iter().map(|kind| kind.slug()).collect();
        assert_eq!(slugs.len(), ProblemKind::ALL.len(), "each name once");
        let known = ProblemKind::ALL.iter().map(|kind| {
            let status = kind.status().as_u16().to_string();
            (kind.slug().to_owned(), status, kind.title().to_owned())
        });
        assert_eq!(known.collect::<BTreeSet<_>>(), documented(), "docs/server.md lists the kinds");
    }
}

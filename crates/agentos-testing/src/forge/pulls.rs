//! Pull requests, and how each API writes them.

use serde::Serialize;
use serde_json::{Value, json};

/// Which API a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    GitHub,
    GitLab,
    Forgejo,
}

/// A pull request that was opened here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Pull {
    /// Its number.
    pub number: u64,
    /// Whose repository it is in: `OWNER/NAME`.
    pub repository: String,
    /// Its title.
    pub title: String,
    /// Its body.
    pub body: String,
    /// The branch with the changes.
    pub head: String,
    /// The branch that they are for.
    pub base: String,
    /// Whether it is a draft.
    pub draft: bool,
    /// Whether it is open.
    pub open: bool,
    /// Its labels.
    pub labels: Vec<String>,
    /// Who is asked for a review.
    pub reviewers: Vec<String>,
}

impl Pull {
    pub(super) fn read(dialect: Dialect, number: u64, repository: &str, sent: &Value) -> Self {
        let text = |key: &str| sent[key].as_str().unwrap_or_default().to_owned();
        let (body, head, base) = match dialect {
            Dialect::GitLab => ("description", "source_branch", "target_branch"),
            Dialect::GitHub | Dialect::Forgejo => ("body", "head", "base"),
        };
        let title = text("title");
        let draft = match dialect {
            Dialect::GitHub => sent["draft"] == true,
            Dialect::GitLab => title.starts_with("Draft: "),
            Dialect::Forgejo => title.starts_with("WIP: "),
        };
        let labels =
            text("labels").split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        Self {
            number,
            repository: repository.to_owned(),
            body: text(body),
            head: text(head),
            base: text(base),
            title,
            draft,
            open: true,
            labels,
            reviewers: Vec::new(),
        }
    }

    pub(super) fn written(&self, dialect: Dialect, url: &str) -> Value {
        let page = format!("{url}/{}/pull/{}", self.repository, self.number);
        match dialect {
            Dialect::GitHub | Dialect::Forgejo => json!({
                "number": self.number, "html_url": page, "state": if self.open { "open" } else { "closed" },
                "title": self.title, "body": self.body, "draft": self.draft,
                "head": { "ref": self.head }, "base": { "ref": self.base },
            }),
            Dialect::GitLab => json!({
                "iid": self.number, "web_url": page, "state": if self.open { "opened" } else { "closed" },
                "title": self.title, "description": self.body,
                "source_branch": self.head, "target_branch": self.base,
            }),
        }
    }
}

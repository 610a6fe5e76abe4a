//! Whose door a pull request goes through: which forge a remote is on, where its API is, and the token.
//!
//! A token is sent only to a forge that everybody knows, or to one that the configuration names; a host whose name merely
//! looks like a forge's could be anybody's. It comes from a variable of our own environment, which no program that runs
//! start inherits, or from the `gh` of whoever runs us.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

use agentos_core::failure::{Failure, FailureKind};
use agentos_forge::{Access, Kind, Remote as Repository, RetryPolicy};
use agentos_process::environment::built_up;
use agentos_process::tool::Tool;
use agentos_workspace::version_control::Remote;

/// The variable that says where the API of github.com is, as GitHub itself sets it.
pub const GITHUB_API: &str = "GITHUB_API_URL";

/// How long `gh` may take.
const GH: Duration = Duration::from_secs(20);

/// What is known of forges.
#[derive(Debug, Clone, Default)]
pub struct ForgeSettings {
    /// The host that the rest holds for; any that is not known otherwise if nothing is said.
    pub host: Option<String>,
    /// Which API is spoken there.
    pub kind: Option<Kind>,
    /// Where that API is; the usual place if nothing is said.
    pub api_url: Option<String>,
    /// The variable that the token is in; the usual ones if nothing is said.
    pub token_env: Option<String>,
    /// How long one waits.
    pub retry_policy: RetryPolicy,
    /// The variables of our environment in which tokens and addresses are looked for.
    pub variables: BTreeMap<String, String>,
}

impl ForgeSettings {
    /// The names of all variables that are looked for.
    pub fn names(token_env: Option<&str>) -> impl Iterator<Item = &str> {
        let usual = Kind::ALL.iter().flat_map(|kind| kind.token_variables()).copied();
        usual.chain([GITHUB_API]).chain(token_env)
    }

    fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// What a remote leads to.
pub(super) enum Door {
    /// A repository on a forge.
    Forge(Box<(Access, Repository)>),
    /// No forge that is known, and why.
    None(String),
}

/// Whose door it is. `gh` sees this environment.
pub(super) fn door(
    settings: &ForgeSettings,
    remote: &Remote,
    environment: &BTreeMap<String, String>,
) -> Result<Door, Failure> {
    let addresses = [&remote.url, &remote.written];
    let named = addresses.iter().filter_map(|address| address.parse::<Repository>().ok());
    let repositories: Vec<Repository> = named.collect();
    let known = repositories
        .iter()
        .find_map(|repository| Some((repository, settings_for(settings, repository)?)));
    let Some((repository, kind)) = known else {
        return Ok(Door::None(why_none(repositories.first())));
    };
    let api = match (&settings.api_url, settings.variable(GITHUB_API)) {
        (Some(api), _) if is_configured(settings, repository) => api.clone(),
        (_, Some(api)) if kind == Kind::GitHub && repository.is_public() => api.to_owned(),
        _ => kind.api(repository.host()),
    };
    let token = token(settings, (kind, repository), environment)?;
    let access = Access { kind, api, token: Some(token), retry_policy: settings.retry_policy };
    Ok(Door::Forge(Box::new((access, repository.clone()))))
}

/// The forge that a repository is on, if that is known and not guessed.
fn settings_for(settings: &ForgeSettings, repository: &Repository) -> Option<Kind> {
    if is_configured(settings, repository) && settings.kind.is_some() {
        return settings.kind;
    }
    let is_named = is_configured(settings, repository) && settings.host.is_some();
    repository.kind().filter(|_| repository.is_public() || is_named)
}

/// Whether the configuration is about this host.
fn is_configured(settings: &ForgeSettings, repository: &Repository) -> bool {
    match &settings.host {
        Some(host) => host.eq_ignore_ascii_case(repository.host()),
        // Whoever names no host means his own.
        None => {
            !repository.is_public()
                || settings.kind.is_none_or(|kind| Some(kind) == repository.kind())
        }
    }
}

fn why_none(repository: Option<&Repository>) -> String {
    match repository {
        None => "its remote is on no forge".to_owned(),
        Some(repository) => {
            let host = repository.host();
            let kind = repository.kind().map_or("github", Kind::id);
            format!(
                "`{host}` is no forge that is known; if it is one, set `forge.host = \"{host}\"` and for example \
                 `forge.kind = \"{kind}\"` in .agent/config.toml"
            )
        }
    }
}

fn token(
    settings: &ForgeSettings,
    (kind, repository): (Kind, &Repository),
    environment: &BTreeMap<String, String>,
) -> Result<String, Failure> {
    let configured = settings.token_env.as_deref().filter(|_| is_configured(settings, repository));
    let names: Vec<&str> = match configured {
        Some(name) => vec![name],
        None => kind.token_variables().to_vec(),
    };
    if let Some(value) = names.iter().find_map(|name| settings.variable(name)) {
        return Ok(value.trim().to_owned());
    }
    let asks_gh = kind == Kind::GitHub && configured.is_none();
    if let Some(token) = asks_gh.then(|| of_gh(repository.host(), environment)).flatten() {
        return Ok(token);
    }
    let gh = if asks_gh {
        ", and `gh auth token` gave none; set one, or log in with `gh auth login`"
    } else {
        "; set it"
    };
    let message = format!(
        "{kind} ({}) wants a token to open a pull request, and there is none: looked for {}{gh}",
        repository.host(),
        names.join(" and "),
    );
    Err(Failure::new(FailureKind::NonRetryable, message))
}

/// The token of whoever is logged in with GitHub's own program, if it is there.
fn of_gh(host: &str, environment: &BTreeMap<String, String>) -> Option<String> {
    let text = |(name, value): (String, String)| (OsString::from(name), OsString::from(value));
    let ours = environment.iter().map(|(name, value)| (name.into(), value.into()));
    // Nothing of the workspace's: only where the user keeps what he has logged in with.
    let environment = built_up(ours, []).into_iter().map(text).collect();
    let tool = Tool::new("gh")
        .args(["auth", "token", "--hostname", host])
        .only_environment(environment)
        .set("GH_PROMPT_DISABLED", "1")
        .set("GH_NO_UPDATE_NOTIFIER", "1")
        .in_folder("/")
        .timeout(GH);
    let answer = tool.run().ok().filter(agentos_process::tool::Answer::is_success)?;
    let token = String::from_utf8(answer.output).ok()?.trim().to_owned();
    Some(token).filter(|token| !token.is_empty() && !token.contains(char::is_whitespace))
}

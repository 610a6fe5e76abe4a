//! Files that runs have kept, and their logs as files.
//!
//! What a run has kept was written by whoever it liked, and is shown beside the dashboard. So it is sent as a download, with
//! its type and no guessing about it; whoever wants to look at it in the browser gets it in a sandbox without scripts.

use agentos_store::records::{ArtifactRecord, Records as _};
use agentos_store::unified::Found;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use uuid::Uuid;

use super::executions::document;
use super::refusals::{InParts, OfArtifact, OfRun, OfStep, Refuses};
use super::unreadable::{Missing, naming};
use crate::access::may::{May, Read};
use crate::asked::{Asked, Named, TheRun};
use crate::documents::{Artifact, PAGING, Page, Paging};
use crate::file::FileAnswer;
use crate::house::errors::{OpenArtifactError, OpenLogError};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// The types of artifacts.
const TYPES: [&str; 7] =
    ["SCREENSHOT", "LOG_FILE", "SESSION_FILE", "TEST_REPORT", "BUILD_OUTPUT", "DOCUMENT", "OTHER"];

/// What a browser may do with a file of a run: show it, and nothing else.
const SANDBOX: &str = "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self'; \
    style-src 'unsafe-inline'; font-src data:; frame-ancestors 'self'";

pub(super) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Those whose answers are files, which are sent as they are.
pub(super) fn downloads() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(download)).routes(routes!(logs))
}

/// List what a run has kept
#[utoipa::path(get, path = "/api/executions/{id}/artifacts", operation_id = "listArtifacts", tag = "artifacts",
    params(
        ("id" = String, Path, description = "The run: its id, or its short name."),
        ("stepId" = Option<Uuid>, Query, description = "Only what this step has kept."),
        ("type" = Option<String>, Query, description = "Only files of this type: `SCREENSHOT`, `LOG_FILE`, `SESSION_FILE`, `TEST_REPORT`, `BUILD_OUTPUT`, `DOCUMENT` or `OTHER`."),
        Paging
    ),
    responses((status = 200, description = "The files.", body = Page<Artifact>), Refuses<(OfRun, OfStep)>),
)]
async fn list(
    _: May<Read>,
    asked: Asked,
    TheRun(found): TheRun,
) -> Result<Json<Page<Value>>, Problem> {
    asked.only(&[&["stepId", "type"], &PAGING[..]].concat())?;
    let step: Option<Uuid> = asked.parsed("stepId", "a step's id")?;
    let kind = asked.one("type")?.map(str::to_uppercase);
    if let Some(kind) = kind.as_deref().filter(|kind| !TYPES.contains(kind)) {
        let detail = format!("has to be one of {}, and not `{kind}`", TYPES.join(", "));
        return Err(Problem::parameter("type", detail));
    }
    let detail = found.source.store.run_detail(found.run.id).await;
    let detail = detail.map_err(naming(found.source.path()))?;
    if let Some(step) = step.filter(|step| !detail.steps.iter().any(|known| known.id == *step)) {
        let detail = format!("{} has no step {step}", detail.run.run_id);
        return Err(Problem::new(ProblemKind::UnknownStep, detail));
    }
    let is_wanted = |artifact: &&ArtifactRecord| {
        step.is_none_or(|step| artifact.step_id == Some(step))
            && kind.as_deref().is_none_or(|kind| artifact.r#type == kind)
    };
    let items = detail.artifacts.iter().filter(is_wanted).map(document);
    Page::of(items.collect::<Result<_, _>>()?, &asked).map(Json)
}

/// The file of this id, with the run that keeps it, whatever database it is in.
async fn find(state: &AppState, id: Uuid) -> Result<(Found, ArtifactRecord), Problem> {
    let view = state.view();
    let mut missing = Missing::of(&view);
    for source in view.sources() {
        match source.store.artifact(id).await {
            Ok(Some((run, artifact))) => {
                let found = state.find_run(&run.to_string()).await?;
                return Ok((found, artifact));
            }
            Ok(None) => {}
            Err(error) => missing.add(source, &error),
        }
    }
    Err(Named::ARTIFACT.not_seen(id, &missing.paths()))
}

/// Download a file that a run has kept
///
/// With `inline=true` a browser may show it, in a sandbox without scripts.
#[utoipa::path(get, path = "/api/artifacts/{id}/download", operation_id = "downloadArtifact", tag = "artifacts",
    params(
        ("id" = String, Path, description = "The artifact's id."),
        ("inline" = Option<bool>, Query, description = "To be looked at, and not to be kept."),
        ("Range" = Option<String>, Header, description = "Only these bytes: `bytes=0-1023`."),
    ),
    responses(
        (status = 200, description = "The file.", body = Vec<u8>, content_type = "*/*"),
        (status = 206, description = "A part of the file.", body = Vec<u8>, content_type = "*/*"),
        (status = 304, description = "It is what you have."),
        Refuses<(OfArtifact, InParts, OpenArtifactError)>
    ),
)]
async fn download(
    State(state): State<AppState>,
    _: May<Read>,
    Path(id): Path<String>,
    headers: HeaderMap,
    asked: Asked,
) -> Result<Response, Problem> {
    asked.only(&["inline"])?;
    let is_inline = asked.flag("inline")?.unwrap_or(false);
    let (found, artifact) = find(&state, Named::ARTIFACT.id(&id)?).await?;
    let name = artifact.name.rsplit('/').next().unwrap_or("artifact").to_owned();
    if artifact.mime_type.as_deref() == Some("inode/directory") {
        let detail = format!("`{name}` is a folder");
        return Err(Problem::new(ProblemKind::ArtifactIsFolder, detail)
            .hint("its files are artifacts of their own; download those"));
    }
    let kept = state.house.open_artifact(found, artifact).await?;
    let kind = kind_of(&kept.artifact);
    let answer = FileAnswer { file: kept.file, kind };
    let mut response = answer.to(&headers).await?;
    let disposition = disposition(&name, is_inline);
    for (header, value) in guarded(&disposition) {
        response.headers_mut().insert(header, value);
    }
    Ok(response)
}

/// The media type that the file was kept with, or that its name has.
fn kind_of(artifact: &ArtifactRecord) -> HeaderValue {
    let guessed = || mime_guess::from_path(&artifact.name).first_raw().map(str::to_owned);
    let kind = artifact.mime_type.clone().or_else(guessed);
    let kind = kind.unwrap_or_else(|| "application/octet-stream".to_owned());
    let kind = match kind.starts_with("text/") && !kind.contains("charset") {
        true => format!("{kind}; charset=utf-8"),
        false => kind,
    };
    let is_type =
        kind.split_once('/').is_some_and(|(one, other)| !one.is_empty() && !other.is_empty());
    let written = HeaderValue::from_str(&kind).ok().filter(|_| is_type);
    written.unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

/// `attachment; filename="report.html"; filename*=UTF-8''report.html`
fn disposition(name: &str, is_inline: bool) -> String {
    let plain: String = name
        .chars()
        .map(|letter| match letter {
            '"' | '\\' | '/' => '_',
            letter if letter.is_ascii_graphic() || letter == ' ' => letter,
            _ => '_',
        })
        .collect();
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let encoded: String = name
        .bytes()
        .map(
            |byte| {
                if is_safe(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect();
    let way = if is_inline { "inline" } else { "attachment" };
    format!("{way}; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

/// The headers that keep what a run wrote from acting as the dashboard.
fn guarded(disposition: &str) -> [(HeaderName, HeaderValue); 4] {
    let disposition = HeaderValue::from_str(disposition);
    [
        (
            header::CONTENT_DISPOSITION,
            disposition.unwrap_or(HeaderValue::from_static("attachment")),
        ),
        (header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(SANDBOX)),
        (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            HeaderValue::from_static("same-origin"),
        ),
    ]
}

/// Download the log of a run, or of one of its steps
#[utoipa::path(get, path = "/api/executions/{id}/logs/download", operation_id = "downloadLogs", tag = "executions",
    params(
        ("id" = String, Path, description = "The run: its id, or its short name."),
        ("stepId" = Option<Uuid>, Query, description = "Only the log of this step."),
        ("Range" = Option<String>, Header, description = "Only these bytes: `bytes=0-1023`."),
    ),
    responses(
        (status = 200, description = "Lines of JSON.", body = String, content_type = "application/x-ndjson"),
        (status = 206, description = "A part of them.", body = String, content_type = "application/x-ndjson"),
        (status = 304, description = "It is what you have."),
        Refuses<(OfRun, InParts, OpenLogError)>
    ),
)]
async fn logs(
    State(state): State<AppState>,
    _: May<Read>,
    TheRun(found): TheRun,
    headers: HeaderMap,
    asked: Asked,
) -> Result<Response, Problem> {
    asked.only(&["stepId"])?;
    let step: Option<Uuid> = asked.parsed("stepId", "a step's id")?;
    let name = match step {
        Some(step) => format!("{}-{step}.log", found.run.run_id),
        None => format!("{}.log", found.run.run_id),
    };
    let kind = HeaderValue::from_static("application/x-ndjson");
    let mut response = match state.house.open_log(found, step).await? {
        Some(file) => FileAnswer { file, kind }.to(&headers).await?,
        // Nothing was said yet.
        None => ([(header::CONTENT_TYPE, kind)], ()).into_response(),
    };
    for (header, value) in guarded(&disposition(&name, false)) {
        response.headers_mut().insert(header, value);
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_not_leave_its_header() {
        let told = disposition("a\"b\r\nSet-Cookie: x/ü.html", false);
        assert!(told.is_ascii() && !told.contains(['\r', '\n']), "{told}");
        assert!(told.starts_with("attachment; filename=\"a_b__Set-Cookie: x__.html\""), "{told}");
        assert!(
            told.ends_with("filename*=UTF-8''a%22b%0D%0ASet-Cookie%3A%20x%2F%C3%BC.html"),
            "{told}"
        );
    }
}

//! What a run has kept.

use std::io::{Read as _, Seek as _, SeekFrom};

use agentos_store::records::{ArtifactRecord, RunDetail};
use agentos_workspace::contained::{Contained, ContainedError};
use clap::ValueEnum as _;
use rmcp::schemars::{self, JsonSchema};
use serde::{Deserialize, Deserializer};

use super::{Deed, Scene, Tool};
use crate::commands::artifacts::{self, Kind};
use crate::error::{CommandError, Result};
use crate::mcp::answer::{Answer, MOST_BYTES};
use crate::names;

/// `list_artifacts`
pub(super) struct ListArtifacts;

/// Which of them.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The run: its id, its short name, or any unambiguous beginning of one.
    run: String,
    /// Only those of this step: its number or its name.
    #[serde(default, deserialize_with = "text_or_number")]
    step: Option<String>,
    /// Only those of this type: SCREENSHOT, LOG_FILE, SESSION_FILE, TEST_REPORT, BUILD_OUTPUT, DOCUMENT or OTHER.
    r#type: Option<String>,
}

impl Tool for ListArtifacts {
    const NAME: &'static str = "list_artifacts";
    const TITLE: &'static str = "List artifacts";
    const DESCRIPTION: &'static str = "Lists what a run has kept: reports, documents, screenshots, transcripts of agents. Each has \
        an id, name, type, media type and size; `read_artifact` reads one. The same document as `agentos artifacts --json`.";
    const DEED: Deed = Deed::Reads;
    type Arguments = Which;

    async fn call(scene: &Scene, which: Which) -> Result<Answer> {
        let kind = which.r#type.as_deref().map(kind_of).transpose()?;
        let detail = detail_of(scene, &which.run).await?;
        let wanted = artifacts::wanted(&detail, which.step.as_deref(), kind)?;
        Answer::document(&artifacts::document(&wanted, None))
    }
}

fn kind_of(text: &str) -> Result<Kind> {
    Kind::from_str(text, true).map_err(|_| {
        let known: Vec<String> = Kind::value_variants()
            .iter()
            .filter_map(|kind| Some(kind.to_possible_value()?.get_name().to_owned()))
            .collect();
        CommandError::usage(format!("there is no type `{text}`"))
            .hint(format!("there are {}", known.join(", ")))
    })
}

async fn detail_of(scene: &Scene, run: &str) -> Result<RunDetail> {
    let store = scene.at(run).await?.look_for(run)?;
    names::find_detail(&store, run).await
}

/// A step is named or numbered, and models write numbers as numbers.
fn text_or_number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u32),
        Text(String),
    }
    let written = Option::<Written>::deserialize(from)?;
    Ok(written.map(|written| match written {
        Written::Number(number) => number.to_string(),
        Written::Text(text) => text,
    }))
}

/// `read_artifact`
pub(super) struct ReadArtifact;

/// Which, and from where on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// The run: its id, its short name, or any unambiguous beginning of one.
    run: String,
    /// The artifact: its id or its name, as `list_artifacts` tells them.
    artifact: String,
    /// From which byte on; the beginning if left out.
    #[serde(default)]
    offset: u64,
}

impl Tool for ReadArtifact {
    const NAME: &'static str = "read_artifact";
    const TITLE: &'static str = "Read an artifact";
    const DESCRIPTION: &'static str = "Reads the text of an artifact, some 40,000 bytes at a time; `offset` goes on where the last \
        part ended. What is no text is told of with its path, and not shown.";
    const DEED: Deed = Deed::Reads;
    type Arguments = Part;

    async fn call(scene: &Scene, part: Part) -> Result<Answer> {
        let detail = detail_of(scene, &part.run).await?;
        let artifact = chosen(&detail, &part.artifact)?;
        let project = artifacts::project_of(&detail)?;
        let path = project.join(&artifact.storage_path);
        if artifact.mime_type.as_deref() == Some("inode/directory") {
            return Ok(Answer::text(format!(
                "`{}` is a folder: {}",
                artifact.name,
                path.display()
            )));
        }
        let (bytes, size) =
            read(&Contained::open(project, None).map_err(failed)?, artifact, part.offset)?;
        if size > 0 && part.offset >= size {
            let what = format!(
                "`{}` has {size} bytes; there is nothing at {}",
                artifact.name, part.offset
            );
            return Err(CommandError::usage(what));
        }
        let Some(text) = text_of(&bytes) else {
            let (name, kind) =
                (&artifact.name, artifact.mime_type.as_deref().unwrap_or("unknown type"));
            return Ok(Answer::text(format!(
                "`{name}` is no text ({kind}, {size} bytes): {}",
                path.display()
            )));
        };
        let end = part.offset + text.len() as u64;
        let answer = Answer::text(text.to_owned());
        Ok(match end < size {
            true => answer.note(format!(
                "cut: bytes {} to {end} of {size}; go on with `offset`: {end}",
                part.offset
            )),
            false => answer,
        })
    }
}

fn failed(error: ContainedError) -> CommandError {
    CommandError::failed(error.to_string())
}

/// The one that is meant. Of several with one name, the latest.
fn chosen<'a>(detail: &'a RunDetail, name: &str) -> Result<&'a ArtifactRecord> {
    let is_meant = |found: &&ArtifactRecord| found.id.to_string() == name || found.name == name;
    detail.artifacts.iter().rev().find(is_meant).ok_or_else(|| {
        CommandError::not_found(format!("{} has no artifact `{name}`", detail.run.run_id))
            .hint("`list_artifacts` lists what it has kept")
    })
}

/// A part of an artifact, and how large all of it is.
fn read(files: &Contained, artifact: &ArtifactRecord, offset: u64) -> Result<(Vec<u8>, u64)> {
    let source = files.open_source(&artifact.storage_path).map_err(|error| match error {
        ContainedError::Missing { .. } => CommandError::not_found(format!(
            "`{}` is gone: there is no {} in the project",
            artifact.name, artifact.storage_path
        )),
        error => failed(error),
    })?;
    let mut file = source.file;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES as u64).read_to_end(&mut bytes)?;
    Ok((bytes, size))
}

/// The text in a part of a file, up to a letter that goes on in the next part.
fn text_of(bytes: &[u8]) -> Option<&str> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(bytes.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_in_two_parts_is_left_for_the_next() {
        assert_eq!(text_of("aä".as_bytes()), Some("aä"));
        assert_eq!(text_of(&"aä".as_bytes()[..2]), Some("a"));
        assert_eq!(text_of(b"\x89PNG\r\n"), None);
        assert_eq!(text_of(b"a\0b"), None);
        assert_eq!(text_of(b""), Some(""));
    }
}

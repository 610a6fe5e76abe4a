//! Release notes out of small files: collected, polished side by side, checked, and written down.
//!
//! Every step that touches the world does so through `ctx.effect`, so a run that is killed in the middle goes on with
//! what it has: notes that were polished are not polished again.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos::sdk::{Ctx, Error, Result, Workflow, try_join_all};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Deserialize)]
struct Input {
    title: String,
    #[serde(default = "default_folder")]
    folder: String,
    #[serde(default)]
    pause: u64,
    #[serde(default)]
    ask: bool,
}

fn default_folder() -> String {
    "notes".to_owned()
}

#[derive(Clone, Serialize, Deserialize)]
struct Note {
    name: String,
    path: PathBuf,
}

/// The workflow, with the schema that its flags are made from.
pub(crate) fn workflow() -> Workflow {
    Workflow::new("release-notes", release_notes)
        .description("Writes CHANGES.md out of the files in a folder")
        .version("1")
        .input(json!({
            "type": "object",
            "required": ["title"],
            "additionalProperties": false,
            "x-order": ["title", "folder", "pause", "ask"],
            "properties": {
                "title": { "type": "string", "minLength": 1, "description": "The heading" },
                "folder": { "type": "string", "default": "notes", "description": "Where the notes are" },
                "pause": { "type": "integer", "minimum": 0, "default": 0, "description": "Milliseconds that each line of a note takes" },
                "ask": { "type": "boolean", "default": false, "description": "Ask before anything is written" },
            },
        }))
}

async fn release_notes(ctx: Ctx, input: Input) -> Result<String> {
    let root = ctx.workspace_path().to_owned();
    let folder = root.join(&input.folder);
    let notes: Vec<Note> = ctx
        .run("collect", move |ctx| {
            let folder = folder.clone();
            async move {
                Ok(ctx.effect("list", move || async move { Ok(list(&folder).await?) }).await?)
            }
        })
        .await?;
    if notes.is_empty() {
        return Err(Error::non_retryable(format!("there are no notes in {}", input.folder)));
    }
    ctx.log().info(format!("{} notes found", notes.len()));

    let pause = Duration::from_millis(input.pause);
    let polished = notes.into_iter().map(|note| polish(&ctx, note, pause));
    let lines: Vec<String> = try_join_all(polished.collect::<Vec<_>>()).await?;

    if input.ask && !ctx.approve("Write CHANGES.md?").await?.approved {
        return Err(Error::non_retryable("nobody wants these notes"));
    }
    let text = format!("# {}\n\n{}\n", input.title, lines.join("\n"));
    let path = root.join("CHANGES.md");
    ctx.run("write", move |ctx| {
        let (path, text) = (path.clone(), text.clone());
        async move {
            Ok(ctx
                .effect("write", move || async move { Ok(tokio::fs::write(path, text).await?) })
                .await?)
        }
    })
    .await?;
    Ok("CHANGES.md".to_owned())
}

/// One note becomes one line.
fn polish(ctx: &Ctx, note: Note, pause: Duration) -> agentos::sdk::Answer<String> {
    let name = format!("polish {}", note.name);
    ctx.run(name, move |ctx| {
        let note = note.clone();
        async move {
            let line = ctx.effect("polish", move || async move {
                let text = tokio::fs::read_to_string(&note.path).await?;
                let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
                tokio::time::sleep(pause.saturating_mul(lines)).await;
                let first = text.lines().next().unwrap_or_default().trim().to_owned();
                Ok(format!("- {first}"))
            });
            Ok(line.await?)
        }
    })
}

async fn list(folder: &Path) -> io::Result<Vec<Note>> {
    let mut entries = tokio::fs::read_dir(folder).await?;
    let mut paths: Vec<PathBuf> = Vec::new();
    while let Some(entry) = entries.next_entry().await? {
        paths.push(entry.path());
    }
    paths.sort();
    let note = |path: PathBuf| {
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        Note { name: name.unwrap_or_default(), path }
    };
    Ok(paths.into_iter().map(note).collect())
}

//! Which workflows a project has: every template, found by itself.
//!
//! A template that can't be used is reported, and the others load. Nothing is written, and nothing is remembered: whoever
//! watches the folder looks again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::compile;
use crate::definition::Definition;
use crate::diagnostic::{Diagnostic, Severity};
use crate::files::ProjectFiles;
use crate::graph::is_foreign;
use crate::limits;
use crate::sources::ModuleFiles;

/// What was found in the folder of the templates.
#[derive(Debug, Default)]
pub struct Templates {
    /// The workflows, by name.
    pub workflows: BTreeMap<String, Arc<Definition>>,
    /// What is wrong with the others.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads all templates of a project. A project without any has no workflows, and nothing is wrong with it.
#[must_use]
pub fn load_templates(project: &Path) -> Templates {
    let files = ProjectFiles::new(project);
    let mut found = Templates::default();
    for name in template_names(&files, &mut found.diagnostics) {
        match Definition::load(&name, &files) {
            Ok(definition) => found.add(definition),
            Err(diagnostic) => found.diagnostics.push(diagnostic),
        }
    }
    found
}

/// Loads one template by its name in the folder: `issue.ts`.
///
/// # Errors
/// What is wrong with it.
pub fn load_template(project: &Path, file: &str) -> Result<Definition, Diagnostic> {
    Definition::load(&format!("templates/{file}"), &ProjectFiles::new(project))
}

/// Loads all templates and reads them with a critical eye: errors, and what works but hardly as its author thinks.
#[must_use]
pub fn check_templates(project: &Path) -> Vec<Diagnostic> {
    let files = ProjectFiles::new(project);
    let found = load_templates(project);
    let mut diagnostics = found.diagnostics;
    let mut modules: Vec<&String> = Vec::new();
    for workflow in found.workflows.values() {
        modules.extend(workflow.sources().modules.keys().filter(|name| !is_foreign(name)));
    }
    modules.sort();
    modules.dedup();
    for name in modules {
        if let Ok(text) = files.load_text(name) {
            diagnostics.extend(compile::lint(name, &text));
        }
    }
    sort(&mut diagnostics);
    diagnostics
}

/// Puts remarks in the order of their files and lines.
pub fn sort(diagnostics: &mut [Diagnostic]) {
    diagnostics.sort_by(|one, other| {
        let key = |found: &Diagnostic| (found.file.clone(), found.line, found.column);
        key(one).cmp(&key(other))
    });
}

/// Whether anything among these makes a template unusable.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|found| found.severity == Severity::Error)
}

impl Templates {
    /// Of two workflows of one name, the one whose file comes first stays.
    fn add(&mut self, definition: Definition) {
        let name = definition.name().to_owned();
        let file = definition.sources().entry.clone();
        match self.workflows.get(&name) {
            Some(first) => {
                let other = &first.sources().entry;
                let message = format!("there is a workflow `{name}` already, in {other}");
                let diagnostic = Diagnostic::of_file(&file, message);
                self.diagnostics.push(diagnostic.help("Give one of them another name."));
            }
            None => {
                self.workflows.insert(name, Arc::new(definition));
            }
        }
    }
}

/// The templates, in the order of their names.
fn template_names(files: &ProjectFiles, diagnostics: &mut Vec<Diagnostic>) -> Vec<String> {
    let folder = files.templates();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let message = format!("the folder can't be read: {error}");
            diagnostics.push(Diagnostic::of_file("templates", message));
            return Vec::new();
        }
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.to_owned();
            let is_template = name.ends_with(".ts") && !name.ends_with(".d.ts") && path.is_file();
            is_template.then(|| format!("templates/{name}"))
        })
        .collect();
    names.sort();
    if names.len() > limits::TEMPLATES {
        let message =
            format!("there are more than {} templates; the rest is left out", limits::TEMPLATES);
        diagnostics.push(Diagnostic::of_file("templates", message));
        names.truncate(limits::TEMPLATES);
    }
    names
}

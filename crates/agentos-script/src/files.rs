//! Modules in the folders of a project.
//!
//! A module is named by its path below `.agent/workflows`: `templates/issue.ts`, `lib/review.ts`. Modules of packages
//! are named `node_modules/…`, wherever that folder was found.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::limits;
use crate::sources::ModuleFiles;

/// The folder of a project's workflows, relative to the project.
pub const WORKFLOWS_FOLDER: &str = ".agent/workflows";

/// The modules of a project.
#[derive(Debug, Clone)]
pub(crate) struct ProjectFiles {
    project: PathBuf,
    workflows: PathBuf,
}

impl ProjectFiles {
    pub(crate) fn new(project: &Path) -> Self {
        Self { project: project.to_owned(), workflows: project.join(WORKFLOWS_FOLDER) }
    }

    /// The folder of the templates.
    pub(crate) fn templates(&self) -> PathBuf {
        self.workflows.join("templates")
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        match name.strip_prefix("node_modules/") {
            Some(rest) => {
                self.package_folders().map(|folder| folder.join(rest)).find(|path| path.is_file())
            }
            None => Some(self.workflows.join(name)),
        }
    }

    /// The `node_modules` folders that a workflow can see, the nearest first.
    fn package_folders(&self) -> impl Iterator<Item = PathBuf> {
        let upward =
            self.workflows.ancestors().take_while(|folder| folder.starts_with(&self.project));
        upward.map(|folder| folder.join("node_modules"))
    }

    fn relative(&self, base: &str, specifier: &str) -> Result<String, String> {
        let name = joined(base, specifier)?;
        self.first_file(&name).ok_or_else(|| "there is no such file".to_owned())
    }

    /// The file that a name means, with the endings that may be left out. TypeScript's own habit of importing `./a.ts` as
    /// `./a.js` is understood too.
    fn first_file(&self, name: &str) -> Option<String> {
        const ENDINGS: [&str; 7] = ["", ".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.js"];
        let plain = ENDINGS.iter().map(|ending| format!("{name}{ending}"));
        let source = name.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
        plain.chain(source).find(|name| self.path(name).is_some_and(|path| path.is_file()))
    }

    fn package(&self, base: &str, specifier: &str) -> Result<String, String> {
        let (package, rest) = split_package(specifier);
        let mut prefixes = vec![format!("node_modules/{package}")];
        // A package may bring packages of its own.
        if let Some((outer, _)) = base.strip_prefix("node_modules/").map(split_package) {
            prefixes.insert(0, format!("node_modules/{outer}/node_modules/{package}"));
        }
        let missing = || format!("there is no package `{package}` in node_modules; install it");
        let found = prefixes.iter().find_map(|prefix| {
            let manifest = self.path(&format!("{prefix}/package.json"))?;
            Some((prefix, manifest))
        });
        let (prefix, manifest) = found.ok_or_else(missing)?;
        let broken =
            |error: &dyn std::fmt::Display| format!("its package.json can't be read: {error}");
        let text = std::fs::read_to_string(manifest).map_err(|error| broken(&error))?;
        let manifest: Manifest = serde_json::from_str(&text).map_err(|error| broken(&error))?;
        let entry = manifest.entry(rest).ok_or_else(|| {
            format!("the package `{package}` offers no plain ES module under that name")
        })?;
        let name = format!("{prefix}/{}", entry.trim_start_matches("./"));
        self.first_file(&name).ok_or_else(|| format!("the package `{package}` lacks {entry}"))
    }
}

/// The module that a relative import means, without looking whether it is there.
pub(crate) fn joined(base: &str, specifier: &str) -> Result<String, String> {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    // Modules of a package stay inside of it; one's own stay below the folder of the workflows.
    let floor = usize::from(base.starts_with("node_modules/"));
    for part in specifier.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.len() <= floor => {
                return Err("it lies outside of .agent/workflows".to_owned());
            }
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Ok(parts.join("/"))
}

/// `@scope/name/rest` as package and rest.
fn split_package(specifier: &str) -> (&str, &str) {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    match specifier.match_indices('/').nth(parts - 1) {
        Some((index, _)) => (&specifier[..index], &specifier[index + 1..]),
        None => (specifier, ""),
    }
}

/// What of a `package.json` says where its modules are.
#[derive(Debug, Deserialize)]
struct Manifest {
    exports: Option<Value>,
    module: Option<String>,
    main: Option<String>,
    r#type: Option<String>,
}

impl Manifest {
    /// The file for a path below the package.
    fn entry(&self, rest: &str) -> Option<String> {
        let key = if rest.is_empty() { ".".to_owned() } else { format!("./{rest}") };
        match &self.exports {
            Some(Value::Object(exports)) if exports.keys().any(|key| key.starts_with('.')) => {
                if let Some(found) = exports.get(&key) {
                    return condition(found).map(str::to_owned);
                }
                exports.iter().find_map(|(pattern, target)| {
                    let (start, end) = pattern.split_once('*')?;
                    let inner = key.strip_prefix(start)?.strip_suffix(end)?;
                    Some(condition(target)?.replace('*', inner))
                })
            }
            Some(exports) if rest.is_empty() => condition(exports).map(str::to_owned),
            Some(_) => None,
            None if !rest.is_empty() => Some(rest.to_owned()),
            None => self.module.clone().or_else(|| {
                let is_module = self.r#type.as_deref() == Some("module");
                let main = self.main.clone().unwrap_or_else(|| "index.js".to_owned());
                (is_module || main.ends_with(".mjs")).then_some(main)
            }),
        }
    }
}

/// What a condition of `exports` leads to, for somebody who imports and is no Node.
fn condition(target: &Value) -> Option<&str> {
    match target {
        Value::String(file) => Some(file),
        Value::Array(choices) => choices.iter().find_map(condition),
        Value::Object(conditions) => {
            ["import", "module", "default"].iter().find_map(|key| condition(conditions.get(*key)?))
        }
        _ => None,
    }
}

impl ModuleFiles for ProjectFiles {
    fn resolve(&self, base: &str, specifier: &str) -> Result<String, String> {
        if specifier.starts_with("./") || specifier.starts_with("../") {
            self.relative(base, specifier)
        } else if specifier.starts_with('/') || specifier.contains(':') {
            Err("there is no such module in a workflow".to_owned())
        } else {
            self.package(base, specifier)
        }
    }

    fn load_text(&self, name: &str) -> Result<String, Diagnostic> {
        let of_file = |message: String| Diagnostic::of_file(name, message);
        let path = self.path(name).ok_or_else(|| of_file("there is no such file".to_owned()))?;
        let unread = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound => of_file("there is no such file".to_owned()),
            _ => of_file(format!("it can't be read: {error}")),
        };
        let most = u64::try_from(limits::PACKAGE_MODULE_BYTES).unwrap_or(u64::MAX);
        let size = std::fs::metadata(&path).map_err(unread)?.len();
        if size > most {
            return Err(of_file(format!("the module has {size} bytes; at most {most} are taken")));
        }
        let bytes = std::fs::read(&path).map_err(unread)?;
        String::from_utf8(bytes).map_err(|error| {
            let valid = error.utf8_error().valid_up_to();
            let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
            let mut diagnostic = of_file("the file is not UTF-8 text".to_owned());
            diagnostic.line = Some(crate::position::number(line));
            diagnostic.help("Save it as UTF-8.")
        })
    }
}

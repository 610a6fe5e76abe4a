//! The modules of one definition: all that has to be kept to execute a run again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::diagnostic::Diagnostic;
use crate::hex;

/// The texts of all modules, and which import leads to which.
///
/// A definition version keeps them as one text, [`Sources::to_text`]; whatever happens to the files afterwards, its runs
/// go on with these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sources {
    /// The module that exports the workflow.
    pub entry: String,
    /// The texts, by name.
    pub modules: BTreeMap<String, String>,
    /// What each module's imports lead to.
    pub imports: BTreeMap<String, BTreeMap<String, String>>,
}

/// A text that holds no modules.
#[derive(Debug, Error)]
#[error("the kept source of the workflow can't be read: {0}; start a new run")]
pub struct SourcesError(#[from] serde_json::Error);

impl Sources {
    /// One module without imports of its own.
    #[must_use]
    pub fn single(name: impl Into<String>, text: impl Into<String>) -> Self {
        let name = name.into();
        let modules = BTreeMap::from([(name.clone(), text.into())]);
        Self { entry: name, modules, imports: BTreeMap::new() }
    }

    /// All of it as one text.
    #[must_use]
    pub fn to_text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`Sources::to_text`] wrote.
    ///
    /// # Errors
    /// [`SourcesError`] if it is something else.
    pub fn from_text(text: &str) -> Result<Self, SourcesError> {
        Ok(serde_json::from_str(text)?)
    }

    /// The hash of the definition: other modules, another hash.
    #[must_use]
    pub fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update(text.len().to_le_bytes());
            hash.update(text.as_bytes());
        };
        part(&self.entry);
        for (name, text) in &self.modules {
            part(name);
            part(text);
        }
        for (base, imports) in &self.imports {
            for (specifier, target) in imports {
                [base, specifier, target].into_iter().for_each(|text| part(text));
            }
        }
        hex(&hash.finalize())
    }
}

/// Where modules come from.
pub(crate) trait ModuleFiles {
    /// The name of the module that `base` means by `specifier`.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    fn resolve(&self, base: &str, specifier: &str) -> Result<String, String>;

    /// The text of a module.
    ///
    /// # Errors
    /// Why it can't be read.
    fn load_text(&self, name: &str) -> Result<String, Diagnostic>;
}

impl ModuleFiles for Sources {
    fn resolve(&self, base: &str, specifier: &str) -> Result<String, String> {
        let target = self.imports.get(base).and_then(|imports| imports.get(specifier));
        target.cloned().ok_or_else(|| "it is not part of the kept source".to_owned())
    }

    fn load_text(&self, name: &str) -> Result<String, Diagnostic> {
        let text = self.modules.get(name).cloned();
        text.ok_or_else(|| Diagnostic::of_file(name, "it is not part of the kept source"))
    }
}

//! Which modules there are: those of the definition and those that the binary brings along.

use std::collections::BTreeMap;
use std::sync::Arc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module};

use super::bytecode::{self, Bytecode};
use crate::graph::{AGENTOS, is_agentos};

/// The modules that the binary brings along, by name. Only the first can be imported by a workflow.
pub(super) const PRELUDE: [(&str, &str); 3] = [
    (AGENTOS, include_str!("../prelude/agentos.js")),
    (HOST, include_str!("../prelude/host.js")),
    ("agentos:globals", include_str!("../prelude/globals.js")),
];

/// The module whose functions the host calls.
pub(super) const HOST: &str = "agentos:host";

/// What imports lead to.
pub(super) type Imports = Arc<BTreeMap<String, BTreeMap<String, String>>>;

/// Leads imports to modules: none but those that were found when the definition was made.
pub(super) struct Names(pub(super) Imports);

impl Resolver for Names {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        if is_agentos(name) {
            return Ok(AGENTOS.to_owned());
        }
        // The host itself names modules outright, from no module.
        if base.is_empty() || PRELUDE.iter().any(|(prelude, _)| *prelude == base) {
            return Ok(name.to_owned());
        }
        let target = self.0.get(base).and_then(|imports| imports.get(name));
        target.cloned().ok_or_else(|| {
            let message = "it is not part of the workflow; only modules that are imported by a name written out are";
            Error::new_resolving_message(base, name, message)
        })
    }
}

/// Loads modules from bytecode.
pub(super) struct Library(pub(super) Arc<Bytecode>);

impl Loader for Library {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let prelude = bytecode::prelude();
        let found = prelude.get(name).or_else(|| self.0.get(name));
        found.ok_or_else(|| Error::new_loading(name))?.load(ctx)
    }
}

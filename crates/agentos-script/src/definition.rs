//! A workflow, compiled: its config, its modules, and the way back to its source.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use agentos_core::entry::RunStarted;
use agentos_core::id::{RunId, Seed};
use agentos_core::name::{Name, NameError};
use agentos_core::time::Timestamp;
use agentos_core::value::Value;

use crate::compile::{self, CallSite, PositionMap};
use crate::config::WorkflowConfig;
use crate::diagnostic::Diagnostic;
use crate::doors;
use crate::engine::{self, Bytecode, EngineError, Vm};
use crate::graph::Graph;
use crate::limits::{self, Limits};
use crate::position::Position;
use crate::program::ScriptProgram;
use crate::run::RunInfo;
use crate::sources::{ModuleFiles, Sources};

/// A workflow that can be executed. Made once for each hash, and shared by its runs.
pub struct Definition {
    config: WorkflowConfig,
    hash: String,
    sources: Sources,
    bytecode: Arc<Bytecode>,
    imports: Arc<BTreeMap<String, BTreeMap<String, String>>>,
    maps: BTreeMap<String, PositionMap>,
    calls: Vec<CallSite>,
}

impl Definition {
    /// The workflow of modules that were kept.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn compile(sources: &Sources) -> Result<Self, Diagnostic> {
        Self::load(&sources.entry, sources)
    }

    /// The workflow that a module exports, with all that it imports.
    pub(crate) fn load(entry: &str, files: &dyn ModuleFiles) -> Result<Self, Diagnostic> {
        let Graph { sources, code, maps, calls } = Graph::load(entry, files)?;
        let imports = Arc::new(sources.imports.clone());
        let compiled = engine::compile(code, Arc::clone(&imports), entry);
        let mut definition = Self {
            // Read from the module itself as soon as that can run.
            config: WorkflowConfig::unnamed(),
            hash: sources.hash(),
            sources,
            bytecode: Arc::default(),
            imports,
            maps,
            calls,
        };
        let bytecode = compiled.map_err(|error| definition.diagnostic(&error))?;
        definition.bytecode = Arc::new(bytecode);
        definition.config = definition.read_config()?;
        Ok(definition)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// What it says of itself.
    #[must_use]
    pub const fn config(&self) -> &WorkflowConfig {
        &self.config
    }

    /// The hash of its modules.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// Its modules, to be kept with its runs.
    #[must_use]
    pub const fn sources(&self) -> &Sources {
        &self.sources
    }

    /// A fresh execution of it. Every replay needs a new one.
    #[must_use]
    pub fn program(self: &Arc<Self>, info: RunInfo, limits: Limits) -> ScriptProgram {
        ScriptProgram::new(Arc::clone(self), info, limits)
    }

    /// What a run of it starts with at this time.
    ///
    /// # Errors
    /// Its name is none, which no definition that was loaded has.
    pub fn run_started(
        &self,
        run: RunId,
        input: Value,
        seed: Seed,
        now: Timestamp,
    ) -> Result<RunStarted, NameError> {
        Ok(RunStarted {
            definition: self.hash.clone(),
            input,
            seed,
            timeout_ms: Some(self.config.active_time()),
            deadline: self.config.deadline.map(|deadline| now.after(deadline.millis())),
            ..RunStarted::new(run, Name::new(self.name())?)
        })
    }

    /// What is known of a call, by the number that the prelude has seen.
    pub(crate) fn call(&self, number: usize) -> Option<&CallSite> {
        self.calls.get(number.checked_sub(1)?)
    }

    /// A world for one execution.
    pub(crate) fn vm(&self, limits: Limits) -> Result<Vm, EngineError> {
        Vm::new(&self.bytecode, &self.imports, limits, doors::open)
    }

    /// Evaluates the module, without a run, to see what it exports.
    fn read_config(&self) -> Result<WorkflowConfig, Diagnostic> {
        let vm = self.vm(Limits::LOADING).map_err(|error| self.diagnostic(&error))?;
        let entry = &self.sources.entry;
        let of_file = |message: String| Diagnostic::of_file(entry, message);
        let imported = vm.import(entry).map_err(|error| self.diagnostic(&error))?;
        if vm.drain().is_err() || vm.has_stopped() {
            return Err(of_file("loading the module takes too long".to_owned()).help(
                "Do the work inside of the workflow's function, not while the module is loaded.",
            ));
        }
        let exported = vm.default_export(imported).map_err(|error| self.diagnostic(&error))?;
        let Some(exported) = exported else {
            return Err(of_file("loading the module awaits something that never comes".to_owned()));
        };
        let config = vm.with(|ctx| {
            let hook = vm.hooks.config_of.clone().restore(ctx)?;
            hook.call::<_, Option<String>>((exported.restore(ctx)?,))
        });
        let config = config.map_err(|error| self.diagnostic(&error))?.ok_or_else(|| {
            of_file("the module exports no workflow".to_owned()).help(
                "Write `export default createWorkflow({ name: \"…\" }, async (ctx) => { … })`; code that \
                 several workflows share belongs into .agent/workflows/lib.",
            )
        })?;
        let config: WorkflowConfig = serde_json::from_str(&config).map_err(|error| {
            let error = error.to_string();
            let error = error.split(" at line ").next().unwrap_or_default();
            self.at_config(format!("the config of the workflow: {error}"))
        })?;
        match config.name_trouble() {
            Some(trouble) => Err(self.at_config(trouble)),
            None => Ok(config),
        }
    }

    /// An error about a part of the input's schema: at the line where the entry module writes that part, if it does.
    #[must_use]
    pub fn schema_error(&self, pointer: &str, message: String) -> Diagnostic {
        let unescaped =
            pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~"));
        // Members of a list have no name.
        let names = unescaped.filter(|part| !part.bytes().all(|byte| byte.is_ascii_digit()));
        let path: Vec<String> = std::iter::once("input".to_owned()).chain(names).collect();
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        let (entry, text) = (&self.sources.entry, self.entry_text());
        match compile::place_of_property(entry, text, &path) {
            Some(offset) => Diagnostic::at_offset(entry, text, offset, message),
            None => self.at_config(message),
        }
    }

    fn entry_text(&self) -> &str {
        self.sources.modules.get(&self.sources.entry).map_or("", String::as_str)
    }

    /// A remark about the config, where that stands.
    fn at_config(&self, message: String) -> Diagnostic {
        let (entry, text) = (&self.sources.entry, self.entry_text());
        match text.find("createWorkflow(") {
            Some(offset) => {
                let offset = crate::position::number(offset);
                Diagnostic::at_offset(entry, text, offset, message)
            }
            None => Diagnostic::of_file(entry, message),
        }
    }

    /// What the engine has to say, at the author's line.
    fn diagnostic(&self, error: &EngineError) -> Diagnostic {
        let places = error.stack.lines().filter_map(|line| self.original(line));
        let found = places.into_iter().find_map(|place| {
            let text = self.sources.modules.get(place.module)?;
            Some(Diagnostic::at(place.module, text, place.at, error.message.clone()))
        });
        found.unwrap_or_else(|| Diagnostic::of_file(&self.sources.entry, error.message.clone()))
    }

    /// A stack of the engine, as one of the author's text, and its first place.
    pub(crate) fn original_stack(&self, stack: &str) -> (String, Option<String>) {
        let places = stack.lines().filter_map(|line| self.original(line));
        let places: Vec<Place<'_>> = places.take(limits::STACK_LINES).collect();
        let shown: Vec<String> = places.iter().map(|place| format!("    at {place}")).collect();
        let first = places.iter().find(|place| !crate::graph::is_foreign(place.module));
        let at =
            first.map(|Place { module, at, .. }| format!("{module}:{}:{}", at.line, at.column));
        (shown.join("\n"), at)
    }

    /// A line of a stack: `    at name (module:line:column)`. Lines that are not in a module of the workflow are none.
    fn original<'l>(&'l self, line: &'l str) -> Option<Place<'l>> {
        let line = line.trim().strip_prefix("at ")?;
        let (function, place) = match line.rsplit_once('(') {
            Some((function, place)) => (function.trim(), place.trim_end_matches(')')),
            None => ("", line),
        };
        let (rest, column) = place.rsplit_once(':')?;
        let (module, line) = rest.rsplit_once(':')?;
        let at = Position { line: line.parse().ok()?, column: column.parse().ok()? };
        let at = self.maps.get(module)?.original(at);
        Some(Place { function, module, at })
    }
}

/// A place in the author's text.
struct Place<'l> {
    function: &'l str,
    module: &'l str,
    at: Position,
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { function, module, at } = self;
        match *function {
            "" | "<anonymous>" => write!(f, "{module}:{}:{}", at.line, at.column),
            function => write!(f, "{function} ({module}:{}:{})", at.line, at.column),
        }
    }
}

impl fmt::Debug for Definition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Definition")
            .field("config", &self.config)
            .field("hash", &self.hash)
            .finish_non_exhaustive()
    }
}

//! Modules in the engine's own format.
//!
//! Bytecode is trusted by the engine as machine code is by a processor, so it never leaves this module: it is made here
//! from text, kept in memory, and loaded by the same version of the same engine. It is never read from a file.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use rquickjs::context::intrinsic;
use rquickjs::loader::{ImportAttributes, Loader};
use rquickjs::module::Declared;
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Error, Module, Runtime, WriteOptions};

use super::Sandbox;
use super::modules::{Imports, Names, PRELUDE};

/// Compiled modules, by name.
#[derive(Debug, Default)]
pub(crate) struct Bytecode(BTreeMap<String, Compiled>);

impl Bytecode {
    pub(super) fn get(&self, name: &str) -> Option<&Compiled> {
        self.0.get(name)
    }
}

/// One compiled module.
#[derive(Debug)]
pub(super) struct Compiled(Vec<u8>);

impl Compiled {
    /// Declares the module in a context.
    #[expect(
        unsafe_code,
        reason = "the bytes were made by `compile` in this process; see the module"
    )]
    pub(super) fn load<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Module<'js, Declared>> {
        // SAFETY: a `Compiled` is made from what `Module::write` returned, by the engine that is linked into this
        // process, and its bytes are never changed.
        unsafe { Module::load(ctx.clone(), &self.0) }
    }
}

/// What the engine has to say about code that it does not take.
#[derive(Debug)]
pub(crate) struct EngineError {
    pub(crate) message: String,
    pub(crate) stack: String,
}

impl EngineError {
    /// Something that is wrong in no particular place.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), stack: String::new() }
    }

    /// What was caught in a context.
    pub(super) fn of(caught: &CaughtError<'_>) -> Self {
        match caught {
            CaughtError::Exception(exception) => Self {
                message: exception.message().unwrap_or_else(|| "something unnamed".to_owned()),
                stack: exception.stack().unwrap_or_default(),
            },
            other => Self { message: other.to_string(), stack: String::new() },
        }
    }
}

/// Compiles modules. The whole graph is linked, but nothing of it is evaluated.
///
/// # Errors
/// What the engine does not take, which is little after the parser has been through it.
pub(crate) fn compile(
    code: BTreeMap<String, String>,
    imports: Imports,
    entry: &str,
) -> Result<Bytecode, EngineError> {
    let failed = |error: Error| EngineError { message: error.to_string(), stack: String::new() };
    let runtime = Runtime::new().map_err(failed)?;
    let written = Rc::new(RefCell::new(Bytecode::default()));
    let compiler = Compiler { code, written: Rc::clone(&written) };
    runtime.set_loader(Names(imports), compiler);
    let context = Context::custom::<(Sandbox, intrinsic::Eval)>(&runtime).map_err(failed)?;
    context.with(|ctx| {
        // A root without a name, which imports the entry: declaring it declares all that it leads to.
        let root = format!("import {entry:?};");
        let declared = Module::declare(ctx.clone(), "", root).catch(&ctx);
        declared.map(|_| ()).map_err(|caught| EngineError::of(&caught))
    })?;
    drop(context);
    drop(runtime);
    Ok(written.take())
}

/// The modules that the binary brings along, compiled once for each process.
pub(super) fn prelude() -> &'static Bytecode {
    static PRELUDE_CODE: OnceLock<Bytecode> = OnceLock::new();
    PRELUDE_CODE.get_or_init(|| {
        let code = PRELUDE.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        compile(code, Arc::default(), PRELUDE[0].0).unwrap_or_default()
    })
}

/// Compiles what is asked for, and keeps it.
struct Compiler {
    code: BTreeMap<String, String>,
    written: Rc<RefCell<Bytecode>>,
}

impl Loader for Compiler {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let Some(code) = self.code.get(name) else {
            // A workflow is compiled against the prelude as it is.
            return prelude().get(name).ok_or_else(|| Error::new_loading(name))?.load(ctx);
        };
        let module = Module::declare(ctx.clone(), name, code.as_str())?;
        let options = WriteOptions { strip_source: true, ..WriteOptions::default() };
        let bytes = module.write(options)?;
        self.written.borrow_mut().0.insert(name.to_owned(), Compiled(bytes));
        Ok(module)
    }
}

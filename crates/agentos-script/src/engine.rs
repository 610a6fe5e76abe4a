//! The JavaScript engine: QuickJS, one runtime and one context for each execution.
//!
//! Nothing of the machine is in reach of what runs here: no files, no clock, no `eval`, no modules but those of the
//! definition. Modules are compiled to bytecode once for each definition, and loaded from there for each execution.

mod bytecode;
mod clock;
mod modules;
mod vm;

use rquickjs::context::intrinsic;

pub(crate) use self::bytecode::{Bytecode, EngineError, compile};
pub(crate) use self::vm::{Stop, Stopper, Vm};

/// What of the language there is in a workflow's world. `Eval` is missing on purpose, as are `WeakRef` and `Performance`.
type Sandbox = (
    intrinsic::Date,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

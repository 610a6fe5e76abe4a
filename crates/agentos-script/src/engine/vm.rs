//! One world in which a workflow runs, and the limits around it.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::{
    CatchResultExt, Context, Ctx, Function, Module, Object, Persistent, Promise, Runtime, Value,
};

use super::Sandbox;
use super::bytecode::{Bytecode, EngineError};
use super::clock::TurnClock;
use super::modules::{HOST, Imports, Library, Names};
use crate::limits::Limits;

/// A function of the prelude, kept.
type Kept = Persistent<Function<'static>>;

/// What the host calls in the prelude.
#[derive(Clone)]
pub(crate) struct Hooks {
    pub(crate) config_of: Kept,
    pub(crate) start: Kept,
    pub(crate) attempt: Kept,
    pub(crate) fail: Kept,
    pub(crate) described: Kept,
}

/// One runtime, one context. Fields are dropped in this order: whatever is kept of a world goes before it.
pub(crate) struct Vm {
    pub(crate) hooks: Hooks,
    context: Context,
    runtime: Runtime,
    clock: Rc<TurnClock>,
    reactions: u64,
}

/// Stops whatever runs in a world, for good.
#[derive(Debug, Clone)]
pub(crate) struct Stopper(Rc<TurnClock>);

impl Stopper {
    pub(crate) fn stop(&self) {
        self.0.trip();
    }
}

/// Why a turn can't go on.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It took too long.
    Time,
    /// It went on and on in small pieces.
    Reactions,
    /// A reaction itself threw, which only happens outside of every promise.
    Threw(Persistent<Value<'static>>),
}

impl Vm {
    /// A world with these modules. `open_doors` gives the prelude what the host has to offer.
    ///
    /// # Errors
    /// There is too little memory for it.
    pub(crate) fn new(
        bytecode: &Arc<Bytecode>,
        imports: &Imports,
        limits: Limits,
        open_doors: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<Object<'js>>,
    ) -> Result<Self, EngineError> {
        let failed = |error: rquickjs::Error| EngineError {
            message: error.to_string(),
            stack: String::new(),
        };
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(limits.memory_bytes);
        runtime.set_max_stack_size(limits.stack_bytes);
        let clock = Rc::new(TurnClock::new(limits.turn_ms));
        let watch = Rc::clone(&clock);
        runtime.set_interrupt_handler(Some(Box::new(move || watch.is_over())));
        runtime.set_loader(Names(Arc::clone(imports)), Library(Arc::clone(bytecode)));
        let context = Context::custom::<Sandbox>(&runtime).map_err(failed)?;
        let hooks = context.with(|ctx| {
            let prelude = || {
                ctx.globals().set("__agentos", open_doors(&ctx)?)?;
                let host: Object<'_> = Module::import(&ctx, HOST)?.finish()?;
                let hook = |name| {
                    let function: Function<'_> = host.get(name)?;
                    rquickjs::Result::Ok(Persistent::save(&ctx, function))
                };
                Ok(Hooks {
                    config_of: hook("configOf")?,
                    start: hook("start")?,
                    attempt: hook("attempt")?,
                    fail: hook("fail")?,
                    described: hook("described")?,
                })
            };
            prelude().catch(&ctx).map_err(|caught| EngineError::of(&caught))
        })?;
        Ok(Self { hooks, context, runtime, clock, reactions: limits.turn_reactions })
    }

    /// Says who wants to know of rejections that nobody handles.
    pub(crate) fn watch_rejections(&self, watch: rquickjs::runtime::RejectionTracker) {
        self.runtime.set_host_promise_rejection_tracker(Some(watch));
    }

    /// Does something in this world. What it throws is caught.
    pub(crate) fn with<R>(
        &self,
        act: impl for<'js> FnOnce(&Ctx<'js>) -> rquickjs::Result<R>,
    ) -> Result<R, EngineError> {
        self.context.with(|ctx| act(&ctx).catch(&ctx).map_err(|caught| EngineError::of(&caught)))
    }

    /// A turn begins: its limits count from here.
    pub(crate) fn begin_turn(&self) {
        self.clock.begin_turn();
    }

    /// What stops this world from within.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(Rc::clone(&self.clock))
    }

    /// Runs what is queued until nothing is.
    pub(crate) fn drain(&self) -> Result<(), Stop> {
        let mut left = self.reactions;
        loop {
            if self.clock.has_tripped() {
                return Err(Stop::Time);
            }
            match self.runtime.execute_pending_job() {
                Ok(false) => return Ok(()),
                Ok(true) => {}
                Err(threw) => {
                    let thrown = threw.0.with(|ctx| Persistent::save(&ctx, ctx.catch()));
                    return Err(match self.clock.has_tripped() {
                        true => Stop::Time,
                        false => Stop::Threw(thrown),
                    });
                }
            }
            left = left.saturating_sub(1);
            if left == 0 {
                return Err(Stop::Reactions);
            }
            // Reactions may each be short: somebody has to look at the clock between them.
            if left.is_multiple_of(4_096) && self.clock.is_over() {
                return Err(Stop::Time);
            }
        }
    }

    /// Whether the limits have stopped this world.
    pub(crate) fn has_stopped(&self) -> bool {
        self.clock.has_tripped()
    }

    /// Begins to load a module. Its promise is settled when the queue is drained, unless the module awaits something.
    pub(crate) fn import(&self, name: &str) -> Result<Persistent<Promise<'static>>, EngineError> {
        self.with(|ctx| Ok(Persistent::save(ctx, Module::import(ctx, name)?)))
    }

    /// What a module exports by default, once it is loaded; none if it still waits for something.
    pub(crate) fn default_export(
        &self,
        imported: Persistent<Promise<'static>>,
    ) -> Result<Option<Persistent<Value<'static>>>, EngineError> {
        self.with(|ctx| {
            let Some(module) = imported.restore(ctx)?.result::<Object<'_>>() else {
                return Ok(None);
            };
            let default: Value<'_> = module?.get("default")?;
            Ok(Some(Persistent::save(ctx, default)))
        })
    }
}

//! The functions that a world can call: all of its powers.
//!
//! They are plain functions over numbers and JSON texts. What they need they find on the [stage](crate::stage); what they
//! can't do they answer with a failure as JSON, which the prelude throws.

use agentos_core::entry::CommentOn;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::operation::OperationKind;
use agentos_core::program::{BodyOutcome, Ticket};
use agentos_core::turn::LogLevel;
use agentos_core::value::Value as Json;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rquickjs::function::Opt;
use rquickjs::prelude::Func;
use rquickjs::{Array, Ctx, IntoJs, Object, Persistent, TypedArray, Value};

use crate::desk::{Pending, ScopeNumber};
use crate::failure::{self, named};
use crate::operations;
use crate::stage::{self, Stage};

/// All of them, as the prelude takes them.
pub(crate) fn open<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    let doors = Object::new(ctx.clone())?;
    doors.set("now", Func::from(now))?;
    doors.set("random", Func::from(random))?;
    doors.set("base64", Func::from(base64))?;
    doors.set("ask", Func::from(ask))?;
    doors.set("step", Func::from(step))?;
    doors.set("set", Func::from(set))?;
    doors.set("get", Func::from(get))?;
    doors.set("comment", Func::from(comment))?;
    doors.set("log", Func::from(log))?;
    doors.set("finish", Func::from(finish))?;
    doors.set("fatal", Func::from(fatal))?;
    Ok(doors)
}

#[expect(clippy::cast_precision_loss, reason = "times that a script can hold are far below 2^53")]
fn now() -> f64 {
    stage::enter(|stage| stage.door.now().0).unwrap_or(0) as f64
}

fn random() -> f64 {
    stage::enter(|stage| stage.door.random()).unwrap_or(0.0)
}

/// Bytes as a text; nothing, if the value is something else.
fn base64(value: Value<'_>) -> Option<String> {
    let array = TypedArray::<u8>::from_value(value).ok()?;
    let length = u32::try_from(array.len()).ok()?;
    // One by one: the memory itself could only be looked at without any guard.
    let bytes = (0..length).map(|index| array.get::<_, u8>(index));
    Some(STANDARD.encode(bytes.collect::<rquickjs::Result<Vec<u8>>>().ok()?))
}

/// Asks for an operation: a promise, or a failure as JSON.
fn ask<'js>(
    ctx: Ctx<'js>,
    scope: ScopeNumber,
    call: usize,
    kind: usize,
    args: String,
) -> rquickjs::Result<Value<'js>> {
    let asked = on_stage(|stage| {
        stage.desk.spend(args.len())?;
        let request = operations::request(kind, &args, stage.desk)?;
        let site = stage.desk.definition.call(call).map(|call| call.site.clone());
        let request = match site {
            Some(site) => request.at(site),
            None => request,
        };
        stage.door.request(scope_of(stage, scope)?, request)
    });
    expect(&ctx, (scope, call), asked, operations::kind(kind), None)
}

/// Asks for a step or phase: a promise, or a failure as JSON.
fn step<'js>(
    ctx: Ctx<'js>,
    scope: ScopeNumber,
    call: usize,
    texts: Array<'js>,
    body: Array<'js>,
) -> rquickjs::Result<Value<'js>> {
    let (name, options): (String, Option<String>) = (texts.get(0)?, texts.get(1)?);
    let asked = on_stage(|stage| {
        stage.desk.spend(name.len())?;
        let name = named(&name)?;
        let within = scope_of(stage, scope)?;
        // Phases have no options, not even none.
        let Some(options) = options else {
            return stage.door.phase(within, name);
        };
        let base = stage.desk.definition.config().retry_policy();
        let mut options = operations::step_options(&options, base)?;
        if let Some(call) = stage.desk.definition.call(call) {
            options.site = Some(call.site.clone());
            options.body.clone_from(&call.body);
        }
        stage.door.step(within, name, options)
    });
    expect(&ctx, (scope, call), asked, None, Some(body))
}

/// A promise for what was asked for.
fn expect<'js>(
    ctx: &Ctx<'js>,
    (scope, call): (ScopeNumber, usize),
    asked: Result<Ticket, Failure>,
    kind: Option<OperationKind>,
    body: Option<Array<'js>>,
) -> rquickjs::Result<Value<'js>> {
    let ticket = match asked {
        Ok(ticket) => ticket,
        Err(refused) => return failure::to_json(&refused).into_js(ctx),
    };
    let (promise, resolve, reject) = ctx.promise()?;
    let site =
        |stage: &mut Stage<'_>| stage.desk.definition.call(call).map(|call| call.site.clone());
    let pending = Pending {
        scope,
        kind,
        site: stage::enter(site).flatten(),
        resolve: Persistent::save(ctx, resolve),
        reject: Persistent::save(ctx, reject),
        body: body.map(|body| Persistent::save(ctx, body)),
    };
    stage::enter(|stage| stage.desk.pending.insert(ticket, pending));
    Ok(promise.into_value())
}

/// Writes to the state, or removes from it; a failure as JSON, if it was refused.
fn set(scope: ScopeNumber, key: String, value: Opt<Option<String>>) -> Option<String> {
    let value = value.0.flatten();
    refusal(on_stage(|stage| {
        stage.desk.spend(key.len() + value.as_ref().map_or(0, String::len))?;
        let value = value.map(|json| failure::parse("the value", &json)).transpose()?;
        stage.door.set(scope_of(stage, scope)?, named(&key)?, value)
    }))
}

/// Reads the state, as JSON.
fn get(key: String) -> Option<String> {
    let key = named(&key).ok()?;
    stage::enter(|stage| stage.door.get(&key).map(ToString::to_string)).flatten()
}

/// Adds to the audit trail.
fn comment(
    scope: ScopeNumber,
    on_run: bool,
    message: String,
    meta: Opt<Option<String>>,
) -> Option<String> {
    let meta = meta.0.flatten();
    refusal(on_stage(|stage| {
        stage.desk.spend(message.len() + meta.as_ref().map_or(0, String::len))?;
        let meta = meta.map(|json| failure::parse("the meta data", &json));
        let meta = meta.transpose()?.unwrap_or(Json::Null);
        let on = if on_run { CommentOn::Run } else { CommentOn::Step };
        stage.door.comment(scope_of(stage, scope)?, on, message, meta)
    }))
}

/// Writes a line to the log. Without a scope it belongs to whatever is under way.
fn log(scope: i64, level: usize, message: String) {
    const LEVELS: [LogLevel; 6] = [
        LogLevel::Trace,
        LogLevel::Debug,
        LogLevel::Info,
        LogLevel::Warn,
        LogLevel::Error,
        LogLevel::Fatal,
    ];
    stage::enter(|stage| {
        if stage.desk.spend(message.len() + size_of::<String>()).is_err() {
            return;
        }
        let number = usize::try_from(scope).unwrap_or(stage.desk.current);
        let level = LEVELS.get(level).copied().unwrap_or(LogLevel::Info);
        if let Some(scope) = stage.desk.scope(number) {
            stage.door.log(scope, level, message);
        }
    });
}

/// A body has come to its end.
fn finish(scope: ScopeNumber, how: usize, text: String) {
    stage::enter(|stage| {
        let Some((id, ticket)) = stage.desk.close(scope) else {
            return;
        };
        let outcome = match how {
            0 => match failure::parse("the result", &text) {
                Ok(value) => BodyOutcome::Returned(value),
                Err(failure) => BodyOutcome::Threw(failure),
            },
            1 => BodyOutcome::Threw(failure::of_description(&text, &stage.desk.definition)),
            _ => BodyOutcome::Skipped(text),
        };
        if let (BodyOutcome::Threw(failure), Some(ticket)) = (&outcome, ticket) {
            stage.desk.failures.insert(ticket, failure.clone());
        }
        stage.door.finish(id, outcome);
    });
}

/// Memory or stack ran out.
fn fatal(what: String) {
    stage::enter(|stage| {
        let message = format!(
            "the workflow ran out of {what}; look for something that grows without end, or raise the limit"
        );
        stage.desk.stop(Failure::new(FailureKind::Limit, message));
    });
}

fn on_stage<R>(act: impl FnOnce(&mut Stage<'_>) -> Result<R, Failure>) -> Result<R, Failure> {
    stage::enter(act).unwrap_or_else(|| {
        let message = "a workflow can ask for something only while it runs";
        Err(Failure::new(FailureKind::NonRetryable, message))
    })
}

fn scope_of(
    stage: &Stage<'_>,
    number: ScopeNumber,
) -> Result<agentos_core::program::ScopeId, Failure> {
    let gone = || Failure::new(FailureKind::NonRetryable, "this `ctx` belongs to no scope");
    stage.desk.scope(number).ok_or_else(gone)
}

fn refusal(done: Result<(), Failure>) -> Option<String> {
    done.err().map(|refused| failure::to_json(&refused))
}

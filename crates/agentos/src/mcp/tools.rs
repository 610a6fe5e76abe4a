//! The tools: one file for each thing that agents ask about.
//!
//! A tool is a type with a name, a description for a model, arguments whose schema follows from their type, and what it
//! does. To add one: write the type, and name it in [`all`].

mod again;
mod artifacts;
mod catalog;
mod comment;
mod decide;
mod logs;
mod runs;
mod start;

use std::ops::Deref;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use rmcp::handler::server::common::schema_for_type;
use rmcp::model::{JsonObject, Tool as Described, ToolAnnotations};
use rmcp::schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::answer::Answer;
use super::caller::Caller;
use super::permission::Permission;
use crate::elsewhere;
use crate::error::{CommandError, Result};
use crate::session::Session;

/// What a call stands on: the world as it is now, and who asks.
pub(super) struct Scene {
    pub(super) session: Session,
    pub(super) caller: Caller,
}

impl Scene {
    /// The same, where a run is: one of another worktree is dealt with there.
    async fn at(&self, run: &str) -> Result<At<'_>> {
        Ok(At { here: &self.session, there: elsewhere::at_run(&self.session, run).await? })
    }
}

/// A session in the worktree of a run.
struct At<'a> {
    here: &'a Session,
    there: Option<Session>,
}

impl Deref for At<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.there.as_ref().unwrap_or(self.here)
    }
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    /// Nothing.
    Reads,
    /// It adds something that takes nothing away.
    Adds,
    /// It decides or begins something, and has to be allowed.
    Acts(Permission),
}

/// A tool.
trait Tool {
    const NAME: &'static str;
    /// For people.
    const TITLE: &'static str;
    /// For a model.
    const DESCRIPTION: &'static str;
    const DEED: Deed;
    type Arguments: DeserializeOwned + JsonSchema + 'static;

    async fn call(scene: &Scene, arguments: Self::Arguments) -> Result<Answer>;
}

type Answering<'a> = Pin<Box<dyn Future<Output = Result<Answer>> + 'a>>;

/// A tool as the server knows it.
pub(super) struct Offer {
    pub(super) name: &'static str,
    /// What has to be allowed for it.
    pub(super) needs: Option<Permission>,
    pub(super) call: for<'a> fn(&'a Scene, Value) -> Answering<'a>,
    described: Described,
}

impl Offer {
    fn of<T: Tool>() -> Self {
        let annotations = ToolAnnotations::with_title(T::TITLE)
            .read_only(T::DEED == Deed::Reads)
            .destructive(false)
            .open_world(matches!(T::DEED, Deed::Acts(Permission::Run)));
        let schema = schema(schema_for_type::<T::Arguments>());
        Self {
            name: T::NAME,
            needs: match T::DEED {
                Deed::Acts(needed) => Some(needed),
                Deed::Reads | Deed::Adds => None,
            },
            call: |scene, arguments| {
                Box::pin(async move { T::call(scene, understood::<T>(arguments)?).await })
            },
            described: Described::new(T::NAME, T::DESCRIPTION, schema)
                .with_annotations(annotations),
        }
    }

    /// As it is told to a client.
    pub(super) fn described(&self) -> Described {
        self.described.clone()
    }
}

/// All of them, what reads first.
pub(super) fn all() -> &'static [Offer] {
    static ALL: LazyLock<[Offer; 13]> = LazyLock::new(|| {
        [
            Offer::of::<runs::ListRuns>(),
            Offer::of::<runs::ShowRun>(),
            Offer::of::<logs::ReadLogs>(),
            Offer::of::<artifacts::ListArtifacts>(),
            Offer::of::<artifacts::ReadArtifact>(),
            Offer::of::<catalog::ListWorkflows>(),
            Offer::of::<catalog::ListWorkspaces>(),
            Offer::of::<comment::Comment>(),
            Offer::of::<start::StartWorkflow>(),
            Offer::of::<again::RetryRun>(),
            Offer::of::<again::ForkRun>(),
            Offer::of::<decide::Signal>(),
            Offer::of::<decide::Approve>(),
        ]
    });
    &*ALL
}

/// The one of this name.
pub(super) fn find(name: &str) -> Option<&'static Offer> {
    all().iter().find(|offer| offer.name == name)
}

/// The arguments, or what is wrong with them.
fn understood<T: Tool>(arguments: Value) -> Result<T::Arguments> {
    serde_json::from_value(arguments).map_err(|error| {
        CommandError::usage(format!("the arguments of `{}` are wrong: {error}", T::NAME))
            .hint("the tool's input schema tells what it takes")
    })
}

/// The schema of arguments, without what only tells of our types. What may be left out need not be allowed to be null: some
/// clients know only one type for each argument.
fn schema(whole: Arc<JsonObject>) -> JsonObject {
    let mut schema = Arc::unwrap_or_clone(whole);
    schema.remove("$schema");
    schema.remove("title");
    schema.remove("description");
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for property in properties.into_iter().flat_map(|all| all.values_mut()) {
        let Some(property) = property.as_object_mut() else { continue };
        // How many bits a number has is nobody's business, and some clients complain of formats that they do not know.
        property.remove("format");
        let types = property.get("type").and_then(Value::as_array).cloned().unwrap_or_default();
        if let [one, null] = &types[..]
            && null == "null"
        {
            property.insert("type".to_owned(), one.clone());
        }
        if property.get("default") == Some(&Value::Null) {
            property.remove("default");
        }
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_is_described_for_a_model() {
        for offer in all() {
            let described = offer.described();
            let description = described.description.as_deref().unwrap_or_default();
            assert!(description.len() > 40, "{}", offer.name);
            assert_eq!(described.input_schema.get("type"), Some(&Value::from("object")));
            let properties = described.input_schema.get("properties").and_then(Value::as_object);
            for (name, property) in properties.into_iter().flatten() {
                let is_told = property.get("description").is_some_and(Value::is_string);
                assert!(is_told, "{}.{name}: {property}", offer.name);
                let types = property.get("type").is_none_or(Value::is_string);
                assert!(types, "{}.{name}: {property}", offer.name);
            }
        }
    }

    #[test]
    fn only_reading_and_commenting_needs_no_permission() {
        let free: Vec<&str> =
            all().iter().filter(|offer| offer.needs.is_none()).map(|offer| offer.name).collect();
        let expected = [
            "list_runs",
            "show_run",
            "read_logs",
            "list_artifacts",
            "read_artifact",
            "list_workflows",
            "list_workspaces",
            "comment",
        ];
        assert_eq!(free, expected);
    }
}

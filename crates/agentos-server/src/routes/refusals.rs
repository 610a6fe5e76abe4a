//! What can go wrong at an address, for the description: what every request may meet, what its parts may, and what the
//! operation behind it may, which is [told by its error](crate::house::errors).

use std::collections::BTreeMap;
use std::marker::PhantomData;

use serde_json::json;
use utoipa::IntoResponses;
use utoipa::openapi::schema::{AllOfBuilder, ObjectBuilder, Type};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::house::Refusal;
use crate::problem::{PREFIX, PROBLEM_JSON, ProblemKind};

/// Problems that something may meet.
pub(crate) trait Meets {
    fn kinds() -> Vec<ProblemKind>;
}

impl<E: Refusal> Meets for E {
    fn kinds() -> Vec<ProblemKind> {
        E::KINDS.to_vec()
    }
}

/// What every request may meet on its way in, and whatever is answered from a database.
const EVERY: [ProblemKind; 15] = [
    ProblemKind::Unintelligible,
    ProblemKind::WrongParameter,
    ProblemKind::UnclearHost,
    ProblemKind::TokenNeeded,
    ProblemKind::TokenInvalid,
    ProblemKind::ForeignPage,
    ProblemKind::ScopeTooSmall,
    ProblemKind::AskedByRun,
    ProblemKind::UnknownProcess,
    ProblemKind::TooSlow,
    ProblemKind::ForeignHost,
    ProblemKind::Failed,
    ProblemKind::Busy,
    ProblemKind::DatabaseUnusable,
    ProblemKind::TokensUnchecked,
];

/// Problems that a part of a request may meet.
macro_rules! parts {
    ($($(#[$doc:meta])+ $name:ident { $($kind:ident),* $(,)? })+) => {
        $(
            $(#[$doc])+
            pub(crate) struct $name;

            impl Meets for $name {
                fn kinds() -> Vec<ProblemKind> {
                    vec![$(ProblemKind::$kind),*]
                }
            }
        )+
    };
}

parts! {
    /// The address names a run.
    OfRun { UnknownRun }
    /// The address names a project.
    OfProject { UnknownProject }
    /// The address names an artifact, which may also be a folder.
    OfArtifact { UnknownArtifact, ArtifactIsFolder }
    /// The address names a workflow, by a name that several may have.
    OfWorkflow { UnknownWorkflow, AmbiguousWorkflow }
    /// A parameter names a step.
    OfStep { UnknownStep }
    /// There is a body.
    Sent { NoJson, BodyTooLarge, OtherMediaType, WrongFields }
    /// Only a part of a file may be wanted.
    InParts { NoSuchBytes }
}

macro_rules! together {
    ($($($one:ident)+;)+) => {
        $(impl<$($one: Meets),+> Meets for ($($one,)+) {
            fn kinds() -> Vec<ProblemKind> {
                [$($one::kinds()),+].concat()
            }
        })+
    };
}

together! {
    A B;
    A B C;
    A B C D;
}

impl Meets for () {
    fn kinds() -> Vec<ProblemKind> {
        Vec::new()
    }
}

/// The problems of an address, with those of every address.
pub(crate) struct Refuses<T = ()>(PhantomData<T>);

impl<T: Meets> IntoResponses for Refuses<T> {
    fn responses() -> BTreeMap<String, RefOr<Response>> {
        let every = by_status(EVERY.to_vec());
        let all = by_status([EVERY.to_vec(), T::kinds()].concat());
        let response = |(status, kinds): (u16, Vec<ProblemKind>)| {
            let told = match every.get(&status) == Some(&kinds) {
                // Most addresses answer with just these.
                true => Ref::from_response_name(name_of(status)).into(),
                false => told(&kinds).into(),
            };
            (status.to_string(), told)
        };
        all.into_iter().map(response).collect()
    }
}

/// The answers that addresses share, by the names under which the description has them.
pub(super) fn shared() -> impl Iterator<Item = (String, RefOr<Response>)> {
    let every = by_status(EVERY.to_vec()).into_iter();
    every.map(|(status, kinds)| (name_of(status), told(&kinds).into()))
}

/// What every address may answer with this status.
pub(super) fn of_every(status: u16) -> Response {
    told(&by_status(EVERY.to_vec()).remove(&status).unwrap_or_default())
}

fn name_of(status: u16) -> String {
    format!("Problem{status}")
}

fn by_status(kinds: Vec<ProblemKind>) -> BTreeMap<u16, Vec<ProblemKind>> {
    let mut all: BTreeMap<u16, Vec<ProblemKind>> = BTreeMap::new();
    for kind in kinds {
        let known = all.entry(kind.status().as_u16()).or_default();
        if !known.contains(&kind) {
            known.push(kind);
        }
    }
    all
}

/// The answer with one of these problems.
fn told(kinds: &[ProblemKind]) -> Response {
    let words: Vec<String> =
        kinds.iter().map(|kind| format!("`{}`: {}.", kind.slug(), kind.title())).collect();
    let types = kinds.iter().map(|kind| json!(format!("{PREFIX}{}", kind.slug())));
    let known = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(types));
    let schema = AllOfBuilder::new()
        .item(Ref::from_schema_name("Problem"))
        .item(ObjectBuilder::new().property("type", known));
    let content = ContentBuilder::new().schema(Some(schema)).build();
    ResponseBuilder::new().description(words.join(" ")).content(PROBLEM_JSON, content).build()
}

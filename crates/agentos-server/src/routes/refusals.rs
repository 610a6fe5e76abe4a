//! What can go wrong at an address, for the description: sets of problems that many addresses share.

use std::collections::BTreeMap;

use utoipa::IntoResponses;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, Response, ResponseBuilder};

use crate::problem::PROBLEM_JSON;

fn told(all: &[(u16, &str)]) -> BTreeMap<String, RefOr<Response>> {
    let problem = |what: &str| {
        let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("Problem"))).build();
        RefOr::T(ResponseBuilder::new().description(what).content(PROBLEM_JSON, content).build())
    };
    all.iter().map(|(status, what)| (status.to_string(), problem(what))).collect()
}

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident { $($status:literal $what:literal),* $(,)? })*) => {
        $(
            $(#[$doc])*
            pub(crate) struct $name;

            impl IntoResponses for $name {
                fn responses() -> BTreeMap<String, RefOr<Response>> {
                    told(&[
                        (400, "The request can't be understood."),
                        (401, "A token is needed, or the one that was shown is none."),
                        (403, "Whoever asks may not."),
                        (503, "There is too much to do right now, or a database can't be used."),
                        $(($status, $what)),*
                    ])
                }
            }
        )*
    };
}

refusals! {
    /// Somebody looks at a list.
    Lists {}
    /// Somebody looks at one thing.
    Finds { 404 "There is no such thing." }
    /// Somebody looks at one thing by a name that several may have.
    Means { 404 "There is no such thing.", 409 "Several have this name; `hint` has their ids." }
    /// Somebody looks at files, which may be in no state to be shown.
    Compares { 404 "There is no such thing.", 409 "It can't be shown as things stand." }
    /// Somebody removes something.
    Removes { 404 "There is no such thing.", 409 "It is still needed." }
    /// Somebody wants something to be done that nothing has to be said about.
    Repeats { 404 "There is no such thing.", 409 "It can't be done as things stand." }
    /// Somebody wants something to be there that was not.
    Adds {
        409 "It can't be done as things stand.",
        413 "The body is too large.",
        415 "The body is no JSON.",
        422 "A field is wrong; `errors` names it.",
    }
    /// Somebody wants something to be done.
    Acts {
        404 "There is no such thing.",
        409 "It can't be done as things stand.",
        413 "The body is too large.",
        415 "The body is no JSON.",
        422 "A field is wrong; `errors` names it.",
    }
}

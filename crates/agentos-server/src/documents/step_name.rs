//! A step as requests name it. Its description is written out, because limits can't be derived inside of variants.

use serde::{Deserialize, Serialize};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// A step: its number, or its name.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(untagged)]
pub enum StepName {
    /// Its number.
    Number(u32),
    /// Its name.
    Name(String),
}

impl PartialSchema for StepName {
    fn schema() -> RefOr<Schema> {
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .description(Some("Its number."))
            .minimum(Some(1u32))
            .maximum(Some(u32::MAX));
        let name = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some("Its name."))
            .min_length(Some(1));
        let either = OneOfBuilder::new().item(number).item(name);
        either.description(Some("A step: its number, or its name.")).into()
    }
}

impl ToSchema for StepName {}

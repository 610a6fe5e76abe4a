//! Bodies against what the API's own description says about them: what is published is what is taken.
//!
//! Everything that is wrong is told at once, field by field, and in words of JSON: whoever asks knows nothing of the types
//! behind it.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::is_spelling;
use crate::problem::FieldProblem;

/// How many problems are told of at once.
const PROBLEMS: usize = 20;

/// What the description says about one kind of body.
pub(crate) struct Rules {
    /// The schema, with those that it refers to beside it.
    schema: Value,
    validator: Option<Validator>,
}

impl Rules {
    /// What is published about this type.
    pub(super) fn of<T: ToSchema>() -> Self {
        let mut others = Vec::new();
        T::schemas(&mut others);
        let described = |schema| serde_json::to_value(schema).unwrap_or_default();
        let others: Map<String, Value> =
            others.into_iter().map(|(name, schema)| (name, described(schema))).collect();
        let mut schema = described(T::schema());
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("components".to_owned(), json!({ "schemas": others }));
        }
        let options = jsonschema::options().should_validate_formats(true);
        Self { validator: options.build(&schema).ok(), schema }
    }

    /// The same body with names as the description has them: `from_step` is `fromStep`. A name that is there in both
    /// spellings keeps them, and is complained about.
    pub(super) fn spelled(&self, body: Value) -> Value {
        let Value::Object(fields) = body else { return body };
        let known = self.schema["properties"].as_object();
        let mut spelled = Map::new();
        for (name, value) in fields {
            let meant =
                known.and_then(|known| known.keys().find(|known| is_spelling(known, &name)));
            match meant.filter(|meant| !spelled.contains_key(*meant)) {
                Some(meant) => spelled.insert(meant.clone(), value),
                None => spelled.insert(name, value),
            };
        }
        Value::Object(spelled)
    }

    /// What is wrong with a body.
    pub(super) fn complaints(&self, body: &Value) -> Vec<FieldProblem> {
        let errors = self.validator.iter().flat_map(|validator| validator.iter_errors(body));
        let mut found: Vec<FieldProblem> =
            errors.flat_map(|error| self.told(body, &error)).take(PROBLEMS).collect();
        // In an order of ours, not the validator's, and each field once.
        found.sort_by(|one, other| one.pointer.cmp(&other.pointer));
        found.dedup();
        found
    }

    /// A field that is missing or unknown is named itself, and not the object around it.
    fn told(&self, body: &Value, error: &ValidationError<'_>) -> Vec<FieldProblem> {
        let at = error.instance_path().as_str();
        match error.kind() {
            ValidationErrorKind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                vec![FieldProblem::at(below(at, name), "is missing")]
            }
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                unexpected.iter().map(|name| unknown(at, name)).collect()
            }
            // Where no name is known, the validator names none.
            ValidationErrorKind::FalseSchema => {
                let fields = body.pointer(at).and_then(Value::as_object).into_iter().flatten();
                fields.map(|(name, _)| unknown(at, name)).collect()
            }
            ValidationErrorKind::OneOfNotValid { context } => {
                // Whoever is right about the type means that alternative.
                let is_meant = |errors: &&Vec<ValidationError<'_>>| {
                    !errors.iter().any(|error| {
                        let is_type = matches!(error.kind(), ValidationErrorKind::Type { .. });
                        is_type && error.instance_path().as_str() == at
                    })
                };
                match context.iter().find(is_meant) {
                    Some(errors) => {
                        errors.iter().flat_map(|error| self.told(body, error)).collect()
                    }
                    None => vec![self.other(at)],
                }
            }
            _ => vec![self.other(at)],
        }
    }

    /// The complaint that something else has to be at this place.
    pub(super) fn other(&self, pointer: &str) -> FieldProblem {
        let wanted = pointer.split('/').skip(1).try_fold(&self.schema, |schema, name| {
            let name = name.replace("~1", "/").replace("~0", "~");
            self.meant(schema).find_map(|schema| {
                let field = schema.pointer(&below("/properties", &name));
                field.or_else(|| schema.get("additionalProperties"))
            })
        });
        let wanted = wanted.map(|schema| self.words(schema)).unwrap_or_default();
        let wanted = if wanted.is_empty() { "something else".to_owned() } else { wanted };
        FieldProblem::at(pointer, format!("has to be {wanted}"))
    }

    /// The schemas of which a value has to fit one.
    fn meant<'a>(&'a self, schema: &'a Value) -> Box<dyn Iterator<Item = &'a Value> + 'a> {
        let reference = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
        if let Some(schema) = reference.and_then(|pointer| self.schema.pointer(pointer)) {
            return self.meant(schema);
        }
        match schema["oneOf"].as_array() {
            Some(all) => Box::new(all.iter().flat_map(|one| self.meant(one))),
            None => Box::new(std::iter::once(schema)),
        }
    }

    /// What a schema takes. That something may also be null is not worth a word.
    fn words(&self, schema: &Value) -> String {
        let all: Vec<String> =
            self.meant(schema).map(words).filter(|words| !words.is_empty()).collect();
        all.join(" or ")
    }
}

fn unknown(at: &str, name: &str) -> FieldProblem {
    FieldProblem::at(below(at, name), "is not known")
}

/// The pointer to a field of what is at this one.
fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn words(schema: &Value) -> String {
    let is = |name: &str| match &schema["type"] {
        Value::Array(all) => all.iter().any(|one| one == name),
        one => one == name,
    };
    let number = |name: &str| schema[name].as_u64();
    if let Some(all) = schema["enum"].as_array() {
        let all: Vec<String> =
            all.iter().filter_map(Value::as_str).map(|one| format!("`{one}`")).collect();
        return all.join(", ");
    }
    if is("string") {
        return match (schema["format"].as_str(), number("minLength"), number("maxLength")) {
            (Some("uuid"), ..) => "an id (UUID)".to_owned(),
            (_, least, Some(most)) => {
                format!("a text of {} to {most} characters", least.unwrap_or(0))
            }
            (_, Some(1..), None) => "a text that is not empty".to_owned(),
            _ => "a text".to_owned(),
        };
    }
    if is("integer") {
        return match (number("minimum"), number("maximum")) {
            (Some(least), Some(most)) => format!("a whole number from {least} to {most}"),
            (Some(least), None) => format!("a whole number, and at least {least}"),
            _ => "a whole number".to_owned(),
        };
    }
    let others = [
        ("boolean", "`true` or `false`"),
        ("object", "an object"),
        ("array", "a list"),
        ("number", "a number"),
    ];
    let found = others.iter().find(|(name, _)| is(name));
    found.map(|(_, words)| (*words).to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::body::Body;
    use super::*;
    use crate::documents::{CommentRequest, ExecuteRequest, ForkRequest, RetryRequest};

    fn complaints<T: Body>(body: Value) -> Vec<String> {
        let rules = T::rules();
        let found = rules.complaints(&rules.spelled(body));
        let told =
            |found: FieldProblem| format!("{} {}", found.pointer.unwrap_or_default(), found.detail);
        found.into_iter().map(told).collect()
    }

    #[test]
    fn what_is_missing_or_unknown_is_named_itself() {
        assert_eq!(complaints::<CommentRequest>(json!({})), ["/message is missing"]);
        let body = json!({ "message": "x", "a/b": 1, "step": 2 });
        assert_eq!(
            complaints::<CommentRequest>(body),
            ["/a~1b is not known", "/step is not known"]
        );
        let body = json!({ "one": 1, "other": 2 });
        assert_eq!(complaints::<RetryRequest>(body), ["/one is not known", "/other is not known"]);
        assert_eq!(complaints::<RetryRequest>(json!([])), [" has to be an object"]);
        assert!(complaints::<RetryRequest>(json!({})).is_empty());
        let body = json!({ "workspace": { "path": "/" } });
        assert_eq!(complaints::<ExecuteRequest>(body), ["/workspace/path is not known"]);
    }

    #[test]
    fn what_something_has_to_be_is_said_in_words_of_json() {
        let wrong = json!({ "message": 1, "stepNumber": 0 });
        assert_eq!(
            complaints::<CommentRequest>(wrong),
            [
                "/message has to be a text of 1 to 16384 characters",
                "/stepNumber has to be a whole number from 1 to 4294967295"
            ]
        );
        assert_eq!(complaints::<CommentRequest>(json!([])), [" has to be an object"]);
        let wrong = json!({ "projectId": "7", "workspace": { "kind": 1 }, "agents": { "a": 1 } });
        assert_eq!(
            complaints::<ExecuteRequest>(wrong),
            [
                "/agents/a has to be a text",
                "/projectId has to be an id (UUID)",
                "/workspace/kind has to be a text"
            ]
        );
        let wrong =
            "/fromStep has to be a whole number from 1 to 4294967295 or a text that is not empty";
        for step in [json!(true), json!([]), json!(null)] {
            assert_eq!(complaints::<ForkRequest>(json!({ "fromStep": step })), [wrong]);
        }
        let step = json!({ "fromStep": 0 });
        assert_eq!(complaints::<ForkRequest>(step), [wrong]);
    }

    #[test]
    fn names_may_be_spelled_both_ways_and_once() {
        let rules = ForkRequest::rules();
        assert_eq!(rules.spelled(json!({ "from_step": 1 })), json!({ "fromStep": 1 }));
        let twice = json!({ "fromStep": 1, "from_step": 2 });
        assert_eq!(complaints::<ForkRequest>(twice), ["/from_step is not known"]);
    }
}

//! Inputs as flags: `--brief notes.md` for the property `brief` of a workflow's schema.

use agentos_core::value::Value;
use agentos_script::order::property_names;
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{property, types_of};

/// What stands before a property's name in the parser, so that it meets no flag of our own.
const PREFIX: &str = "input:";

/// A property that can be given as a flag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flag {
    /// The property.
    pub(crate) property: String,
    /// Without the dashes.
    pub(crate) long: String,
}

/// The flags that a schema makes, in the order of its properties, but for those whose names are taken.
pub(crate) fn flags(schema: &Value, is_taken: impl Fn(&str) -> bool) -> Vec<Flag> {
    let names = property_names(schema).into_iter();
    let flags = names.map(|name| Flag { property: name.to_owned(), long: kebab(name) });
    flags.filter(|flag| !flag.long.is_empty() && !is_taken(&flag.long)).collect()
}

/// `dryRun` and `dry_run` are written `--dry-run`.
fn kebab(name: &str) -> String {
    let mut text = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            if !text.is_empty() && !text.ends_with('-') {
                text.push('-');
            }
            text.push(letter.to_ascii_lowercase());
        } else if letter.is_ascii_alphanumeric() {
            text.push(letter);
        } else if !text.is_empty() && !text.ends_with('-') {
            text.push('-');
        }
    }
    text.trim_end_matches('-').to_owned()
}

/// What a command's own flags are called.
fn own(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_long().map(str::to_owned));
    own.chain(["help".to_owned(), "version".to_owned()]).collect()
}

/// The properties that can only be given with `--input`, because a flag of the command has their name: lines for people.
pub(crate) fn without_flag(command: &Command, schema: &Value) -> Vec<String> {
    let own = own(command);
    let taken = flags(schema, |name| !own.iter().any(|own| own == name));
    let line = |Flag { property: name, .. }: &Flag| {
        let described = property(Some(schema), name);
        let value = value_name(described, &described.map(types_of).unwrap_or_default());
        format!("--input {name}={value}  {}", help(schema, name))
    };
    taken.iter().map(line).collect()
}

/// The command with a flag for every property.
pub(crate) fn add_flags(command: Command, schema: &Value) -> Command {
    let own = own(&command);
    let found = flags(schema, |name| own.iter().any(|own| own == name));
    let arguments: Vec<Arg> = found.iter().map(|flag| argument(schema, flag)).collect();
    command.args(arguments)
}

fn argument(schema: &Value, flag: &Flag) -> Arg {
    let id = format!("{PREFIX}{}", flag.property);
    let described = property(Some(schema), &flag.property);
    let types = described.map(types_of).unwrap_or_default();
    let argument = Arg::new(id)
        .long(flag.long.clone())
        .help(help(schema, &flag.property))
        .help_heading("Inputs")
        .value_name(value_name(described, &types))
        .action(ArgAction::Append)
        .value_parser(parser(described))
        .allow_hyphen_values(types.iter().any(|name| matches!(*name, "number" | "integer")));
    match types.contains(&"boolean") {
        true => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
        false => argument,
    }
}

fn parser(property: Option<&Value>) -> ValueParser {
    let choices = property.and_then(|property| property.get("enum")).and_then(Value::as_array);
    let texts: Option<Vec<String>> = choices.map(|choices| {
        choices.iter().filter_map(|choice| Some(choice.as_str()?.to_owned())).collect()
    });
    match texts.filter(|texts| !texts.is_empty()) {
        Some(texts) => PossibleValuesParser::new(texts).into(),
        None => ValueParser::string(),
    }
}

fn value_name(property: Option<&Value>, types: &[&str]) -> String {
    let format = property.and_then(|property| property.get("format")).and_then(Value::as_str);
    match (format, types.first()) {
        (Some(format), _) => format.to_uppercase(),
        (None, Some(name)) => name.to_uppercase(),
        (None, None) => "VALUE".to_owned(),
    }
}

fn help(schema: &Value, name: &str) -> String {
    let described = property(Some(schema), name);
    let text = |key: &str| described.and_then(|described| described.get(key));
    let mut words = text("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    let required = schema.get("required").and_then(Value::as_array);
    if required.is_some_and(|required| required.iter().any(|required| required == name)) {
        words.push_str(" (required)");
    }
    if let Some(default) = text("default") {
        words = format!("{words} [default: {default}]");
    }
    words.trim_start().to_owned()
}

/// What was given by these flags.
pub(crate) fn given_flags(matches: &ArgMatches) -> Vec<(String, Vec<String>)> {
    let ids = matches.ids().filter_map(|id| id.as_str().strip_prefix(PREFIX));
    let given = ids.map(|name| {
        let texts = matches.get_many::<String>(&format!("{PREFIX}{name}"));
        (name.to_owned(), texts.into_iter().flatten().cloned().collect())
    });
    given.collect()
}

#[cfg(test)]
mod tests {
    use clap::Command as Verb;
    use serde_json::json;

    use super::*;

    #[test]
    fn names_are_written_as_flags_are() {
        for (name, flag) in [
            ("brief", "brief"),
            ("dryRun", "dry-run"),
            ("dry_run", "dry-run"),
            ("_", ""),
            ("aB", "a-b"),
        ] {
            assert_eq!(kebab(name), flag);
        }
    }

    #[test]
    fn a_property_whose_name_is_a_flag_already_is_none() {
        let schema = json!({ "properties": { "json": {}, "brief": {} } });
        let found = flags(&schema, |name| name == "json");
        assert_eq!(found, [Flag { property: "brief".into(), long: "brief".into() }]);
    }

    #[test]
    fn flags_are_given_as_texts() {
        let schema = json!({ "properties": {
            "dry": { "type": "boolean" }, "tag": { "type": "array" }, "n": { "type": "integer" } } });
        let command = add_flags(Verb::new("run"), &schema);
        let read = |arguments: &[&str]| {
            let matches = command.clone().try_get_matches_from(arguments).expect("they are flags");
            given_flags(&matches)
        };
        let text = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(read(&["run", "--dry"]), [("dry".to_owned(), text(&["true"]))]);
        assert_eq!(read(&["run", "--dry=false"]), [("dry".to_owned(), text(&["false"]))]);
        assert_eq!(
            read(&["run", "--tag", "a", "--tag", "b"]),
            [("tag".to_owned(), text(&["a", "b"]))]
        );
        assert_eq!(read(&["run", "--n", "-3"]), [("n".to_owned(), text(&["-3"]))]);
    }
}

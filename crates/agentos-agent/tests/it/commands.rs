//! What is started for a request: the command lines of every agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_agent::agent::{Request, RequestError, Session};
use agentos_agent::configured::AgentSpec;
use agentos_agent::permission::Permission;
use agentos_agent::roster::{Roster, RosterError};
use serde_json::json;

use super::part::member;

fn request() -> Request {
    Request {
        name: "implement".into(),
        attempt: 1,
        prompt: "write it".into(),
        session: Session::New("11111111-2222-4333-8444-555555555555".into()),
        model: Some("model-1".into()),
        system_prompt: None,
        permission: Permission::AcceptEdits,
        allowed_tools: Vec::new(),
        max_turns: None,
        max_usd: None,
        mcp_servers: BTreeMap::new(),
        folder: PathBuf::from("/folder"),
    }
}

fn full() -> Request {
    Request {
        session: Session::Resumed("11111111-2222-4333-8444-555555555555".into()),
        system_prompt: Some("Be brief.".into()),
        permission: Permission::Full,
        mcp_servers: BTreeMap::from([(
            "db".into(),
            json!({ "command": "mcp-db", "args": ["-x"] }),
        )]),
        ..request()
    }
}

#[test]
fn command_lines_are_as_they_were() {
    for name in ["claude", "codex", "gemini"] {
        let agent = member(name).agent;
        for (case, mut request) in [("new", request()), ("full", full())] {
            if name == "gemini" {
                request.mcp_servers.clear();
            }
            let command = agent.command(&request).expect("a command");
            insta::assert_debug_snapshot!(format!("{name}-{case}"), command);
        }
        let look = Request { permission: Permission::ReadOnly, ..request() };
        let command = agent.command(&look).expect("a command");
        insta::assert_snapshot!(format!("{name}-look"), command.argv.join(" "));
    }
}

#[test]
fn what_an_agent_can_not_do_is_refused() {
    let request = Request { max_turns: Some(3), ..request() };
    let refused = member("codex").agent.command(&request).unwrap_err();
    assert!(matches!(refused, RequestError::Unsupported { option: "maxTurns", .. }), "{refused}");
    assert!(member("claude").agent.command(&request).is_ok());
    let refused = member("gemini").agent.command(&request).unwrap_err();
    assert!(matches!(refused, RequestError::Unsupported { option: "maxTurns", .. }), "{refused}");
    let refused = member("gemini").agent.command(&full()).unwrap_err();
    assert!(matches!(refused, RequestError::Unsupported { option: "mcpServers", .. }), "{refused}");
    let long = Request { system_prompt: Some("x".repeat(200 << 10)), ..request };
    let refused = member("claude").agent.command(&long).unwrap_err();
    assert!(matches!(refused, RequestError::TooLong { .. }), "{refused}");
}

fn roster(text: &str) -> Roster {
    let specs: BTreeMap<String, AgentSpec> = toml::from_str(text).expect("a configuration");
    for (name, spec) in &specs {
        assert_eq!(spec.mistake(name), None, "{name}");
    }
    Roster::new(specs, vec!["agentos".into(), "play".into()], Path::new("/project"))
}

#[test]
fn any_command_is_an_agent_by_a_template() {
    let roster = roster(
        r#"
        [mine]
        command = ["my-agent", "--model", "{model}", "--id={session}", "{prompt}"]
        resume = ["my-agent", "--resume", "{session}", "{prompt}"]
        env = { A = "b" }
        pass = ["MY_KEY"]
        [quiet]
        command = "quiet"
        "#,
    );
    let mine = roster.member("mine", &BTreeMap::new()).expect("an agent");
    let tricky = Request { prompt: "say {model}".into(), ..request() };
    let command = mine.agent.command(&tricky).expect("a command");
    let id = "--id=11111111-2222-4333-8444-555555555555";
    assert_eq!(command.argv, ["my-agent", "--model", "model-1", id, "say {model}"]);
    assert_eq!(command.input, None);
    assert!(mine.takes("MY_KEY") && !mine.takes("ANTHROPIC_API_KEY") && mine.agent.can_resume());
    let quiet = roster.member("quiet", &BTreeMap::new()).expect("an agent");
    let command = quiet.agent.command(&request()).expect("a command");
    assert_eq!((command.argv, command.input), (vec!["quiet".into()], Some("write it".into())));
    assert!(!quiet.agent.can_resume());
}

#[test]
fn known_agents_can_be_pointed_elsewhere() {
    let roster =
        roster("[claude]\ncommand = [\"node\", \"cli.js\"]\nmodel = \"m\"\nargs = [\"--debug\"]");
    let claude = roster.member("claude", &BTreeMap::new()).expect("an agent");
    let argv = claude.agent.command(&request()).expect("a command").argv;
    assert_eq!(argv[..3], ["node", "cli.js", "-p"]);
    assert!(argv.contains(&"--debug".to_owned()));
    assert_eq!(claude.model.as_deref(), Some("m"));
    assert!(claude.takes("ANTHROPIC_BASE_URL") && !claude.takes("OPENAI_API_KEY"));
}

#[test]
fn any_agent_can_be_replaced_by_another() {
    let roster = roster("[gemini]\nmodel = \"g\"");
    let instead = BTreeMap::from([
        ("claude".to_owned(), "scripted:/a/b.toml".to_owned()),
        ("codex".to_owned(), "gemini".to_owned()),
        ("gemini".to_owned(), "nobody".to_owned()),
    ]);
    let claude = roster.member("claude", &instead).expect("an agent");
    let argv = claude.agent.command(&request()).expect("a command").argv;
    assert_eq!(argv[..4], ["agentos", "play", "--scenario", "/a/b.toml"]);
    assert_eq!(roster.member("codex", &instead).expect("an agent").name, "gemini");
    let unknown = roster.member("gemini", &instead).err();
    assert!(matches!(unknown, Some(RosterError::Unknown { .. })), "{unknown:?}");
    let none = roster.member("scripted", &instead).err();
    assert!(matches!(none, Some(RosterError::NoScenario { .. })), "{none:?}");
}

#[test]
fn mistakes_in_a_configuration_are_named() {
    let mistake = |name: &str, text: &str| {
        toml::from_str::<AgentSpec>(text).expect("TOML").mistake(name).unwrap_or_default()
    };
    assert!(mistake("mine", "").contains("`command`"));
    assert!(mistake("mine", "command = [\"x\", \"{promt}\"]").contains("`{promt}`"));
    assert!(mistake("claude", "output = \"text\"").contains("kind `command`"));
    assert!(mistake("codex", "scenario = \"x\"").contains("kind `scripted`"));
    assert_eq!(mistake("mine", "command = [\"sh\", \"-c\", \"echo ${HOME} '{print $1}'\"]"), "");
}

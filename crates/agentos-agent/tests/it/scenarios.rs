//! The scripted agent: real files change, it goes on where it was interrupted, and it does the same every time.

use std::path::Path;

use agentos_agent::permission::Permission;
use agentos_agent::scripted::play::{Play, PlayError, play};
use agentos_agent::verdict::{TroubleKind, Verdict};

use super::part::{exited, told};

struct Stand {
    folder: tempfile::TempDir,
    permission: Permission,
}

impl Stand {
    fn new(scenario: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("workspace")).expect("a workspace");
        std::fs::write(folder.path().join("scenario.toml"), scenario).expect("a scenario");
        Self { folder, permission: Permission::AcceptEdits }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join("workspace").join(name)).ok()
    }

    fn play(
        &self,
        session: &str,
        is_resumed: bool,
        prompt: &str,
    ) -> Result<(String, Verdict), PlayError> {
        let what = Play {
            scenario: self.path().join("scenario.toml"),
            agent: "claude".into(),
            name: "work".into(),
            attempt: 1,
            session: session.into(),
            is_resumed,
            prompt: prompt.into(),
            model: None,
            max_turns: None,
            permission: self.permission,
            state: self.path().join("state"),
            workspace: self.path().join("workspace"),
        };
        let mut said = Vec::new();
        let code = play(&what, &mut said)?;
        let said = String::from_utf8(said).expect("text");
        let mut translator = scripted();
        let (_, verdict) = told(translator.as_mut(), said.as_bytes(), &exited(code.into()));
        Ok((said, verdict))
    }
}

fn scripted() -> Box<dyn agentos_agent::agent::Translator> {
    let instead = [("claude".to_owned(), "scripted:x".to_owned())].into();
    let roster = agentos_agent::roster::Roster::new([].into(), vec![], Path::new("/"));
    let member = roster.member("claude", &instead).expect("an agent");
    member.agent.translator(agentos_agent::usage::Baseline::default())
}

const WORK: &str = r#"
model = "m"
[[session]]
play = [
    { think = "hm" },
    { write = { file = "src/a.txt", content = "one two" } },
    { patch = { file = "src/a.txt", find = "two", replace = "three" } },
    { run = "cat src/a.txt; echo ran >> ran.txt" },
    { call = { tool = "search", input = { q = 1 }, output = "found" } },
    { tokens = { input = 100, output = 10, cost_usd = 0.5 } },
    { tokens = { input = 50, output = 5, cost_usd = 0.25 } },
    { write = { file = "b.txt", content = "" } },
    { delete = "b.txt" },
    { say = "done" },
]
"#;

#[test]
fn real_files_change_and_the_same_scenario_says_the_same_twice() {
    let (one, other) = (Stand::new(WORK), Stand::new(WORK));
    let (said, verdict) = one.play("s", false, "go").expect("played");
    assert_eq!(one.file("src/a.txt").as_deref(), Some("one three"));
    assert_eq!((one.file("ran.txt").as_deref(), one.file("b.txt")), (Some("ran\n"), None));
    assert!(verdict.is_success(), "{:?}", verdict.trouble);
    assert_eq!((verdict.text.as_str(), verdict.cost_usd), ("done", Some(0.75)));
    assert_eq!((verdict.usage.input_tokens, verdict.usage.output_tokens), (150, 15));
    assert_eq!(other.play("s", false, "go").expect("played").0, said);
    insta::assert_snapshot!(said);
}

#[test]
fn a_resumed_session_plays_what_comes_next_and_an_unknown_one_is_refused() {
    let stand = Stand::new(
        r#"
        [[session]]
        play = [{ say = "first" }]
        [[session]]
        prompt = "more"
        play = [{ say = "second" }]
        "#,
    );
    let (_, unknown) = stand.play("nobody", true, "go").expect("a stream");
    let kind = unknown.trouble.map(|trouble| trouble.kind);
    assert_eq!(kind, Some(TroubleKind::UnknownSession));
    assert_eq!(stand.play("s", false, "go").expect("played").1.text, "first");
    assert_eq!(stand.play("s", true, "more please").expect("played").1.text, "second");
}

#[test]
fn a_scenario_goes_on_after_the_last_item_that_was_played() {
    let scenario = r#"
        [[session]]
        play = [{ run = "echo x >> count.txt" }, { exit = 3 }, { say = "after" }]
    "#;
    let stand = Stand::new(scenario);
    let (_, verdict) = stand.play("s", false, "go").expect("played");
    assert_eq!(verdict.trouble.map(|trouble| trouble.kind), Some(TroubleKind::Exit));
    let (_, verdict) = stand.play("s", true, "go on").expect("played");
    assert_eq!(verdict.text, "after");
    assert_eq!(stand.file("count.txt").as_deref(), Some("x\n"), "what was done is not done again");
}

#[test]
fn failures_have_the_kind_that_the_scenario_says() {
    let kind = |items: &str| {
        let stand = Stand::new(&format!("[[session]]\nplay = [{items}]"));
        let (_, verdict) = stand.play("s", false, "go").expect("played");
        verdict.trouble.map(|trouble| trouble.kind)
    };
    assert_eq!(kind("{ fail = { kind = \"rate_limit\" } }"), Some(TroubleKind::RateLimit));
    assert_eq!(kind("{ deny = \"Bash\" }"), Some(TroubleKind::PermissionDenied));
    assert_eq!(kind("{ exit = 0 }"), Some(TroubleKind::Dropped));
    assert_eq!(kind("{ run = \"exit 4\" }"), Some(TroubleKind::Exit));
    assert_eq!(kind("{ write = { file = \"../out\", content = \"\" } }"), Some(TroubleKind::Exit));
    assert_eq!(kind("{ line = \"garbage\" }, { flood = 200000 }, { say = \"x\" }"), None);
}

#[test]
fn nothing_to_play_is_said_so() {
    let stand = Stand::new("[[session]]\nname = \"other\"\nplay = []");
    let (_, verdict) = stand.play("s", false, "go").expect("a stream");
    let trouble = verdict.trouble.expect("trouble");
    assert!(trouble.message.contains("nothing for the session `work`"), "{}", trouble.message);
    assert!(!trouble.kind.is_passing(), "trying again would not help");
}

#[test]
fn whoever_may_only_look_changes_nothing() {
    let items =
        r#"{ write = { file = "a", content = "x" } }, { run = "touch b" }, { say = "done" }"#;
    let stand = Stand {
        permission: Permission::ReadOnly,
        ..Stand::new(&format!("[[session]]\nplay = [{items}]"))
    };
    let (_, verdict) = stand.play("s", false, "go").expect("played");
    assert_eq!(verdict.denied, ["write", "run"]);
    assert_eq!(verdict.trouble.map(|trouble| trouble.kind), Some(TroubleKind::PermissionDenied));
    assert_eq!((stand.file("a"), stand.file("b")), (None, None));
}

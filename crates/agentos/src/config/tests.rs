//! Precedence, origins and mistakes.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use tempfile::TempDir;

use super::setting::Origin;
use super::*;
use crate::terminal::fixture::environment;

/// A home and a checkout.
struct Place {
    folder: TempDir,
    environment: Environment,
    flags: Flags,
}

impl Place {
    fn new(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, environment: environment(variables), flags: Flags::default() }
    }

    fn user(self, text: &str) -> Self {
        self.write("home/.config/agentos/config.toml", text)
    }

    fn repository(self, text: &str) -> Self {
        self.write("repo/.agent/config.toml", text)
    }

    fn write(self, path: &str, text: &str) -> Self {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn load(&self) -> Result<Config, ConfigError> {
        let (home, checkout) = (self.folder.path().join("home"), self.folder.path().join("repo"));
        Config::load(&Sources {
            environment: &self.environment,
            home: Some(&home),
            checkout: Some(&checkout),
            flags: self.flags,
        })
    }

    /// Text without the name of the folder.
    fn here(&self, text: &str) -> String {
        text.replace(&self.folder.path().display().to_string(), "")
    }

    fn rows(&self) -> String {
        let rows = self.load().unwrap().rows();
        let lines = rows.iter().map(|row| format!("{} = {}  ({})", row.key, row.value, row.origin));
        self.here(&lines.collect::<Vec<_>>().join("\n"))
    }

    /// What somebody has said.
    fn said(&self) -> String {
        let rows = self.rows();
        rows.lines().filter(|row| !row.ends_with("(default)")).collect::<Vec<_>>().join("\n")
    }

    fn mistake(&self) -> String {
        self.here(&self.load().unwrap_err().to_string())
    }
}

#[test]
fn without_anything_there_are_defaults() {
    insta::assert_snapshot!(Place::new(&[]).rows(), @r#"
        forge.api_url = ""  (default)
        forge.host = ""  (default)
        forge.kind = ""  (default)
        forge.token_env = ""  (default)
        git.pr_template = ""  (default)
        limits.runs = "none"  (default)
        limits.runs_per_repo = "none"  (default)
        limits.workflows = {}  (default)
        log.level = "warn"  (default)
        mcp.allow = []  (default)
        output.color = "auto"  (default)
        retention.artifacts = ""  (default)
        retention.cancelled = ""  (default)
        retention.completed = ""  (default)
        retention.failed = ""  (default)
        retention.logs = ""  (default)
        run.concurrency = 100  (default)
        script.memory_mb = 128  (default)
        script.turn_ms = 2000  (default)
        secrets.names = []  (default)
        server.body_kb = 16384  (default)
        server.connections = 4096  (default)
        server.connections_per_peer = 2048  (default)
        server.header_seconds = 30  (default)
        server.hosts = []  (default)
        server.origins = []  (default)
        server.request_seconds = 300  (default)
        server.requests = 256  (default)
        server.stop_seconds = 10  (default)
        shell.env = {}  (default)
        shell.pass = []  (default)
        workspace.backup_max_size = "256MiB"  (default)
        workspace.cleanup_on_complete = false  (default)
        workspace.direnv = "auto"  (default)
        workspace.keep_backups = ""  (default)
        workspace.kind = "auto"  (default)
        workspace.lfs = "pull"  (default)
        workspace.max_age = ""  (default)
        workspace.max_size = ""  (default)
        workspace.max_total_size = ""  (default)
        workspace.min_free_disk = ""  (default)
        workspace.path = ""  (default)
        workspace.reproducible = []  (default)
        workspace.setup = ""  (default)
        workspace.snapshots = "auto"  (default)
        workspace.submodules = "none"  (default)
        "#);
}

#[test]
fn every_source_wins_over_the_one_below_it_key_by_key() {
    let place = Place::new(&[])
        .user("[run]\nconcurrency = 2\n[output]\ncolor = \"never\"\n\n[log]\nlevel = \"info\"\n")
        .repository("run.concurrency = 3\noutput = { color = \"always\" }\n");
    insta::assert_snapshot!(place.said(), @r#"
        log.level = "info"  (user config /home/.config/agentos/config.toml:7)
        output.color = "always"  (repository config /repo/.agent/config.toml:2)
        run.concurrency = 3  (repository config /repo/.agent/config.toml:1)
        "#);
    let variables = [
        ("AGENTOS_RUN_CONCURRENCY", "4"),
        ("AGENTOS_LOG", "debug"),
        ("AGENTOS_OUTPUT_COLOR", "auto"),
    ];
    let mut place = Place { environment: environment(&variables), ..place };
    insta::assert_snapshot!(place.said(), @r#"
        log.level = "debug"  (environment AGENTOS_LOG)
        output.color = "auto"  (environment AGENTOS_OUTPUT_COLOR)
        run.concurrency = 4  (environment AGENTOS_RUN_CONCURRENCY)
        "#);
    place.flags = Flags { color: Some(ColorChoice::Never), verbosity: 2, concurrency: Some(5) };
    insta::assert_snapshot!(place.said(), @r#"
        log.level = "warn,agentos=debug"  (flag)
        output.color = "never"  (flag)
        run.concurrency = 5  (flag)
        "#);
}

#[test]
fn a_repository_does_not_overrule_no_color() {
    let place = Place::new(&[("NO_COLOR", "1")]).repository("[output]\ncolor = \"always\"\n");
    let color = place.load().unwrap().output.color;
    assert_eq!(
        (color.value, color.origin.to_string()),
        (ColorChoice::Never, "environment NO_COLOR".to_owned())
    );
}

#[test]
fn the_user_may_keep_it_elsewhere_but_not_at_a_relative_path() {
    let place = Place::new(&[])
        .write("xdg/agentos/config.toml", "run.concurrency = 7\n")
        .user("run.concurrency = 8\n");
    let concurrency = |home: &str| {
        let variables = environment(&[("XDG_CONFIG_HOME", home)]);
        let sources = Sources {
            environment: &variables,
            home: None,
            checkout: None,
            flags: Flags::default(),
        };
        Config::load(&sources).unwrap().run.concurrency.value
    };
    assert_eq!(concurrency(place.folder.path().join("xdg").to_str().unwrap()), 7);
    assert_eq!(concurrency("xdg"), 100);
    assert_eq!(concurrency(""), 100);
}

#[test]
fn a_mistake_is_named_with_its_place_and_what_would_be_right() {
    let texts = [
        "[run]\n\nconcurency = 4\n",
        "[run]\ntimeout = \"1h\"\n",
        "[rum]\n",
        "speed = 1\n",
        "run.concurrency = 0\n",
        "[run]\nconcurrency = \"four\"\n",
        "run = 3\n",
        "output = { color = \"alwais\" }\n",
        "[output]\ncolor = \"blue\"\n",
        "[log]\nlevel = 3\n",
        "[run\n",
        "[run]\nconcurrency = 1\nconcurrency = 2\n",
        "# ä\nrun.x.y = 1\n",
        "\u{0}",
        "\"\\u001b[2J\" = 1\n",
    ];
    let mistakes = texts.map(|text| Place::new(&[]).repository(text).mistake());
    insta::assert_snapshot!(mistakes.join("\n"), @r#"
        /repo/.agent/config.toml:3:1: unknown key `run.concurency`; did you mean `concurrency`?
        /repo/.agent/config.toml:2:1: unknown key `run.timeout`; there is only `concurrency`
        /repo/.agent/config.toml:1:2: unknown key `rum`; did you mean `run`?
        /repo/.agent/config.toml:1:1: unknown key `speed`; there is only `agents`, `forge`, `git`, `prices`, `retention`, `limits`, `roles`, `run`, `output`, `log`, `mcp`, `shell`, `secrets`, `server`, `script`, `workspace`
        /repo/.agent/config.toml:1:19: `run.concurrency`: must be between 1 and 10000
        /repo/.agent/config.toml:2:15: `run.concurrency`: invalid type: string "four", expected a whole number
        /repo/.agent/config.toml:1:7: `run`: invalid type: integer `3`, expected a table
        /repo/.agent/config.toml:1:20: `output.color`: `alwais` is not possible; did you mean `always`?
        /repo/.agent/config.toml:2:9: `output.color`: `blue` is not possible; there is only `auto`, `always`, `never`
        /repo/.agent/config.toml:2:9: `log.level`: invalid type: integer `3`, expected a string
        /repo/.agent/config.toml:1:5: unclosed table, expected `]`
        /repo/.agent/config.toml:3:1: duplicate key
        /repo/.agent/config.toml:2:5: unknown key `run.x`; there is only `concurrency`
        /repo/.agent/config.toml:1:2: key with no value, expected `=`
        /repo/.agent/config.toml:1:1: unknown key `?[2J`; there is only `agents`, `forge`, `git`, `prices`, `retention`, `limits`, `roles`, `run`, `output`, `log`, `mcp`, `shell`, `secrets`, `server`, `script`, `workspace`
        "#);
}

#[test]
fn agents_are_allowed_to_start_and_signal_in_a_file_and_never_to_approve() {
    let place = Place::new(&[]).repository("[mcp]\nallow = [\"run\", \"signal\"]\n");
    insta::assert_snapshot!(place.said(), @r#"mcp.allow = ["run", "signal"]  (repository config /repo/.agent/config.toml:2)"#);
    let mistake =
        |word: &str| Place::new(&[]).repository(&format!("mcp.allow = [\"{word}\"]\n")).mistake();
    assert!(mistake("approve").contains("`agentos mcp --allow approve`"), "{}", mistake("approve"));
    assert!(mistake("all").contains("there is only `run`, `signal`"), "{}", mistake("all"));
}

#[test]
fn a_wrong_variable_is_named() {
    let mistake = |name, value| Place::new(&[(name, value)]).mistake();
    insta::assert_snapshot!(mistake("AGENTOS_RUN_CONCURRENCY", "many"), @r#"
        the environment variable AGENTOS_RUN_CONCURRENCY must be a whole number; it is `many`
        "#);
    insta::assert_snapshot!(mistake("AGENTOS_RUN_CONCURRENCY", "10001"), @r#"
        the environment variable AGENTOS_RUN_CONCURRENCY must be between 1 and 10000; it is `10001`
        "#);
    insta::assert_snapshot!(mistake("AGENTOS_OUTPUT_COLOR", "yes"), @r#"
        the environment variable AGENTOS_OUTPUT_COLOR must be `auto`, `always` or `never`; it is `yes`
        "#);
    let mut place = Place::new(&[]);
    let value = OsStr::from_bytes(b"\xff").to_owned();
    place.environment.insert("AGENTOS_LOG".into(), value);
    insta::assert_snapshot!(place.mistake(), @r#"
        the environment variable AGENTOS_LOG is not text; it is `�`
        "#);
    place = Place::new(&[]);
    place.flags.concurrency = Some(0);
    insta::assert_snapshot!(place.mistake(), @r#"
        `run.concurrency` must be between 1 and 10000
        "#);
}

#[test]
fn a_file_that_is_there_and_no_text_is_an_error() {
    let place = Place::new(&[]);
    fs::create_dir_all(place.folder.path().join("repo/.agent/config.toml")).unwrap();
    insta::assert_snapshot!(place.mistake(), @r#"
        can't read the configuration /repo/.agent/config.toml: it is not a file; repair the file, or remove it
        "#);
    let place = Place::new(&[]).repository("");
    fs::write(place.folder.path().join("repo/.agent/config.toml"), b"\xff\xfe").unwrap();
    insta::assert_snapshot!(place.mistake(), @r#"
        can't read the configuration /repo/.agent/config.toml: it is not text in UTF-8; repair the file, or remove it
        "#);
    let place = Place::new(&[]).repository(&"#".repeat((1 << 20) + 1));
    insta::assert_snapshot!(place.mistake(), @r#"
        can't read the configuration /repo/.agent/config.toml: it is larger than 1048576 bytes; repair the file, or remove it
        "#);
}

#[test]
fn a_file_where_a_folder_should_be_is_no_configuration() {
    let place = Place::new(&[]).write("repo/.agent", "");
    assert_eq!(place.load().unwrap().run.concurrency.origin, Origin::Default);
}

#[test]
fn agents_and_prices_of_both_files_are_there_and_keys_are_not_shown() {
    let place = Place::new(&[])
        .user("[agents.mine]\ncommand = [\"a\"]\n[agents.claude]\nmodel = \"m\"\n[prices.x]\ninput = 1.0\noutput = 2.0\n")
        .repository("[agents.claude]\ncommand = \"/opt/claude\"\nenv = { ANTHROPIC_API_KEY = \"secret\" }\n");
    let rows = place.rows();
    let agents: Vec<&str> = rows.lines().filter(|row| row.starts_with(['a', 'p'])).collect();
    insta::assert_snapshot!(agents.join("\n"), @r#"
        agents = { claude = { command = "/opt/claude", env = { ANTHROPIC_API_KEY = "***" } }, mine = { command = ["a"] } }  (repository config /repo/.agent/config.toml:1)
        prices = { x = { input = 1.0, output = 2.0 } }  (user config /home/.config/agentos/config.toml:5)
        "#);
    let mistake = Place::new(&[]).repository("[agents.mine]\noutput = \"text\"\n").mistake();
    assert!(mistake.contains("[agents.mine]: say with `command`"), "{mistake}");
    let mistake = Place::new(&[]).repository("[agents.mine]\ncomand = \"x\"\n").mistake();
    assert!(mistake.contains("did you mean `command`?"), "{mistake}");
}

#[test]
fn limits_are_put_together_workflow_by_workflow() {
    let place = Place::new(&[("AGENTOS_LIMITS_RUNS", "3")])
        .user("[limits]\nruns = 9\nruns_per_repo = 4\nworkflows = { one = 1, two = 2 }\n")
        .repository("[limits]\nruns_per_repo = \"none\"\nworkflows.two = \"none\"\n");
    insta::assert_snapshot!(place.said(), @r#"
        limits.runs = 3  (environment AGENTOS_LIMITS_RUNS)
        limits.runs_per_repo = "none"  (repository config /repo/.agent/config.toml:2)
        limits.workflows = { one = 1, two = "none" }  (repository config /repo/.agent/config.toml:3)
        "#);
}

#[test]
fn a_limit_that_is_none_is_refused_with_what_would_be_one() {
    let texts = [
        "[limits]\nruns = 0\n",
        "[limits]\nruns_per_repo = -1\n",
        "[limits]\nruns = 10001\n",
        "[limits]\nworkflows = { a = 1.5 }\n",
        "[limits]\nrun = 1\n",
        "[agents.claude]\nconcurrency = 0\n",
        "[agents.claude]\nconcurrency = -2\n",
    ];
    let mut mistakes = texts.map(|text| Place::new(&[]).user(text).mistake()).to_vec();
    mistakes.push(Place::new(&[("AGENTOS_LIMITS_RUNS_PER_REPO", "few")]).mistake());
    mistakes.push(Place::new(&[]).repository("[limits]\nruns = 2\n").mistake());
    insta::assert_snapshot!(mistakes.join("\n"), @r#"
        /home/.config/agentos/config.toml:2:8: `limits.runs`: must be a whole number from 1 to 10000, or "none"
        /home/.config/agentos/config.toml:2:17: `limits.runs_per_repo`: must be a whole number from 1 to 10000, or "none"
        /home/.config/agentos/config.toml:2:8: `limits.runs`: must be a whole number from 1 to 10000, or "none"
        /home/.config/agentos/config.toml:2:19: `limits.workflows.a`: must be a whole number from 1 to 10000, or "none"
        /home/.config/agentos/config.toml:2:1: unknown key `limits.run`; did you mean `runs`?
        /home/.config/agentos/config.toml:1:2: `agents.claude`: [agents.claude]: `concurrency` must be a whole number from 1 to 10000
        /home/.config/agentos/config.toml:2:15: `agents.claude.concurrency`: invalid value: integer `-2`, expected a whole number from 0 on
        the environment variable AGENTOS_LIMITS_RUNS_PER_REPO must be a whole number from 1 to 10000, or "none"; it is `few`
        /repo/.agent/config.toml:2:8: `limits.runs` is about all of your repositories, so none of them can set it: write it into your own configuration, or mean `limits.runs_per_repo`
        "#);
}

//! Where an agent lives during a test: nothing of the real user is in reach, and nothing outside of this machine.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::RealAgent;

/// A key that opens nothing.
const KEY: &str = "test-key-that-opens-nothing";
/// Nobody listens there.
const NOWHERE: &str = "http://127.0.0.1:9";

/// A home for agents, with a model server as their only outside.
#[derive(Clone, Debug)]
pub struct AgentHome {
    folder: PathBuf,
    url: String,
}

impl AgentHome {
    /// Makes a home in a folder: what agents read and write there, and the address of the model server.
    ///
    /// # Panics
    /// If it can't be written.
    #[must_use]
    pub fn new(folder: &Path, url: &str) -> Self {
        let this = Self { folder: folder.to_owned(), url: url.to_owned() };
        for place in [this.home(), this.codex(), this.home().join(".gemini"), this.temporary()] {
            fs::create_dir_all(place).expect("a folder");
        }
        fs::write(this.codex().join("config.toml"), codex_config(url)).expect("a file");
        fs::write(this.home().join(".gemini/settings.json"), GEMINI_SETTINGS).expect("a file");
        this
    }

    /// The home folder.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Where Codex keeps its settings and sessions.
    #[must_use]
    pub fn codex(&self) -> PathBuf {
        self.home().join(".codex")
    }

    /// For files that nobody keeps.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.folder.join("tmp")
    }

    /// All that an agent sees of the environment.
    #[must_use]
    pub fn environment(&self, agent: RealAgent) -> BTreeMap<String, String> {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut environment = self.variables(agent);
        environment.insert("PATH".to_owned(), path);
        environment.insert("LC_ALL".to_owned(), "C.UTF-8".to_owned());
        environment.insert("TERM".to_owned(), "dumb".to_owned());
        environment
    }

    /// What keeps an agent in here: its home, its model, its key, and no way out.
    #[must_use]
    pub fn variables(&self, agent: RealAgent) -> BTreeMap<String, String> {
        let (home, temporary) = (self.home(), self.temporary());
        let (home, temporary) = (home.to_string_lossy(), temporary.to_string_lossy());
        let common = [
            ("HOME", &*home),
            ("TMPDIR", &*temporary),
            ("HTTP_PROXY", NOWHERE),
            ("HTTPS_PROXY", NOWHERE),
            ("NO_PROXY", "127.0.0.1,localhost"),
        ];
        let codex = self.codex();
        let codex = codex.to_string_lossy();
        let own: Vec<(&str, &str)> = match agent {
            RealAgent::Claude => vec![
                ("ANTHROPIC_BASE_URL", &self.url),
                ("ANTHROPIC_API_KEY", KEY),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("CLAUDE_CODE_MAX_RETRIES", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("DISABLE_TELEMETRY", "1"),
            ],
            RealAgent::Codex => vec![("CODEX_HOME", &codex), ("CODEX_TEST_KEY", KEY)],
            RealAgent::Gemini => vec![
                ("GOOGLE_GEMINI_BASE_URL", &self.url),
                ("GEMINI_API_KEY", KEY),
                ("GEMINI_CLI_NO_RELAUNCH", "true"),
            ],
        };
        let all = common.into_iter().chain(own);
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// The variable in which an agent looks for its key.
    #[must_use]
    pub fn key_variable(agent: RealAgent) -> &'static str {
        match agent {
            RealAgent::Claude => "ANTHROPIC_API_KEY",
            RealAgent::Codex => "CODEX_TEST_KEY",
            RealAgent::Gemini => "GEMINI_API_KEY",
        }
    }
}

/// Few attempts: a test that waits for ten of them proves nothing more.
fn codex_config(url: &str) -> String {
    format!(
        "model = \"gpt-5.5\"\n\
         model_provider = \"test\"\n\
         check_for_update_on_startup = false\n\n\
         [model_providers.test]\n\
         name = \"test\"\n\
         base_url = \"{url}/v1\"\n\
         env_key = \"CODEX_TEST_KEY\"\n\
         wire_api = \"responses\"\n\
         request_max_retries = 1\n\
         stream_max_retries = 1\n\n\
         [analytics]\n\
         enabled = false\n"
    )
}

const GEMINI_SETTINGS: &str = r#"{
  "general": { "enableAutoUpdate": false, "maxAttempts": 2 },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "model": { "maxSessionTurns": 30 }
}
"#;

//! Sees one try of a session through: round after round, until there is an answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_agent::agent::Session;
use agentos_agent::roster::Member;
use agentos_agent::usage::Baseline;
use agentos_agent::verdict::{Trouble, TroubleKind, Verdict};
use agentos_core::failure::Failure;
use agentos_core::value::Value;
use agentos_process::case::Case;
use agentos_process::directory::Directory;
use agentos_process::exit::Reason;
use serde_json::json;
use tokio::sync::oneshot::Sender;

use super::answer::Heard;
use super::listener::{Listener, Round};
use super::plan::{Opening, Plan};
use super::request::Asked;
use super::{ROUNDS, Settings, failed, files, form};
use crate::performer::{Performed, Ticket};
use crate::shell::{Ground, Whose};

/// What is told when it is over.
pub(super) type Told = Sender<Result<Performed, Failure>>;

/// One try of a session.
pub(super) struct Conduct {
    pub(super) settings: Arc<Settings>,
    pub(super) whose: Whose,
    pub(super) asked: Asked,
    pub(super) member: Member,
    pub(super) ground: Ground,
    pub(super) plan: Plan,
    pub(super) ticket: Ticket,
    /// Whether somebody else may have begun it.
    pub(super) was_begun: bool,
}

/// What a round begins with.
struct Turn {
    session: Session,
    prompt: String,
    /// What the session had used before.
    before: Baseline,
    /// Whether it is there to mend an answer.
    is_mending: bool,
}

/// What comes after a round.
enum Next {
    /// Another one, and why.
    Round(Turn, String),
    /// Nothing.
    Answer(Result<Option<Value>, Trouble>),
    /// The next try.
    Interrupted,
}

impl Conduct {
    /// Sees it through, and tells how it went.
    pub(super) fn see_through(self, tell: Told) {
        let performed = self.rounds(&tell);
        if let Some(performed) = performed.transpose() {
            // If nobody is there any more the agent goes on, or its end waits in its directory.
            let _unheard = tell.send(performed);
        }
    }

    /// The model, as far as it is known before the agent says so.
    pub(super) fn model(&self) -> Option<&str> {
        self.asked.model.as_deref().or(self.member.model.as_deref())
    }

    /// The agent has a name for the session: whoever comes after a crash needs it.
    pub(super) fn started(&self, session_id: &str, model: Option<&str>) {
        if !session_id.is_empty() {
            let model = model.or_else(|| self.model());
            let agent = &self.member.name;
            self.ticket
                .started(json!({ "agent": agent, "session_id": session_id, "model": model, "session_file_path": files::transcript_path(&self.whose) }));
        }
    }

    fn path(&self, round: u32) -> PathBuf {
        let Whose { run, operation, r#try, .. } = &self.whose;
        self.settings.directory(*run, operation, *r#try, round)
    }

    /// All rounds. Nothing if nobody wants to know any more.
    fn rounds(&self, tell: &Told) -> Result<Option<Performed>, Failure> {
        form::check_schema(&self.asked)?;
        let mut listener = Listener::new(self);
        let mut turn = Turn {
            session: self.plan.session.clone(),
            prompt: self.prompt(self.plan.opening),
            before: self.plan.before,
            is_mending: false,
        };
        let mut gone = Duration::ZERO;
        if let Some(remark) = &self.plan.remark {
            listener.say(remark);
        }
        for number in 1..=ROUNDS {
            let path = self.path(number);
            self.remark(&path);
            if self.ticket.stop.is_cancelled() {
                return Ok(None);
            }
            if self.member.agent.takes_session_id() && number == 1 {
                self.started(turn.session.id(), None);
            }
            let spec = self.spec(&self.request(turn.session.clone(), turn.prompt.clone()), gone)?;
            let mut round = Round::new(self.member.agent.translator(turn.before));
            let followed = self.follow((&path, &spec), (&mut listener, &mut round), tell);
            let exit = match followed {
                Ok(Some(exit)) => exit,
                Ok(None) => return Ok(None),
                Err(error) => return Err(failed(spec.secrets.masked(&error.to_string()))),
            };
            gone += Duration::from_millis(exit.duration_ms);
            let verdict = listener.finish(&mut round, &exit);
            let heard = Heard { verdict: &verdict, exit: &exit, spent: listener.spent };
            match self.next(&turn, &heard, round.excess.take()) {
                Next::Interrupted => return Ok(Some(Performed::Interrupted)),
                Next::Answer(answer) => {
                    return Ok(Some(self.answer(&heard, answer, &spec.secrets)));
                }
                Next::Round(next, why) => {
                    listener.say(&why);
                    turn = next;
                }
            }
        }
        Err(failed("the session took more rounds than there are".to_owned()))
    }

    /// What follows from how a round ended, and from nothing else.
    fn next(&self, turn: &Turn, heard: &Heard<'_>, excess: Option<String>) -> Next {
        if let Some(excess) = excess {
            return Next::Answer(Err(Trouble::new(TroubleKind::Budget, excess)));
        }
        if matches!(heard.exit.reason, Reason::Stopped | Reason::Orphaned | Reason::Lost) {
            return Next::Interrupted;
        }
        let is_fresh = turn.session.id() == self.plan.fresh_id;
        match &heard.verdict.trouble {
            Some(trouble) if trouble.kind == TroubleKind::UnknownSession && !is_fresh => {
                let why =
                    "the agent does not know that session any more; it begins anew".to_owned();
                let anew = Turn {
                    session: Session::New(self.plan.fresh_id.clone()),
                    prompt: self.prompt(Opening::Prompt),
                    before: Baseline::default(),
                    is_mending: turn.is_mending,
                };
                Next::Round(anew, why)
            }
            Some(trouble) => Next::Answer(Err(trouble.clone())),
            None if !self.asked.wants_json() => Next::Answer(Ok(None)),
            None => match form::json_of(&self.asked, &heard.verdict.text) {
                Ok(json) => Next::Answer(Ok(Some(json))),
                Err(why) => self.mend(turn, heard.verdict, &why),
            },
        }
    }

    /// An answer of the wrong form is mended once, in the same session.
    fn mend(&self, turn: &Turn, verdict: &Verdict, why: &str) -> Next {
        let Some(id) = verdict
            .session_id
            .as_ref()
            .filter(|_| !turn.is_mending && self.member.agent.can_resume())
        else {
            let message = format!("its answer has the wrong form: {why}");
            return Next::Answer(Err(Trouble::new(TroubleKind::Answer, message)));
        };
        let mut before = turn.before;
        before.usage += verdict.usage;
        before.cost_usd += verdict.cost_usd.unwrap_or(0.0);
        let mending = Turn {
            session: Session::Resumed(id.clone()),
            prompt: form::repair(&self.asked, why),
            before,
            is_mending: true,
        };
        Next::Round(mending, format!("the answer has the wrong form and is asked for again: {why}"))
    }

    /// What the agent is told first.
    fn prompt(&self, opening: Opening) -> String {
        let asked = match form::demand(&self.asked) {
            Some(demand) => format!("{}\n\n{demand}", self.asked.prompt),
            None => self.asked.prompt.clone(),
        };
        match opening {
            Opening::Prompt => asked,
            Opening::GoOn => format!(
                "You were interrupted. Look at what is done already, do not do it again, and go on to the end. This is what you \
                 were asked for:\n\n{asked}"
            ),
        }
    }

    /// The step's log says what became of a session that somebody else began.
    fn remark(&self, path: &std::path::Path) {
        if !self.was_begun {
            return;
        }
        let case = Directory::at(path).and_then(|directory| Case::of(&directory));
        let remark = match case {
            Ok(Case::Held) => "the agent still works; attached to it again",
            Ok(Case::Over(_)) => "the agent ended while nobody was there; its answer is collected",
            _ => return,
        };
        tracing::info!(operation = %self.whose.operation, "{remark}");
        self.settings.output.remark(&self.whose, remark);
    }
}

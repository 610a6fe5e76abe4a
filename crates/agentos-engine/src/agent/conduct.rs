//! Sees one try of a session through: round after round, until there is an answer.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_agent::agent::Session;
use agentos_agent::bounds::ANSWER_BYTES;
use agentos_agent::roster::Member;
use agentos_agent::usage::Baseline;
use agentos_agent::verdict::{Trouble, TroubleKind, Verdict};
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
use crate::room;
use crate::shell::{Ground, Refusal, Whose};

/// What is told when it is over.
pub(super) type Told = Sender<Result<Performed, Refusal>>;

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
pub(super) struct Turn {
    pub(super) session: Session,
    pub(super) prompt: String,
    /// What the session had used before.
    pub(super) before: Baseline,
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
    fn rounds(&self, tell: &Told) -> Result<Option<Performed>, Refusal> {
        form::check_schema(&self.asked)?;
        self.check_budget()?;
        let is_wanted = || !tell.is_closed() && !self.ticket.stop.is_cancelled();
        let mut listener = Listener::new(self, self.secrets(), &is_wanted);
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
        self.remark();
        for number in 1..=ROUNDS {
            if self.ticket.stop.is_cancelled() {
                return Ok(None);
            }
            // One that is gone on with is named when the agent has said that it knows it.
            if let (true, Session::New(id)) = (self.member.agent.takes_session_id(), &turn.session)
            {
                self.started(id, None);
            }
            let request = self.request(&turn, &listener.spent);
            let spec = self.spec(&request, &listener.secrets, gone)?;
            let mut round = Round::new(self.member.agent.translator(turn.before));
            let place = self.path(number);
            let followed = self.follow((&place, &spec), (&mut listener, &mut round), tell);
            let exit = match followed {
                Ok(Some(exit)) => exit,
                Ok(None) => return Ok(None),
                Err(error) if error.is_out_of_room() => {
                    return Err(Refusal::Held(room::hold("the record of a session")));
                }
                Err(error) => return Err(failed(spec.secrets.masked(&error.to_string())).into()),
            };
            // What its output waited for room does not count for its `timeout`.
            gone += Duration::from_millis(exit.duration_ms.saturating_sub(exit.waited_ms));
            let mut verdict = listener.finish(&mut round, &exit);
            self.name_session(&turn, &mut verdict);
            let heard = Heard { verdict: &verdict, exit: &exit, spent: listener.spent };
            match self.next(&turn, &heard, &round) {
                Next::Interrupted => {
                    if let Some(why) = &exit.message {
                        listener.say(&format!("the agent was interrupted: {why}"));
                    }
                    self.carry(&listener.spent, &is_wanted)?;
                    return Ok(Some(self.interrupted(&heard)));
                }
                Next::Answer(answer) => {
                    if let Some(said) = self.asked.budget.exceeded(&listener.spent)
                        && answer.is_ok()
                    {
                        listener.say(&format!("{said}; it was done before that was known"));
                    }
                    return Ok(Some(self.answer(&heard, answer, &listener.secrets)));
                }
                Next::Round(next, why) => {
                    listener.say(&why);
                    turn = next;
                }
            }
        }
        Err(failed("the session took more rounds than there are".to_owned()).into())
    }

    /// Where the agent says nothing but its answer, the session has the name that it was given.
    fn name_session(&self, turn: &Turn, verdict: &mut Verdict) {
        let is_named = self.member.agent.takes_session_id();
        if verdict.session_id.is_none() && verdict.is_success() && is_named {
            verdict.session_id = Some(turn.session.id().to_owned());
        }
    }

    /// What follows from how a round ended, and from nothing else.
    fn next(&self, turn: &Turn, heard: &Heard<'_>, round: &Round) -> Next {
        if let Some(excess) = &round.excess {
            let message = format!("{excess} and was ended");
            return Next::Answer(Err(Trouble::new(TroubleKind::Budget, message)));
        }
        if is_interruption(heard.exit.reason) {
            return Next::Interrupted;
        }
        match &heard.verdict.trouble {
            Some(trouble) if trouble.kind == TroubleKind::UnknownSession => {
                self.unknown(turn, trouble, round)
            }
            Some(trouble) => Next::Answer(Err(trouble.clone())),
            None if !self.asked.wants_json() => Next::Answer(Ok(None)),
            None if heard.verdict.whole_text.is_some() => {
                self.mend(turn, heard, &format!("it is longer than {ANSWER_BYTES} bytes."))
            }
            None if heard.verdict.is_truncated() => {
                self.mend(turn, heard, "a part of it is missing.")
            }
            None => match form::json_of(&self.asked, &heard.verdict.text) {
                Ok(json) => Next::Answer(Ok(Some(json))),
                Err(why) => self.mend(turn, heard, &why),
            },
        }
    }

    /// The agent does not know the session: it begins anew, if nothing can have been done in it.
    fn unknown(&self, turn: &Turn, trouble: &Trouble, round: &Round) -> Next {
        let message = trouble.message.clone();
        if turn.is_mending {
            let message = format!("its answer has the wrong form and can't be mended: {message}");
            return Next::Answer(Err(Trouble::new(TroubleKind::Answer, message)));
        }
        if round.has_spoken || matches!(turn.session, Session::New(_)) {
            // Whoever has a session speaks of something else.
            return Next::Answer(Err(Trouble::new(TroubleKind::Exit, message)));
        }
        let opening = match self.plan.opening {
            Opening::Prompt => Opening::Prompt,
            Opening::GoOn | Opening::Anew => Opening::Anew,
        };
        let anew = Turn {
            session: Session::New(self.plan.fresh_id.clone()),
            prompt: self.prompt(opening),
            before: Baseline::default(),
            is_mending: false,
        };
        let why = "the agent does not know that session any more; it begins anew".to_owned();
        Next::Round(anew, why)
    }

    /// An answer of the wrong form is mended once, in the same session, if there is something left to do it with.
    fn mend(&self, turn: &Turn, heard: &Heard<'_>, why: &str) -> Next {
        let verdict = heard.verdict;
        if let Some(said) = self.asked.budget.exceeded(&heard.spent) {
            let message =
                format!("its answer has the wrong form: {why} Nothing is left to mend it: {said}");
            return Next::Answer(Err(Trouble::new(TroubleKind::Budget, message)));
        }
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
            Opening::Anew => format!(
                "Somebody else has begun this and was interrupted. Look at what is done already, do not do it again, and go on to \
                 the end. This is what was asked for:\n\n{asked}"
            ),
        }
    }

    /// The step's log says what became of a session that somebody else began.
    fn remark(&self) {
        let case = |round| Directory::at(&self.path(round)).and_then(|place| Case::of(&place)).ok();
        let mut cases = (1..=ROUNDS).rev().filter(|_| self.was_begun).filter_map(case);
        let remark = match cases.find(|case| *case != Case::Nothing) {
            Some(Case::Held) => "the agent still works; attached to it again",
            Some(Case::Over(exit)) if !is_interruption(exit.reason) => {
                "the agent ended while nobody was there; its answer is collected"
            }
            // The next try says what becomes of one that was ended.
            _ => return,
        };
        tracing::info!(operation = %self.whose.operation, "{remark}");
        self.settings.output.remark(&self.whose, remark);
    }
}

/// Whether the agent was ended by something else than itself and its limits.
const fn is_interruption(reason: Reason) -> bool {
    matches!(reason, Reason::Stopped | Reason::Orphaned | Reason::Lost)
}

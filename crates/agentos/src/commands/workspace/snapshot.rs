//! `agentos workspace snapshot`: backs a workspace up and leaves it as it is.

use std::process::ExitCode;

use super::not_found;
use crate::error::Result;
use crate::session::Session;
use crate::workspace::desk::Desk;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workspace
    id: String,

    /// Print a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Some(_) = Desk::settled(session).await? else { return Err(not_found(&args.id)) };
    let opened = session.open()?;
    let desk = Desk::open(session, &opened.store)?;
    let all = desk.all().await?;
    let found = all.into_iter().find(|workspace| workspace.id.as_str() == args.id);
    let workspace =
        found.filter(|found| found.state.is_there()).ok_or_else(|| not_found(&args.id))?;
    let desk = desk.at(&workspace)?;
    let keeping = desk.keeping();
    let backup = desk.work(move |yard| yard.snapshot(&workspace, &keeping)).await?;
    if args.json {
        session.output.document(&backup)?;
    } else {
        session.output.lines([backup.number.to_string()])?;
        session.output.note(&format!("it is {}", backup.reference));
    }
    Ok(ExitCode::SUCCESS)
}

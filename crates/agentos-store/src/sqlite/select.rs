//! SQL of people's own over several databases at once, which changes nothing.
//!
//! A connection of its own attaches the databases, each read-only, and shows their tables as one: views that put the rows of
//! all of them together, with the file that each row is in. SQLite attaches [`ATTACHED`] databases and no more; the
//! largest are attached, and of the rest the tables that are asked for are copied into memory.
//!
//! Nothing can be written: files are opened read-only, the connection says so itself, and whatever is not reading is refused
//! before it begins. A database that nobody writes is read without locks, as everywhere ([`super::view`]); if somebody
//! began meanwhile, all of it is asked again.

mod schema;

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use agentos_core::id::RunId;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::probe::escaped;
use super::recover::ensure_index;
use super::together::Looking;
use super::view::Seen;
use crate::unified::{Answer, Cell, Question, SelectError, TableDescription, Unreadable, Worktree};

pub(crate) use describe::describe;

/// How many databases SQLite attaches to one connection.
const ATTACHED: usize = 10;

/// How often everything is asked again while databases change under it.
const ATTEMPTS: usize = 10;

/// Most rows that are copied of databases beyond those that are attached.
const COPIED: i64 = 2_000_000;

/// Most bytes that an answer holds.
const ANSWER_BYTES: usize = 256 << 20;

/// How many steps SQLite makes between two looks at whether it should stop.
const STEPS: i32 = 10_000;

/// One of the databases.
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    /// Runs that another database has as they are now.
    pub(crate) stale: Vec<RunId>,
}

/// Asks. Blocks until the answer is there.
pub(crate) fn select(
    mut parts: Vec<Part>,
    worktrees: &[Worktree],
    question: &Question,
) -> Result<Answer, SelectError> {
    let length = |part: &Part| fs::metadata(&part.path).map_or(0, |found| found.len());
    parts.sort_by_key(|part| std::cmp::Reverse(length(part)));
    let mut asked = Err(SelectError::Changing);
    for _ in 0..ATTEMPTS {
        parts.iter().for_each(|part| drop(ensure_index(&part.path)));
        let before: Vec<Option<Seen>> =
            parts.iter().map(|part| Seen::of(&part.path).ok().flatten()).collect();
        let looking = Looking::begin();
        asked = Asked::new(question, worktrees)
            .and_then(|asked| asked.with(&parts, &before, &looking))
            .and_then(Asked::answer);
        drop(looking);
        // Only a file that is read without locks can change under a question.
        let is_as_it_was = parts.iter().zip(&before).all(|(part, before)| match before {
            Some(before @ Seen::File { .. }) => {
                Seen::of(&part.path).is_ok_and(|now| now.is_none_or(|now| now == *before))
            }
            _ => true,
        });
        if is_as_it_was {
            return asked;
        }
    }
    asked.and(Err(SelectError::Changing))
}

/// A question on its way.
struct Asked<'a> {
    connection: Connection,
    question: &'a Question,
    wanted: schema::Wanted,
    /// For each table, the rows of each database.
    rows: Vec<(schema::Table, Vec<String>)>,
    unreadable: Vec<Unreadable>,
    /// How many databases stay attached. Where not all can, one place is left for those that are copied.
    attached: usize,
}

impl<'a> Asked<'a> {
    /// A connection without databases that knows the names of worktrees.
    fn new(question: &'a Question, worktrees: &[Worktree]) -> Result<Self, SelectError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_URI
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_in_memory_with_flags(flags).map_err(internal)?;
        connection.busy_timeout(super::connection::TIMEOUT).map_err(internal)?;
        let stop = Arc::clone(&question.stop);
        let is_over = move || stop.load(Ordering::Relaxed);
        connection.progress_handler(STEPS, Some(is_over)).map_err(internal)?;
        connection
            .execute_batch(
                "CREATE TABLE known_worktrees (id TEXT, name TEXT, path TEXT, project_id TEXT, database TEXT); \
                 CREATE TABLE stale (number INTEGER, id TEXT, PRIMARY KEY (number, id)) WITHOUT ROWID;",
            )
            .map_err(internal)?;
        let wanted = schema::Wanted::in_question(&question.sql);
        let rows = schema::TABLES.into_iter().filter(|table| wanted.is_asked(table.name));
        let rows = rows.map(|table| (table, Vec::new())).collect();
        let (unreadable, attached) = (Vec::new(), ATTACHED);
        let asked = Self { connection, question, wanted, rows, unreadable, attached };
        asked.name_worktrees(worktrees)?;
        Ok(asked)
    }

    /// The same with these databases.
    fn with(
        mut self,
        parts: &[Part],
        seen: &[Option<Seen>],
        looking: &Looking,
    ) -> Result<Self, SelectError> {
        if parts.len() > ATTACHED {
            self.attached = ATTACHED - 1;
        }
        for (number, (part, seen)) in parts.iter().zip(seen).enumerate() {
            let Some(seen) = seen else { continue };
            if let Err(error) = self.add(number, part, (*seen, looking)) {
                match error {
                    SelectError::Internal(reason) => {
                        self.unreadable.push(Unreadable { path: part.path.clone(), reason });
                    }
                    other => return Err(other),
                }
            }
        }
        Ok(self)
    }

    fn add(
        &mut self,
        number: usize,
        part: &Part,
        seen: (Seen, &Looking),
    ) -> Result<(), SelectError> {
        let name = format!("part{number}");
        self.attach(&name, part, seen)?;
        let mut insert =
            self.connection.prepare("INSERT INTO main.stale VALUES (?1, ?2)").map_err(internal)?;
        for run in &part.stale {
            insert.execute((number as i64, run.to_string())).map_err(internal)?;
        }
        drop(insert);
        let path = part.path.to_string_lossy();
        let has_stale = !part.stale.is_empty();
        let schema = Some(name.as_str());
        let version = self.connection.pragma_query_value(schema, "user_version", |row| row.get(0));
        let version = version.map_err(internal)?;
        let place = schema::Place { database: &name, path: &path, number, has_stale, version };
        let is_copied = number >= self.attached;
        for (table, all) in &mut self.rows {
            let rows = table.rows_of(&place, &self.wanted);
            match is_copied {
                false => all.push(rows),
                true => copy(&self.connection, table.name, &rows)?,
            }
        }
        match is_copied {
            true => {
                self.connection.execute(&format!("DETACH {name}"), ()).map(|_| ()).map_err(internal)
            }
            false => Ok(()),
        }
    }

    /// Attaches it so that not even its log's index is written to, or if that is not possible, so that nothing else is.
    fn attach(
        &self,
        name: &str,
        part: &Part,
        (seen, looking): (Seen, &Looking),
    ) -> Result<(), SelectError> {
        let modes: &[&str] = match seen {
            Seen::File { .. } => &["immutable=1"],
            Seen::Log { file, .. }
                if looking.is_written(file) || super::view::is_bare(&part.path) =>
            {
                &["mode=ro"]
            }
            Seen::Log { .. } => &["mode=ro&readonly_shm=1", "mode=ro"],
        };
        let mut attached = Err(SelectError::Changing);
        for mode in modes {
            let uri = format!("file:{}?{mode}", escaped(&part.path));
            attached =
                self.connection.execute(&format!("ATTACH ?1 AS {name}"), [uri]).map_err(internal);
            let read =
                |sql: String| self.connection.query_row(&sql, (), |_| Ok(())).map_err(internal);
            attached = attached
                .and_then(|done| read(format!("SELECT count(*) FROM {name}.store")).map(|()| done));
            if attached.is_ok() {
                break;
            }
            // Whatever is not attached can't be taken away either.
            let _detached = self.connection.execute(&format!("DETACH {name}"), ());
        }
        attached.map(|_| ())
    }

    fn answer(self) -> Result<Answer, SelectError> {
        for (table, rows) in &self.rows {
            self.show(table, rows)?;
        }
        self.connection
            .execute_batch(
                "CREATE TEMP VIEW worktrees AS SELECT * FROM main.known_worktrees; PRAGMA query_only = 1;",
            )
            .map_err(internal)?;
        let denied = Arc::new(Mutex::new(None));
        let told = Arc::clone(&denied);
        let guard = move |context: AuthContext<'_>| {
            let refused = refused(&context);
            let is_refused = refused.is_some();
            if is_refused {
                *told.lock().unwrap_or_else(PoisonError::into_inner) = refused;
            }
            if is_refused { Authorization::Deny } else { Authorization::Allow }
        };
        self.connection.authorizer(Some(guard)).map_err(internal)?;
        let answer = self.read().map_err(|error| match (error, denied.lock()) {
            (SelectError::Sql { .. }, Ok(mut denied)) if denied.is_some() => {
                SelectError::Refused { what: denied.take().unwrap_or_default() }
            }
            (error, _) => error,
        })?;
        Ok(Answer { unreadable: self.unreadable, ..answer })
    }

    fn name_worktrees(&self, worktrees: &[Worktree]) -> Result<(), SelectError> {
        let sql = "INSERT INTO main.known_worktrees VALUES (?1, ?2, ?3, ?4, ?5)";
        let mut insert = self.connection.prepare(sql).map_err(internal)?;
        for worktree in worktrees {
            let (path, database) =
                (worktree.path.to_string_lossy(), worktree.database.to_string_lossy());
            let project = worktree.project.map(|project| project.to_string());
            let row = (&worktree.id, &worktree.name, path, project, database);
            insert.execute(row).map_err(internal)?;
        }
        Ok(())
    }

    /// Makes the rows of all databases one table.
    fn show(&self, table: &schema::Table, rows: &[String]) -> Result<(), SelectError> {
        let name = table.name;
        let mut all = rows.to_vec();
        if has_copies(&self.connection, name)? {
            all.push(format!("SELECT * FROM main.copied_{name}"));
        }
        if all.is_empty() {
            let columns: Vec<String> =
                table.columns.iter().map(|column| format!("NULL AS \"{}\"", column.name)).collect();
            all.push(format!("SELECT {} WHERE 0", columns.join(", ")));
        }
        let sql = format!("CREATE TEMP VIEW {name} AS {}", all.join(" UNION ALL "));
        self.connection.execute_batch(&sql).map_err(internal)
    }

    fn read(&self) -> Result<Answer, SelectError> {
        let wrong = |error: rusqlite::Error| wrong(&self.question.sql, error);
        if self.question.sql.trim().is_empty() {
            return Err(SelectError::Refused { what: "an empty question".to_owned() });
        }
        let mut asked = self.connection.prepare(&self.question.sql).map_err(wrong)?;
        let columns: Vec<String> = asked.column_names().into_iter().map(str::to_owned).collect();
        if columns.is_empty() || !asked.readonly() {
            return Err(SelectError::Refused { what: "what answers nothing".to_owned() });
        }
        let mut found = asked.query(()).map_err(wrong)?;
        let (mut rows, mut bytes, mut has_more) = (Vec::new(), 0, false);
        while let Some(row) = found.next().map_err(wrong)? {
            if rows.len() >= self.question.rows || bytes > ANSWER_BYTES {
                has_more = true;
                break;
            }
            let mut cells = Vec::with_capacity(columns.len());
            for at in 0..columns.len() {
                let cell = cell(row.get_ref(at).map_err(wrong)?);
                bytes += cell.bytes();
                cells.push(cell);
            }
            rows.push(cells);
        }
        Ok(Answer { columns, rows, has_more, unreadable: Vec::new() })
    }
}

fn copy(connection: &Connection, table: &str, rows: &str) -> Result<(), SelectError> {
    let sql = match has_copies(connection, table)? {
        true => format!("INSERT INTO main.copied_{table} {rows}"),
        false => format!("CREATE TABLE main.copied_{table} AS {rows}"),
    };
    connection.execute(&sql, ()).map_err(|error| stopped(error, internal))?;
    let count = format!("SELECT count(*) FROM main.copied_{table}");
    let copied: i64 = connection.query_row(&count, (), |row| row.get(0)).map_err(internal)?;
    if copied > COPIED { Err(SelectError::TooMuch { rows: COPIED }) } else { Ok(()) }
}

fn has_copies(connection: &Connection, table: &str) -> Result<bool, SelectError> {
    connection.table_exists(Some("main"), &format!("copied_{table}")).map_err(internal)
}

/// What is not reading, in words.
fn refused(context: &AuthContext<'_>) -> Option<String> {
    match context.action {
        AuthAction::Select | AuthAction::Recursive => None,
        AuthAction::Function { function_name } => {
            (function_name == "load_extension").then(|| format!("`{function_name}`"))
        }
        AuthAction::Read { table_name, column_name } => {
            let is_inside = context.database_name.is_some_and(|name| name.starts_with("part"));
            // Only our own views know what is inside. Where no column is read it is not said who asks: rows are counted.
            (is_inside && context.accessor.is_none() && !column_name.is_empty())
                .then(|| format!("the inside of `{table_name}`"))
        }
        AuthAction::Delete { .. } => Some("DELETE".to_owned()),
        AuthAction::Insert { .. } => Some("INSERT".to_owned()),
        AuthAction::Update { .. } => Some("UPDATE".to_owned()),
        AuthAction::Pragma { pragma_name, .. } => Some(format!("PRAGMA {pragma_name}")),
        AuthAction::Attach { .. } => Some("ATTACH".to_owned()),
        AuthAction::Detach { .. } => Some("DETACH".to_owned()),
        AuthAction::Transaction { .. } => Some("a transaction".to_owned()),
        _ => Some("anything that changes the schema".to_owned()),
    }
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(value) => Cell::Integer(value),
        ValueRef::Real(value) => Cell::Real(value),
        ValueRef::Text(bytes) => Cell::Text(String::from_utf8_lossy(bytes).into_owned()),
        ValueRef::Blob(bytes) => Cell::Blob(bytes.to_vec()),
    }
}

/// The person's mistake, or that it took too long.
fn wrong(sql: &str, error: rusqlite::Error) -> SelectError {
    stopped(error, |error| match error {
        rusqlite::Error::MultipleStatement => {
            SelectError::Refused { what: "more than one statement".to_owned() }
        }
        rusqlite::Error::SqlInputError { msg, offset, .. } => SelectError::Sql {
            message: msg,
            at: usize::try_from(offset).ok().filter(|at| *at <= sql.len()),
            sql: sql.to_owned(),
        },
        // Our tables are views, which is nobody's business.
        rusqlite::Error::SqliteFailure(_, Some(message))
            if message.starts_with("cannot modify") =>
        {
            SelectError::Refused { what: "changing a table".to_owned() }
        }
        rusqlite::Error::SqliteFailure(_, Some(message)) => {
            SelectError::Sql { message, at: None, sql: sql.to_owned() }
        }
        other => SelectError::Sql { message: other.to_string(), at: None, sql: sql.to_owned() },
    })
}

fn stopped(
    error: rusqlite::Error,
    otherwise: impl FnOnce(rusqlite::Error) -> SelectError,
) -> SelectError {
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => SelectError::Stopped,
        _ => otherwise(error),
    }
}

fn internal(error: rusqlite::Error) -> SelectError {
    SelectError::Internal(error.to_string())
}

mod describe {
    //! What can be asked for, for people.

    use super::TableDescription;
    use super::schema::{TABLES, WORKTREES};
    use crate::unified::ColumnDescription;

    /// Every table with its columns.
    pub(crate) fn describe() -> Vec<TableDescription> {
        let column = |name: &'static str, about: &'static str| ColumnDescription { name, about };
        let mut all: Vec<TableDescription> = TABLES
            .iter()
            .map(|table| TableDescription {
                name: table.name,
                about: table.about,
                columns: table
                    .columns
                    .iter()
                    .map(|found| column(found.name, found.about))
                    .collect(),
            })
            .collect();
        all.push(TableDescription {
            name: "worktrees",
            about: "checkouts of the repository",
            columns: WORKTREES.iter().map(|(name, about)| column(name, about)).collect(),
        });
        all
    }
}

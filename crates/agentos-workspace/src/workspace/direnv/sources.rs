//! Which other files an `.envrc` reads: direnv approves only the `.envrc` itself, so whoever works in a workspace could change
//! those. Read is what is plainly written; whatever is not makes the answer unclear.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Most files that are followed.
const MOST: usize = 100;

/// What may stand before a command.
const BEFORE: [&str; 12] = [
    "if",
    "then",
    "else",
    "elif",
    "do",
    "while",
    "!",
    "{",
    "strict_env",
    "unstrict_env",
    "command",
    "builtin",
];

/// What is read, besides the file itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    /// From the root of the workspace.
    pub(super) files: BTreeSet<PathBuf>,
    /// Whether something is read of which it can't be said what it is, or that lies elsewhere.
    pub(super) is_unclear: bool,
}

impl Sources {
    /// What a file at the root of a workspace reads, and what those files read.
    pub(super) fn of(root: &Path, file: &str) -> Self {
        let mut sources = Self::default();
        let mut unread = vec![(PathBuf::from(file), PathBuf::new())];
        while let Some((file, folder)) = unread.pop() {
            let text = fs::read(root.join(&file)).unwrap_or_default();
            for (path, folder, is_script) in
                sources.read_by(root, &folder, &String::from_utf8_lossy(&text))
            {
                let is_new = sources.files.insert(path.clone());
                if is_new && is_script && sources.files.len() <= MOST {
                    unread.push((path, folder));
                }
            }
        }
        sources.is_unclear |= sources.files.len() > MOST;
        sources
    }

    /// Whether there is anything.
    pub(super) fn is_any(&self) -> bool {
        self.is_unclear || !self.files.is_empty()
    }

    /// The files that a text reads: which, where their own names begin, and whether they are executed.
    fn read_by(&mut self, root: &Path, folder: &Path, text: &str) -> Vec<(PathBuf, PathBuf, bool)> {
        let (mut read, mut is_elsewhere) = (Vec::new(), false);
        for words in commands(text) {
            let mut words = words.iter().map(String::as_str);
            let Some(verb) = words.find(|word| !BEFORE.contains(word)) else { continue };
            let (is_script, usual) = match verb {
                "source_env" | "source_env_if_exists" | "source" | "." => (true, None),
                "dotenv" | "dotenv_if_exists" => (false, Some(".env")),
                "watch_file" => (false, None),
                "source_up" | "source_up_if_exists" => {
                    self.is_unclear = true;
                    continue;
                }
                "cd" | "pushd" => {
                    is_elsewhere = true;
                    continue;
                }
                _ => continue,
            };
            let mut named: Vec<&str> = words.collect();
            named.extend(usual.filter(|_| named.is_empty()));
            self.is_unclear |= named.is_empty();
            // What follows is handed to the script.
            let count = if verb == "watch_file" { named.len() } else { 1 };
            for name in named.into_iter().take(count) {
                let Some(mut path) = literal(name).and_then(|name| inside(folder, name)) else {
                    self.is_unclear = true;
                    continue;
                };
                if verb.starts_with("source_env") && root.join(&path).is_dir() {
                    path.push(".envrc");
                }
                let is_entered = verb.starts_with("source_env");
                let around = path.parent().unwrap_or(Path::new("")).to_owned();
                read.push((path, if is_entered { around } else { folder.to_owned() }, is_script));
            }
        }
        self.is_unclear |= is_elsewhere && !read.is_empty();
        read
    }
}

/// The commands of a text, as words.
fn commands(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", " ");
    let mut commands = Vec::new();
    for line in text.lines() {
        let (mut words, mut word) = (Vec::new(), String::new());
        let mut quote = None;
        for letter in line.chars().chain(['\n']) {
            match (quote, letter) {
                (Some(open), _) if open == letter => quote = None,
                (None, '"' | '\'') => quote = Some(letter),
                (None, '#') if word.is_empty() => break,
                (None, ' ' | '\t' | '\n') => push(&mut words, &mut word),
                (None, ';' | '&' | '|' | '(' | ')' | '`') => {
                    push(&mut words, &mut word);
                    commands.push(std::mem::take(&mut words));
                }
                // A command may be in it.
                (Some('"'), '(' | '`') => {
                    word.push('$');
                    push(&mut words, &mut word);
                    commands.push(std::mem::take(&mut words));
                    quote = None;
                }
                _ => word.push(letter),
            }
        }
        push(&mut words, &mut word);
        commands.push(words);
    }
    commands
}

fn push(words: &mut Vec<String>, word: &mut String) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

/// A name that says which file it is.
fn literal(name: &str) -> Option<&str> {
    let is_made = name.contains(['$', '*', '?', '[', '~', '\\', '<', '>', '{']);
    (!is_made && !name.starts_with('-')).then_some(name)
}

/// A path in the workspace, from its root.
fn inside(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            _ => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<String>, bool) {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("deep")).unwrap();
        fs::write(root.path().join("deep/lib.envrc"), "source ./more.sh\ndotenv\n").unwrap();
        fs::write(root.path().join(".envrc"), text).unwrap();
        let found = Sources::of(root.path(), ".envrc");
        let names = found.files.iter().map(|file| file.display().to_string());
        (names.collect(), found.is_unclear)
    }

    #[test]
    fn files_that_are_plainly_named_are_found_with_those_that_they_read() {
        let none: (Vec<String>, bool) = (Vec::new(), false);
        assert_eq!(read("export A=1 # source x\nPATH_add .\nuse nix\n"), none);
        let found = read("source_env ./deep/lib.envrc\n");
        let all = ["deep/.env", "deep/lib.envrc", "deep/more.sh"].map(str::to_owned).to_vec();
        assert_eq!(found, (all, false));
        let found = read("if [ -e a ]; then . 'a b'; fi && source_env deep\nwatch_file x \\\n y\n");
        let all = ["a b", "deep/.envrc", "x", "y"].map(str::to_owned).to_vec();
        assert_eq!(found, (all, false));
        assert_eq!(read("dotenv_if_exists"), (vec![".env".to_owned()], false));
    }

    #[test]
    fn what_is_not_plainly_named_or_lies_elsewhere_is_unclear() {
        for text in [
            "source_env \"$HOME/x\"",
            "source ../x",
            ". /etc/profile",
            "source_up",
            "source <(make env)",
            "dotenv ~/x",
            "cd deep\nsource x",
            "A=\"$(. $B)\"",
        ] {
            assert!(read(text).1, "{text}");
        }
    }
}

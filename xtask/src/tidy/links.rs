//! Links between the pages lead somewhere.
//!
//! A link must end at a file that the repository keeps: one that exists only on the author's disk
//! is as dead as any for everybody else. Addresses on the web are not visited.

use pulldown_cmark::{Event, Parser, Tag};

use super::finding::Finding;
use super::tree::Tree;

const RULE: &str = "links";

/// Checks every relative link of every page.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    tree.texts()
        .filter(|(path, _)| path.ends_with(".md"))
        .flat_map(|(path, text)| check_page(tree, path, text))
        .collect()
}

fn check_page(tree: &Tree, page: &str, text: &str) -> Vec<Finding> {
    let links = Parser::new(text).into_offset_iter().filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some((dest_url, range.start))
        }
        _ => None,
    });
    links
        .filter(|(link, _)| is_relative(link) && !leads_to_a_file(tree, page, link))
        .map(|(link, offset)| {
            let line = text[..offset].matches('\n').count() + 1;
            Finding::error(
                page,
                line,
                RULE,
                format!("`{link}` leads nowhere in the repository; repair or remove it"),
            )
        })
        .collect()
}

fn is_relative(link: &str) -> bool {
    let has_scheme = link
        .split_once(':')
        .is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_alphanumeric()));
    !has_scheme && !link.starts_with('#')
}

fn leads_to_a_file(tree: &Tree, page: &str, link: &str) -> bool {
    let link = link.split(['#', '?']).next().unwrap_or_default();
    target(page, link).is_some_and(|target| tree.contains(&target))
}

/// Where the link leads, from the root; `None` if it leaves the repository.
fn target(page: &str, link: &str) -> Option<String> {
    let from_root = link.starts_with('/');
    let folder = page.rsplit_once('/').map_or("", |(folder, _)| folder);
    let start = if from_root { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(link.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    #[test]
    fn links_that_lead_somewhere_pass() {
        let page = "[up](../README.md) [part](b.md#part) [folder](decisions/) [root](/README.md) [here](#here)\n\
                    [web](https://example.org/x.md) [mail](mailto:a@example.org)\n\n```\n[code](nowhere.md)\n```\n";
        let tree = fixture::tree(&[
            ("README.md", "[docs](docs/a.md)\n"),
            ("docs/a.md", page),
            ("docs/b.md", ""),
            ("docs/decisions/1.md", ""),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn dead_links_and_images_are_found() {
        let tree = fixture::tree(&[(
            "docs/a.md",
            "# A\n\n[gone](gone.md)\n![picture](b.png)\n[out](../../x.md)\n",
        )]);
        assert_eq!(
            fixture::shown(&check(&tree)),
            [
                "docs/a.md:3: links: `gone.md` leads nowhere in the repository; repair or remove it",
                "docs/a.md:4: links: `b.png` leads nowhere in the repository; repair or remove it",
                "docs/a.md:5: links: `../../x.md` leads nowhere in the repository; repair or remove it",
            ]
        );
    }

    #[test]
    fn a_link_to_an_ignored_file_is_dead() {
        let tree = fixture::tree(&[
            (".gitignore", "notes.md\n"),
            ("notes.md", ""),
            ("README.md", "[n](notes.md)\n"),
        ]);
        assert_eq!(check(&tree).len(), 1);
    }
}

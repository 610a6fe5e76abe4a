//! What remotes name.

use agentos_forge::{Kind, Remote};

#[test]
fn every_way_to_write_a_remote_names_its_repository() {
    for address in [
        "git@github.com:acme/shop.git",
        "github.com:acme/shop",
        "ssh://git@github.com/acme/shop.git",
        "ssh://git@GitHub.com:22/acme/shop",
        "https://github.com/acme/shop.git",
        "https://user:secret@github.com/acme/shop/",
    ] {
        let remote: Remote = address.parse().unwrap();
        assert_eq!(remote.to_string(), "github.com/acme/shop", "{address}");
        assert_eq!(remote.kind(), Some(Kind::GitHub), "{address}");
    }
    let grouped: Remote = "https://gitlab.example.org/a/b/shop.git".parse().unwrap();
    assert_eq!(
        (grouped.owner(), grouped.name(), grouped.kind()),
        ("a/b", "shop", Some(Kind::GitLab))
    );
    let own: Remote = "https://code.example.org/a/shop".parse().unwrap();
    assert_eq!(own.kind(), None);
}

#[test]
fn what_is_on_this_machine_or_hostile_is_no_repository_on_a_forge() {
    for address in [
        "/srv/git/shop.git",
        "../shop",
        "file:///srv/git/shop.git",
        "https://github.com/shop",
        "https://github.com/../shop",
        "https://github.com/acme/sh op",
        "https://github.com/acme/shop?x=1",
        "git@github.com:acme/..",
        "",
    ] {
        assert!(address.parse::<Remote>().is_err(), "{address}");
    }
}

#[test]
fn a_password_in_an_address_is_not_in_the_message() {
    let error = "https://user:secret@github.com/shop".parse::<Remote>().unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}

//! A pull request is opened once.

use agentos_forge::{Kind, NewPullRequest, PullRequestState};
use agentos_testing::forge::{ForgeServer, LABEL, REVIEWER};

use crate::{forge, wanted};

#[tokio::test]
async fn every_forge_opens_a_pull_request_with_its_labels_and_reviewers() {
    for kind in Kind::ALL {
        let server = ForgeServer::start().unwrap();
        let asked = NewPullRequest {
            draft: true,
            labels: vec![LABEL.to_owned()],
            reviewers: vec![REVIEWER.to_owned()],
            ..wanted()
        };
        let opened = forge(&server, kind).open(&asked).await.unwrap();
        assert!(!opened.existed && opened.notices.is_empty(), "{kind}: {opened:?}");
        assert_eq!(opened.pull_request.state, PullRequestState::Open);
        let [pull] = &server.pulls()[..] else { panic!("{kind}: {:?}", server.pulls()) };
        assert_eq!(
            (pull.repository.as_str(), pull.head.as_str(), pull.base.as_str()),
            ("acme/shop", "agentos/basket-abcdef", "main")
        );
        assert!(
            pull.title.ends_with("Add a basket") && pull.body.starts_with("What it does."),
            "{pull:?}"
        );
        assert!(pull.draft, "{kind}");
        assert_eq!(
            (pull.labels.as_slice(), pull.reviewers.as_slice()),
            ([LABEL.to_owned()].as_slice(), [REVIEWER.to_owned()].as_slice()),
            "{kind}"
        );
        assert!(opened.pull_request.url.ends_with("/acme/shop/pull/1"), "{kind}: {opened:?}");
    }
}

#[tokio::test]
async fn the_same_request_again_finds_the_first_one_even_when_it_was_closed() {
    for kind in Kind::ALL {
        let server = ForgeServer::start().unwrap();
        let forge = forge(&server, kind);
        let first = forge.open(&wanted()).await.unwrap();
        let again = forge.open(&wanted()).await.unwrap();
        assert!(again.existed && again.pull_request == first.pull_request, "{kind}: {again:?}");
        server.close(1);
        let closed = forge.open(&wanted()).await.unwrap();
        assert_eq!((closed.existed, closed.pull_request.state), (true, PullRequestState::Closed));
        assert_eq!(server.pulls().len(), 1, "{kind}");
    }
}

#[tokio::test]
async fn another_request_for_a_branch_whose_pull_request_is_closed_opens_a_new_one() {
    let server = ForgeServer::start().unwrap();
    let forge = forge(&server, Kind::GitHub);
    forge.open(&wanted()).await.unwrap();
    server.close(1);
    let other = NewPullRequest { mark: agentos_forge::Mark::new("another"), ..wanted() };
    assert_eq!(forge.open(&other).await.unwrap().pull_request.number, 2);
}

#[tokio::test]
async fn a_reviewer_whom_the_forge_does_not_know_is_a_notice_and_no_failure() {
    for kind in Kind::ALL {
        let server = ForgeServer::start().unwrap();
        let asked = NewPullRequest { reviewers: vec!["nobody".to_owned()], ..wanted() };
        let opened = forge(&server, kind).open(&asked).await.unwrap();
        assert!(opened.notices[0].contains("nobody"), "{kind}: {:?}", opened.notices);
    }
}

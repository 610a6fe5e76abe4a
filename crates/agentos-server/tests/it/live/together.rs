//! Following and writing in one process: nobody is in anybody's way.

use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use tempfile::tempdir;

use super::child::drive;
use super::client::Known;
use super::house::Server;
use super::writer::{Writer, log, open, run_id};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_follows_a_database_can_begin_to_write_to_it_and_stop_again() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    // Somebody else has made it and left a log beside it.
    assert!(drive(&path, 1, 3).wait().unwrap().success());
    let server = Server::over(std::slice::from_ref(&path)).await;
    let mut client = server.connect().await;
    client.subscribe(run_id(1), Some(0)).await;
    assert_eq!(client.entries(5).await.len(), 5);
    for round in 0..3_u128 {
        let mut child = drive(&path, 10 + round, 20);
        let store = open(&path);
        let mut writer = Writer::start(&store, 20 + round).await;
        client.subscribe(writer.run, Some(0)).await;
        for number in 0..20 {
            writer.note(&[&number.to_string()]).await;
        }
        writer.end().await;
        let mut known = Known::default();
        while !known.keep(&client.next().await.unwrap()) {}
        assert_eq!(known.0[&writer.run.to_string()], writer.log().await);
        drop((writer, store));
        assert!(child.wait().unwrap().success());
        // Nobody has it open but whoever follows.
        client.subscribe(run_id(10 + round), Some(0)).await;
        let mut known = Known::default();
        while !known.keep(&client.next().await.unwrap()) {}
        let look = SqliteStore::open_to_follow(&path).unwrap();
        assert!(look.head(run_id(10 + round)).await.unwrap().standing.is_ended());
        assert_eq!(known.0[&run_id(10 + round).to_string()], log(&look, run_id(10 + round)).await);
    }
}

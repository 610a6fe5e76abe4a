//! Both ways of asking the kernel, about real sockets.

use std::io::Write as _;
use std::net::{TcpListener, TcpStream};

use super::*;

type Ask = fn(SocketAddr, SocketAddr) -> Option<Seen>;

const WAYS: [Ask; 2] =
    [|local, remote| diag::look_up(local, remote).expect("the kernel answers"), table::look_up];

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn inode(stream: &TcpStream) -> u64 {
    rustix::fs::fstat(stream).expect("a socket has a number").st_ino
}

fn pair(listener: &TcpListener, to: &str) -> (TcpStream, TcpStream, SocketAddr) {
    let port = listener.local_addr().expect("it is bound").port();
    let client = TcpStream::connect(format!("{to}:{port}")).expect("somebody listens");
    let (server, peer) = listener.accept().expect("somebody has come");
    (client, server, peer)
}

/// What both ways say; they have to agree.
fn asked(local: SocketAddr, remote: SocketAddr) -> Option<Seen> {
    let canonical = |at: SocketAddr| SocketAddr::new(at.ip().to_canonical(), at.port());
    let [one, other] = WAYS.map(|ask| ask(canonical(local), canonical(remote)));
    assert_eq!(one, other);
    one
}

#[test]
fn both_ways_find_the_owner_of_a_connection() {
    for (bound, to) in [
        ("127.0.0.1:0", "127.0.0.1"),
        ("127.0.0.1:0", "[::ffff:127.0.0.1]"),
        ("[::1]:0", "[::1]"),
        ("[::]:0", "127.0.0.1"),
    ] {
        let listener = TcpListener::bind(bound).expect("loopback is there");
        let (client, server, peer) = pair(&listener, to);
        let own = server.local_addr().expect("it is connected");
        let expected =
            |stream| Some(Seen { is_established: true, uid: own_uid(), inode: inode(stream) });
        assert_eq!(asked(peer, own), expected(&client), "{bound} from {to}");
        assert_eq!(asked(own, peer), expected(&server), "{bound} from {to}");
    }
}

#[test]
fn whoever_has_gone_away_is_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let (mut client, server, peer) = pair(&listener, "127.0.0.1");
    let own = server.local_addr().expect("it is connected");
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it is connected");
    drop(client);
    let seen = asked(peer, own).expect("the kernel still has the connection");
    assert!(!seen.is_established && seen.inode == 0, "{seen:?}");
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    assert_eq!(asked(nobody, own), None, "the listener is not taken for a connection");
}

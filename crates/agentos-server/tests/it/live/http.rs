//! Plain requests.

use std::net::SocketAddr;

use http_body_util::{BodyExt as _, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::TIMEOUT;

pub(crate) async fn get(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
) -> Response<Incoming> {
    let stream = TokioIo::new(TcpStream::connect(address).await.unwrap());
    let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
    tokio::spawn(connection);
    let mut request = Request::get(path).header("host", address.to_string());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = sender.send_request(request.body(Empty::<Bytes>::new()).unwrap());
    timeout(TIMEOUT, answer).await.unwrap().unwrap()
}

pub(crate) async fn json(response: Response<Incoming>) -> Value {
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    serde_json::from_slice(&body).unwrap()
}

/// The lines of a body as they come.
pub(crate) fn lines(response: Response<Incoming>) -> Lines {
    Lines { body: response.into_body(), rest: Vec::new() }
}

pub(crate) struct Lines {
    body: Incoming,
    rest: Vec<u8>,
}

impl Lines {
    /// The next line; none if the body has ended.
    pub(crate) async fn next(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.rest.drain(..=end).collect();
                return Some(String::from_utf8(line).unwrap().trim_end().to_owned());
            }
            let frame = timeout(TIMEOUT, self.body.frame()).await.expect("something comes in time");
            self.rest.extend_from_slice(&frame?.ok()?.into_data().unwrap_or_default());
        }
    }
}

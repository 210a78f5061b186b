//! A body that is made while it is sent: events, exports. Whoever reads slowly makes whoever writes wait.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::Frame;
use tokio::sync::mpsc;

/// Pieces that may wait for a slow reader.
const PIECES: usize = 64;

struct Flow(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Flow {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// A body, and where its pieces go. It ends when the sender is dropped.
pub(super) fn flow() -> (mpsc::Sender<Bytes>, Body) {
    let (sender, receiver) = mpsc::channel(PIECES);
    (sender, Body::new(Flow(receiver)))
}

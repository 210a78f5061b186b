//! Waiting for several futures at once, in the task that asks: dropping the wait drops them all, right there.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// A future, and its result once there is one.
struct Running<F: Future> {
    future: Pin<Box<F>>,
    result: Option<F::Output>,
}

/// The results of all futures, in their order.
pub(super) async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let begin = |future| Running { future: Box::pin(future), result: None };
    let mut running: Vec<Running<F>> = futures.into_iter().map(begin).collect();
    poll_fn(|context| {
        for Running { future, result } in running.iter_mut().filter(|own| own.result.is_none()) {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                *result = Some(output);
            }
        }
        if running.iter().all(|own| own.result.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|own| own.result).collect()
}
